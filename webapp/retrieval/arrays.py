"""Growable numpy columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Column:
    """An array that grows at its end, by at least a quarter, which keeps appending cheap on average."""

    __slots__ = ("_data", "size")

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._data = np.empty(64 if width is None else (64, width), dtype)
        self.size = 0

    @property
    def values(self) -> NDArray[Any]:
        """The filled part, as a view: do not keep it across an append."""
        return self._data[: self.size]

    @property
    def nbytes(self) -> int:
        """Bytes held, unused room included."""
        return self._data.nbytes

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Append values (n, or n × width)."""
        new = self.size + len(values)
        if new > len(self._data):
            # A quarter more, not double: the columns of a full index are most of its memory.
            room = np.empty((max(new, len(self._data) * 5 // 4, 64), *self._data.shape[1:]), self._data.dtype)
            room[: self.size] = self.values
            self._data = room
        self._data[self.size : new] = values
        self.size = new

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Keep only the values where the mask (n) is true, and give room back."""
        self._data = self.values[mask].copy()
        self.size = len(self._data)
