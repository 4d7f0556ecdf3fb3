"""The order of pieces within their conversation or document: which are neighbours."""

from __future__ import annotations

from array import array
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from webapp.retrieval.passages import PIECES, Passage

Group = tuple[str, int]
"""A kind and the id of its conversation or document."""


class Groups:
    """Rows by group, in the order of ids and, within an id, of pieces."""

    def __init__(self) -> None:
        self._held: dict[Group, tuple[array[int], array[int]]] = {}

    @property
    def nbytes(self) -> int:
        """Approximate bytes held."""
        return sum(2 * ids.itemsize * len(ids) + 300 for ids, _ in self._held.values())

    def put(self, passage: Passage, row: int) -> tuple[int | None, int | None]:
        """Add a row; returns the rows before and after it."""
        ids, rows = self._held.setdefault((passage.kind, passage.group_id or 0), (array("q"), array("l")))
        number = passage.id * PIECES + passage.piece
        place = bisect_left(ids, number)
        ids.insert(place, number)
        rows.insert(place, row)
        return rows[place - 1] if place else None, rows[place + 1] if place + 1 < len(rows) else None

    def remove(self, group: Group, passage_id: int) -> None:
        """Drop all pieces of a passage."""
        if group in self._held:
            ids, rows = self._held[group]
            first, after = bisect_left(ids, passage_id * PIECES), bisect_left(ids, (passage_id + 1) * PIECES)
            del ids[first:after], rows[first:after]

    def order(self, group: Group, passage_id: int, piece: int) -> int:
        """The position of a piece in its group, counted from 0; 0 if the group has no order."""
        return bisect_left(self._held[group][0], passage_id * PIECES + piece) if group in self._held else 0

    def renumber(self, renumbered: NDArray[np.int32]) -> None:
        """Update the rows to their new numbers, given by old row."""
        for ids, rows in self._held.values():
            rows[:] = array("l", renumbered[np.array(rows, np.int64)].tolist()) if ids else rows
        self._held = {group: held for group, held in self._held.items() if held[0]}
