"""Passages on their way into an index with their vectors, and exact cosine search over those of one model."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from webapp.llm.packaged_models import floor_of
from webapp.retrieval.columns import Column
from webapp.retrieval.passages import Passage, Place

Floats = NDArray[np.float32]
# Rows converted to float at a time: few enough to stay in the cache of one core, of 1,536 numbers each too.
_CHUNK = 256


class VectorStore:
    """Vectors by row number, normalised; as int8, a quarter of the memory of float32. Not thread-safe for changes."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._matrix = Column(np.int8, dimensions)
        self._scales = Column(np.float32)
        self._owners = Column(np.int32)
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return self._owners.size

    def __contains__(self, row: int) -> bool:
        return row in self._places

    def rows_with_vector(self, rows: Sequence[int]) -> list[int]:
        places = self._places
        return [row for row in rows if row in places]

    @property
    def nbytes(self) -> int:
        """Approximate bytes held."""
        return self._matrix.nbytes + self._scales.nbytes + self._owners.nbytes + 100 * len(self._places)

    def put(self, rows: Sequence[int], vectors: Floats) -> None:
        """Store vectors (n × dimensions) under rows, replacing theirs; raise ValueError for another width."""
        vectors = np.asarray(vectors, np.float32)
        if vectors.shape != (len(rows), self.dimensions):
            raise ValueError(f"expected {len(rows)} × {self.dimensions} numbers, got {vectors.shape}")
        self.remove([row for row in rows if row in self._places])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = vectors / np.where(lengths > 0, lengths, 1)
        first = len(self)
        largest = np.maximum(np.abs(unit).max(axis=1, initial=0), 1e-9)
        self._matrix.extend(np.rint(unit * (127 / largest)[:, None]).astype(np.int8))
        self._scales.extend(largest / 127)
        self._owners.extend(np.asarray(rows, np.int32))
        self._places.update((row, first + index) for index, row in enumerate(rows))

    def remove(self, rows: Sequence[int]) -> None:
        """Remove the vectors of rows; the last vectors take their places."""
        for row in rows:
            place = self._places.pop(row, None)
            if place is None:
                continue
            last = len(self) - 1
            if place != last:
                for column in (self._matrix, self._scales, self._owners):
                    column.values[place] = column.values[last]
                self._places[int(self._owners.values[place])] = place
            self._matrix.values[last] = 0
            for column in (self._matrix, self._scales, self._owners):
                column.size = last

    def renumber(self, renumbered: NDArray[np.int32]) -> None:
        """Update the rows to their new numbers (by old row; negative: removed)."""
        self.remove([int(row) for row in self._owners.values if renumbered[row] < 0])
        self._owners.values[:] = renumbered[self._owners.values]
        self._places = {int(row): place for place, row in enumerate(self._owners.values)}

    def cosines(self, query: Floats, rows: int) -> Floats:
        """Return the cosine with a query vector for rows 0…rows-1, NaN where a row has no vector."""
        query = np.asarray(query, np.float32)
        if query.shape != (self.dimensions,):
            raise ValueError(f"expected {self.dimensions} numbers, got {query.shape}")
        length = float(np.linalg.norm(query))
        out = np.full(rows, np.nan, np.float32)
        if not len(self) or not np.isfinite(length) or length == 0:
            return out
        query = query / length
        matrix, cosines = self._matrix.values, np.empty(len(self), np.float32)
        room = np.empty((min(_CHUNK, len(self)), self.dimensions), np.float32)
        for start in range(0, len(self), _CHUNK):
            part = matrix[start : start + _CHUNK]
            room[: len(part)] = part
            room[: len(part)].dot(query, out=cosines[start : start + len(part)])
        out[self._owners.values] = cosines * self._scales.values
        return out

    def likeness(self, rows: Sequence[int], other_rows: Sequence[int]) -> Floats:
        """Return the mean cosine (n) of rows to some others; all must have a vector."""
        first, second = (
            self._matrix.values[places].astype(np.float32) * self._scales.values[places][:, None]
            for places in ([self._places[row] for row in selection] for selection in (rows, other_rows))
        )
        return np.asarray(first @ second.mean(axis=0), np.float32)

    def similarities(self, rows: Sequence[int]) -> Floats:
        """Return the cosines (n × n) of rows with each other; all must have a vector."""
        places = [self._places[row] for row in rows]
        matrix = self._matrix.values[places].astype(np.float32) * self._scales.values[places][:, None]
        return np.asarray(matrix @ matrix.T, np.float32)


@dataclass(slots=True)
class Block:
    """Passages and their vectors: (place, vector) by generation, that is, by model name and width."""

    passages: list[Passage] = field(default_factory=list)
    vectors: dict[str, list[tuple[Place, NDArray[np.float32]]]] = field(default_factory=lambda: defaultdict(list))

    def put(self, passage: Passage, model: str | None, raw: bytes | None) -> None:
        self.passages.append(passage)
        self.put_vector(passage.place, model, raw)

    def put_vector(self, place: Place, model: str | None, raw: bytes | None) -> None:
        if raw and model:
            vector = np.frombuffer(raw, np.float32)
            self.vectors[generation(model, len(vector))].append((place, vector))


def generation(model: str, width: int) -> str:
    """Return vectors with the same generation may be compared."""
    return f"{model}/{width}"


def model_of(name: str) -> str:
    return name.rpartition("/")[0]


def floor(name: str) -> float:
    """Return the cosine from which two vectors of a generation count as related."""
    return floor_of(model_of(name))
