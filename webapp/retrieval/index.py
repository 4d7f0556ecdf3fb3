"""The index of all passages a user may find: keywords, vectors and scope, in memory."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from webapp.retrieval.bm25f import NONE, KeywordIndex
from webapp.retrieval.columns import COLUMNS, Column, allowed_rows, seconds
from webapp.retrieval.fusion import best_rows_of_groups, fuse, rerank, standardise, with_neighbours
from webapp.retrieval.hits import KeywordScores, hits_of
from webapp.retrieval.passages import KINDS, NO_SPACE, PIECES, SPEAKERS, Filter, Groups, Hit, Key, Passage, Place
from webapp.retrieval.vectors import VectorStore, floor
from webapp.retrieval.weights import DUPLICATE_COSINE, MAX_CANDIDATES, FusionWeights, Weights
from webapp.text.words import asks_something

Floats = NDArray[np.float32]
_MESSAGE = KINDS.index("message")
_LINKED = frozenset({"message", "document"})
"""Kinds whose passages are each other's neighbours."""


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """The allowed rows and keyword scores of a search, at a state of an index; `keywords_only`: without vectors."""

    state: int
    keywords_only: bool
    allowed: NDArray[np.bool_]
    keywords: KeywordScores


class UserIndex:
    """Passages of one user, by vectors of several models: add, remove, search. Thread-safe; waits for nothing."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._fusion = FusionWeights()
        self._keywords = KeywordIndex()
        self._columns = {name: Column(dtype) for name, dtype in COLUMNS.items()}
        # By passage: the row of its first piece times PIECES, plus how many follow; its rows are adjacent.
        self._rows: dict[Key, int] = {}
        self._groups = Groups()
        self._vectors: dict[str, VectorStore] = {}
        self._removed = 0
        self._state = 0  # counts changes of the rows or their words

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: Key) -> bool:
        return key in self._rows

    @property
    def fusion(self) -> FusionWeights:
        return self._fusion

    @property
    def nbytes(self) -> int:
        """Approximate bytes held, for bounding a cache of indexes."""
        with self._lock:
            columns = sum(column.nbytes for column in self._columns.values())
            vectors = sum(store.nbytes for store in self._vectors.values())
            return self._keywords.nbytes + columns + vectors + self._groups.nbytes + 200 * len(self._rows)

    def reweigh(self, keyword: Weights, fusion: FusionWeights) -> None:
        """Rank by other weights from now on."""
        with self._lock:
            self._state += 1
            self._fusion = fusion
            self._keywords.reweigh(keyword)

    def add(self, passages: Sequence[Passage]) -> None:
        """Index passages; one with an existing key replaces the former and loses its vectors."""
        with self._lock:
            # The pieces of a passage side by side, in order; duplicates count once.
            by_key: dict[Key, dict[int, Passage]] = {}
            for passage in passages:
                by_key.setdefault(passage.key, {})[passage.piece] = passage
            passages = [pieces[number] for pieces in by_key.values() for number in sorted(pieces)]
            self._state += 1
            self.remove([key for key in by_key if key in self._rows])
            rows = self._keywords.append([p.text for p in passages], [p.created_at.date() for p in passages])
            values = {
                "kind": [KINDS.index(p.kind) for p in passages],
                "id": [p.id for p in passages],
                "owner": [p.owner_id for p in passages],
                "space": [p.space_id or NO_SPACE for p in passages],
                "group": [p.group_id or 0 for p in passages],
                "shared": [p.shared for p in passages],
                "time": [seconds(p.created_at) for p in passages],
                "alive": [True] * len(passages),
                "asking": [p.kind == "message" and asks_something(p.text) for p in passages],
                "piece": [p.piece for p in passages],
                "start": [p.start for p in passages],
                "end": [p.end for p in passages],
                "speaker": [SPEAKERS.index(p.speaker) for p in passages],
            }
            for name, column in self._columns.items():
                column.extend(np.asarray(values[name], column.values.dtype))
            for row, passage in zip(rows, passages, strict=True):
                self._rows[passage.key] = self._rows.get(passage.key, row * PIECES - 1) + 1
                if passage.kind in _LINKED and passage.group_id is not None:
                    previous, following = self._groups.put(passage, row)
                    self._keywords.link(
                        row, NONE if previous is None else previous, NONE if following is None else following
                    )

    def remove(self, keys: Iterable[Key]) -> None:
        """Remove passages; unknown keys are ignored."""
        with self._lock:
            self._state += 1
            for key in keys:
                rows = self._rows_of(key)
                if not rows:
                    continue
                del self._rows[key]
                for row in rows:
                    self._keywords.remove(row)
                    self._columns["alive"].values[row] = False
                for store in self._vectors.values():
                    store.remove(rows)
                self._removed += len(rows)
                self._groups.remove((key[0], int(self._columns["group"].values[rows[0]])), key[1])
            if self._removed > 1000 and self._removed > len(self._rows) // 4:
                self.compact()

    def keys_of(self, kind: str, group_id: int, from_id: int = 0) -> list[Key]:
        """Return the passages of a kind in a conversation or document, from an id on."""
        with self._lock:
            columns = {name: column.values for name, column in self._columns.items()}
            mask = columns["alive"] & (columns["kind"] == KINDS.index(kind)) & (columns["group"] == group_id)
            return [(kind, int(number)) for number in np.unique(columns["id"][mask & (columns["id"] >= from_id)])]

    def keys_shared_in(self, space_id: int, user_id: int) -> list[Key]:
        """Return keys of passages in a space that are not the user's own: others' shared memories, and documents."""
        with self._lock:
            columns = {name: column.values for name, column in self._columns.items()}
            mask = columns["alive"] & (columns["space"] == space_id) & (columns["owner"] != user_id)
            return [
                (KINDS[kind], int(number))
                for kind, number in zip(columns["kind"][mask], columns["id"][mask], strict=True)
            ]

    @property
    def generations(self) -> list[str]:
        with self._lock:
            return [name for name, store in self._vectors.items() if len(store)]

    def compact(self) -> None:
        """Free the memory of removed passages; automatic after many removals; call it when a user forgets."""
        with self._lock:
            self._state += 1
            renumbered = self._keywords.compact()
            alive = self._columns["alive"].values.copy()
            for column in self._columns.values():
                column.keep(alive)
            for store in self._vectors.values():
                store.renumber(renumbered)
            self._rows = {
                key: int(renumbered[packed // PIECES]) * PIECES + packed % PIECES for key, packed in self._rows.items()
            }
            self._groups.renumber(renumbered)
            self._removed = 0

    def put_vectors(self, model: str, places: Sequence[Place], vectors: Floats) -> None:
        """Store the vectors (n × dimensions) a model made of pieces; unknown ones are ignored."""
        with self._lock:
            rows = [self._row_of(place) for place in places]
            indices = [index for index, row in enumerate(rows) if row is not None]
            if indices:
                store = self._vectors.setdefault(model, VectorStore(vectors.shape[1]))
                store.put([row for row in rows if row is not None], vectors[indices])

    def prepare(
        self, query: str, filters: Filter, *, prefix: bool = False, keywords_only: bool = False
    ) -> PreparedSearch:
        """Prepare a search as far as it needs no vector, for instance while waiting for one."""
        with self._lock:
            allowed = allowed_rows({name: column.values for name, column in self._columns.items()}, filters)
            return PreparedSearch(
                self._state,
                keywords_only,
                allowed,
                self._keywords.search(query, prefix=prefix, keywords_only=keywords_only),
            )

    def search(
        self,
        query: str,
        vectors: Mapping[str, Floats] | None,
        filters: Filter,
        k: int = 10,
        *,
        prefix: bool = False,
        for_reply: bool = False,
        prepared: PreparedSearch | None = None,
    ) -> list[Hit]:
        """Return the k best passages for a query, best first.

        `vectors` are the query's, by model; without them, or for passages without a vector, keywords decide. With
        `prefix` the last word may be unfinished. `for_reply` leaves out near-duplicates, and ranks what comes after the
        first few by a second look. `prepared` reuses what `prepare` did for the same query, unless the index has
        changed since.
        """
        with self._lock:
            if not self._rows or k <= 0:
                return []
            columns = {name: column.values for name, column in self._columns.items()}
            if prepared is None or prepared.state != self._state:
                prepared = self.prepare(query, filters, prefix=prefix, keywords_only=not vectors)
            allowed, keywords = prepared.allowed, prepared.keywords
            meaning, z = self._similarity(vectors or {}, allowed)
            if z is None and not prepared.keywords_only:
                keywords = self._keywords.search(query, prefix=prefix, keywords_only=True)
            candidates = allowed & (keywords.scores > 0) if z is None else allowed
            scores = fuse(keywords.scores, z, candidates, self._fusion, self._keywords.context)
            scores -= np.float32(self._fusion.asking) * columns["asking"]
            groups = np.where(columns["kind"] == _MESSAGE, columns["group"], 0)
            times, among = columns["time"], max(k, MAX_CANDIDATES)
            ranked = best_rows_of_groups(scores, times, among, groups, self._fusion.conversation)
            second_weight = self._fusion.second if for_reply and z is not None else 0.0
            rows = rerank(scores, ranked, times, self._vectors.values(), second_weight)[:k].tolist()
            if for_reply:
                rows = self._without_duplicates(rows)
            best = float(keywords.scores[candidates].max(initial=0.0)) or 1.0
            return hits_of(rows, scores, keywords, best, meaning, z, self._fusion.vector, columns)

    def _similarity(self, vectors: Mapping[str, Floats], allowed: NDArray[np.bool_]) -> tuple[Floats, Floats | None]:
        """Return cosines, 1 at a model's floor, and z-scores by row, from the first model that has the row; or None."""
        meaning = np.full(len(allowed), np.nan, np.float32)
        z: Floats | None = None
        for model, vector in vectors.items():
            store = self._vectors.get(model)
            if store is None or not len(store) or store.dimensions != len(vector):
                continue
            cosines = store.cosines(vector, len(allowed))
            if z is not None:
                cosines[~np.isnan(meaning)] = np.nan
            # Models differ in scale, so each is standardised separately.
            part = standardise(cosines, allowed, self._keywords.rows_with_words)
            z = part if z is None else z + part
            meaning = np.where(np.isnan(cosines), meaning, cosines / np.float32(floor(model)))
        if z is not None:
            z = with_neighbours(z, self._keywords.previous, self._keywords.next_rows, self._fusion)
        return meaning, z

    def _without_duplicates(self, ranked: Sequence[int]) -> list[int]:
        """Return rows without those that say the same as one before them; all are compared at once."""
        similar: dict[int, set[int]] = defaultdict(set)
        for store in self._vectors.values():
            rows = store.rows_with_vector(ranked)
            for first, second in np.argwhere(store.similarities(rows) >= DUPLICATE_COSINE).tolist():
                similar[rows[first]].add(rows[second])
        distinct: list[int] = []
        for row in ranked:
            if similar[row].isdisjoint(distinct):
                distinct.append(row)
        return distinct

    def _rows_of(self, key: Key) -> range:
        """Return the rows of a passage; none if it is unknown."""
        packed = self._rows.get(key)
        return range(0) if packed is None else range(packed // PIECES, packed // PIECES + packed % PIECES + 1)

    def _row_of(self, place: Place) -> int | None:
        rows = self._rows_of(place[:2])
        return rows[place[2]] if place[2] < len(rows) else None
