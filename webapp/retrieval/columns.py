"""The columns of an index: growable, and which of their rows a search may return."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from webapp.retrieval.passages import KINDS, SPEAKERS, Filter, visible_rows


class Column:
    """An array that grows at its end, by at least a quarter, which keeps appending cheap on average."""

    __slots__ = ("_data", "size")

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._data = np.empty(64 if width is None else (64, width), dtype)
        self.size = 0

    @property
    def values(self) -> NDArray[Any]:
        """Return the filled part, as a view: do not keep it across an append."""
        return self._data[: self.size]

    @property
    def nbytes(self) -> int:
        """Return bytes held, unused room included."""
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


_IN_CONVERSATION = frozenset({"message", "chunk"})


COLUMNS = {
    "kind": np.int8,
    "id": np.int64,
    "owner": np.int64,
    "space": np.int64,
    "group": np.int64,
    "shared": np.bool_,
    "time": np.int64,
    "alive": np.bool_,
    "asking": np.bool_,
    "piece": np.int32,
    "start": np.int32,
    "end": np.int32,
    "speaker": np.int8,
}
"""Each column of an index, with its type; `asking`: the row is a message that ends with a question."""


def allowed_rows(columns: Mapping[str, NDArray[Any]], filters: Filter) -> NDArray[np.bool_]:
    """Return which rows of an index pass a filter (n); `columns` are those of `index`, n values each."""
    mask = columns["alive"] & visible_rows(filters.scope, columns["owner"], columns["space"], columns["shared"])
    if len(filters.kinds) < len(KINDS):
        mask &= _of_kinds(columns["kind"], filters.kinds)
    if filters.only_conversation is not None:
        conversational = _of_kinds(columns["kind"], _IN_CONVERSATION)
        mask &= ~(conversational & (columns["group"] != filters.only_conversation))
    if filters.verbatim is not None:
        conversation_id, first_id = filters.verbatim
        in_conversation = (columns["kind"] == KINDS.index("message")) & (columns["group"] == conversation_id)
        mask &= ~(in_conversation & (columns["id"] >= first_id))
    if filters.since is not None:
        mask &= columns["time"] >= seconds(filters.since)
    if filters.speaker:
        mask &= columns["speaker"] == SPEAKERS.index(filters.speaker)
    if filters.until is not None:
        mask &= columns["time"] < seconds(filters.until)
    return mask


def _of_kinds(kinds: NDArray[Any], wanted: Collection[str]) -> NDArray[np.bool_]:
    """Return which rows are of one of the wanted kinds; `kinds` holds the rows' kind numbers."""
    return np.asarray(np.array([kind in wanted for kind in KINDS])[kinds], np.bool_)


def seconds(moment: datetime) -> int:
    """Return seconds since 1970; a time without a zone is UTC."""
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
