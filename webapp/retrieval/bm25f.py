"""Keyword scores: BM25F over a passage's own words, the weighted words of its neighbours, and its date."""

from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from webapp.retrieval.columns import Column
from webapp.retrieval.hits import KeywordScores
from webapp.retrieval.weights import FEW, RARE, Weights
from webapp.text.vocabulary import Vocabulary
from webapp.text.words import DateWords, date_columns, date_words, language_of, names_in, words

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]
NONE = -1
"""Stands for a missing neighbour."""
_QUERY_WORDS = 2000


class KeywordIndex:
    """Inverted index of rows 0…n-1, stored once: a neighbour's words are looked up through its postings.

    Postings are sorted by term in flat arrays (5 bytes each); new ones wait in a small unsorted tail.
    Not safe for concurrent changes.
    """

    def __init__(self, weights: Weights | None = None) -> None:
        self.weights = weights or Weights()
        self._vocabulary = Vocabulary()
        self._starts = np.zeros(1, np.int64)
        self._rows, self._counts = np.empty(0, np.int32), np.empty(0, np.uint8)
        self._tail_terms, self._tail_rows, self._tail_counts = Column(np.int32), Column(np.int32), Column(np.uint8)
        self._lengths, self._alive = Column(np.int32), Column(np.bool_)
        self._previous, self._next_rows = Column(np.int32), Column(np.int32)
        self._dates = Column(np.int16, 4)
        self._inverse_norms: Floats | None = None
        self._context = np.zeros(0, np.float32)
        self._buffer = np.zeros(0, np.float32)

    def __len__(self) -> int:
        """Number of rows, removed ones included."""
        return self._lengths.size

    @property
    def previous(self) -> Rows:
        """Row of each row's previous neighbour, or NONE."""
        return self._previous.values

    @property
    def next_rows(self) -> Rows:
        """Row of each row's next neighbour, or NONE."""
        return self._next_rows.values

    @property
    def context(self) -> Floats:
        """Return how much the neighbours' words count, by row (n): the shorter the row, the more."""
        self._norms()
        return self._context[:-1]

    @property
    def rows_with_words(self) -> NDArray[np.bool_]:
        """Return which rows have words (n)."""
        return np.asarray(self._lengths.values > 0)

    @property
    def nbytes(self) -> int:
        """Approximate bytes held."""
        parts = (part for part in vars(self).values() if isinstance(part, Column | Vocabulary | np.ndarray))
        return sum(part.nbytes for part in parts)

    def reweigh(self, weights: Weights) -> None:
        """Score by other weights from now on."""
        self.weights, self._inverse_norms = weights, None

    def append(self, texts: Sequence[str], dates: Sequence[date | None]) -> range:
        """Index texts under the next rows and return those; the rows have no neighbours until `link` is called."""
        first = len(self)
        numbered = self._vocabulary.number(texts)
        lengths = np.fromiter(map(len, numbered), np.int64, len(texts))
        if lengths.sum():
            rows = np.repeat(np.arange(first, first + len(texts), dtype=np.int64), lengths)
            keys, counts = np.unique(rows << 32 | np.concatenate(numbered), return_counts=True)
            self._tail_terms.extend((keys & 0xFFFFFFFF).astype(np.int32))
            self._tail_rows.extend((keys >> 32).astype(np.int32))
            self._tail_counts.extend(np.minimum(counts, 255).astype(np.uint8))
        self._lengths.extend(lengths)
        self._alive.extend(np.ones(len(texts), bool))
        empty = np.full(len(texts), NONE, np.int32)
        self._previous.extend(empty)
        self._next_rows.extend(empty)
        self._dates.extend(np.array([date_columns(d) if d else (0, 0, 0, -1) for d in dates], np.int16).reshape(-1, 4))
        self._inverse_norms = None
        if self._tail_terms.size > max(50_000, len(self._rows) // 8):
            self._merge()
        return range(first, len(self))

    def link(self, row: int, previous: int, following: int) -> None:
        """Make three rows neighbours in this order; NONE for either end."""
        self._previous.values[row], self._next_rows.values[row] = previous, following
        if previous != NONE:
            self._next_rows.values[previous] = row
        if following != NONE:
            self._previous.values[following] = row

    def remove(self, row: int) -> None:
        """Make a row unfindable and link its neighbours to each other; `compact` removes its words from memory."""
        if not self._alive.values[row]:
            return
        previous, following = int(self._previous.values[row]), int(self._next_rows.values[row])
        if previous != NONE:
            self._next_rows.values[previous] = following
        if following != NONE:
            self._previous.values[following] = previous
        self._previous.values[row] = self._next_rows.values[row] = NONE
        self._alive.values[row] = False
        self._inverse_norms = None

    def compact(self) -> Rows:
        """Drop removed rows and the words only they had; return each old row's new number, NONE for the dropped."""
        alive = self._alive.values.copy()
        renumbered = np.where(alive, np.cumsum(alive) - 1, NONE).astype(np.int32)
        self._merge()
        mask = alive[self._rows]
        terms = np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))[mask]
        self._starts = np.searchsorted(terms, np.arange(len(self._starts)))
        self._rows, self._counts = renumbered[self._rows[mask]], self._counts[mask]
        is_used = np.diff(self._starts) > 0
        self._vocabulary.keep(is_used)
        self._starts = np.append(self._starts[:-1][is_used], self._starts[-1])
        for column in (self._previous, self._next_rows):
            column.keep(alive)
            column.values[:] = np.where(column.values == NONE, NONE, renumbered[column.values])
        for column in (self._lengths, self._dates, self._alive):
            column.keep(alive)
        self._inverse_norms = None
        return renumbered

    def rows_with(self, terms: Sequence[int]) -> tuple[Rows, NDArray[np.uint8]]:
        """Return the rows that have any of the terms, ascending, and how often."""
        rows, counts = [], []
        for term in terms:
            if term < len(self._starts) - 1:
                part = slice(self._starts[term], self._starts[term + 1])
                rows.append(self._rows[part])
                counts.append(self._counts[part])
            if self._tail_terms.size:
                in_tail = np.flatnonzero(self._tail_terms.values == term)
                rows.append(self._tail_rows.values[in_tail])
                counts.append(self._tail_counts.values[in_tail])
        if not rows:
            return np.empty(0, np.int32), np.empty(0, np.uint8)
        all_rows, all_counts = np.concatenate(rows), np.concatenate(counts)
        if len(terms) > 1:
            by_row = np.zeros(len(self), np.uint8)
            by_row[all_rows[::-1]] = all_counts[::-1]  # of a row that has several of the terms, the first one's count
            all_rows = np.flatnonzero(by_row).astype(np.int32)
            all_counts = by_row[all_rows]
        return all_rows, all_counts

    def search(self, query: str, *, prefix: bool = False, keywords_only: bool = False) -> KeywordScores:
        """Score every row for a query; with `prefix` its last word may be unfinished; `keywords_only`: no vectors."""
        names = names_in(query) if keywords_only else frozenset()
        number, query_words = len(self), words(query)[:_QUERY_WORDS]
        scores = np.zeros(number, np.float32)
        if not number or not query_words:
            return KeywordScores(scores, [])
        norms = self._norms()
        living_rows = norms > 0
        living = int(np.count_nonzero(living_rows))
        weighted_terms, total = [], 0.0
        dates = date_words(query_words)
        for word, terms in self._query_terms(query_words, prefix).items():
            rows, counts = self.rows_with(terms)
            if living < number:
                alive = living_rows[rows]
                rows, counts = rows[alive], counts[alive]
            on_date = self._on_date(dates, word, living_rows)
            frequency = len(rows) if on_date is None else max(len(rows), int(np.count_nonzero(on_date)))
            idf = float(np.log1p((living - frequency + 0.5) / (frequency + 0.5))) ** self.weights.rarity
            idf *= self.weights.name_alone if word in names and frequency <= max(FEW, RARE * living) else 1
            total += idf
            if frequency:
                weighted_terms.append((word, idf, rows, counts, on_date))
        weighted_terms = sorted(weighted_terms, key=lambda item: -item[1])[: self.weights.query_terms]
        for _, idf, rows, counts, on_date in weighted_terms:
            self._add(scores, idf, rows, counts * norms[rows], on_date)
        if living < number:
            scores[~living_rows] = 0
        return KeywordScores(scores, [(word, idf, rows) for word, idf, rows, _, _ in weighted_terms], total)

    def _query_terms(self, query_words: Sequence[str], prefix: bool) -> dict[str, list[int]]:
        """Return for each distinct query word its terms: one, none if only its date counts, several for a prefix."""
        terms: dict[str, list[int]] = {}
        seen: set[int] = set()
        language = language_of(query_words)
        for index, word in enumerate(query_words):
            last = prefix and index == len(query_words) - 1
            numbers = self._vocabulary.find(word, language)
            term_numbers = self._vocabulary.similar_terms(word, numbers, unfinished=last)
            term_numbers = [*(number for number in numbers or () if number not in term_numbers), *term_numbers]
            term_numbers = [term for term in term_numbers if term not in seen]
            seen.update(term_numbers)
            if term_numbers or numbers is None:
                terms.setdefault(word, term_numbers)
        if len(terms) <= 2 * self.weights.query_terms:
            return terms
        # A pasted page: only its rarest words are looked up; words that no passage has come last.
        frequencies = np.bincount(self._tail_terms.values, minlength=self._vocabulary.size)
        frequencies[: len(self._starts) - 1] += np.diff(self._starts)
        rarest = sorted(terms, key=lambda word: (not terms[word], sum(frequencies[terms[word]])))
        return {word: terms[word] for word in rarest[: 2 * self.weights.query_terms]}

    def _add(self, scores: Floats, idf: float, rows: Rows, own: Floats, on_date: NDArray[np.bool_] | None) -> None:
        """Add one term's saturated score, from the weighted counts of all fields, to the rows it touches."""
        weights, buffer = self.weights, self._buffer
        buffer[rows] = own
        row_lists = [rows]
        previous, following = self._previous.values[rows], self._next_rows.values[rows]
        # Memories stand alone: if no row has a neighbour there is nothing to lend.
        is_followed = bool(np.any(following != NONE))
        after_next = np.where(following == NONE, NONE, self._next_rows.values[following]) if is_followed else following
        for targets, weight, is_needed in (
            (following, weights.previous, is_followed),
            (previous, weights.following, bool(np.any(previous != NONE))),
            (after_next, weights.before_previous, is_followed),
        ):
            if weight and is_needed:
                # No two rows share a neighbour, so each target occurs once; NONE is the last place of both arrays.
                buffer[targets] += weight * self._context[targets] * own
                row_lists.append(targets)
        buffer[NONE] = 0
        if on_date is not None:
            buffer[:-1] += weights.date * on_date
        if on_date is not None or len(rows) * 8 > len(scores):
            scores += (idf * (weights.k1 + 1)) * (buffer[:-1] / (buffer[:-1] + weights.k1))
            buffer[:] = 0
            return
        places = np.concatenate(row_lists)
        places = places[places != NONE]
        counts = buffer[places]
        # A row reached through two fields gets the same sum twice: assign, do not add.
        scores[places] = scores[places] + (idf * (weights.k1 + 1)) * (counts / (counts + weights.k1))
        buffer[places] = 0

    def _norms(self) -> Floats:
        """Return 1 / (1 - b + b · length / mean length) by row, 0 for removed rows."""
        if self._inverse_norms is None:
            alive, lengths, short = self._alive.values, self._lengths.values, self.weights.short
            # A row without words, such as a drawing in characters, says nothing about how long a piece is.
            worded = lengths[alive & (lengths > 0)]
            mean = float(worded.mean()) if worded.size else 1.0
            b = self.weights.b
            self._inverse_norms = np.where(alive, 1 / (1 - b + b * lengths / mean), 0).astype(np.float32)
            self._buffer = np.zeros(len(lengths) + 1, np.float32)
            self._context = np.append(short / (short + lengths) if short else np.ones(len(lengths)), 0).astype(
                np.float32
            )
        return self._inverse_norms

    def _on_date(self, dates: DateWords, word: str, alive: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Return which living rows' dates a query word names, None if it names none."""
        if not self.weights.date:
            return None
        word_dates = date_words([word])
        columns = self._dates.values
        for column, values in ((0, word_dates.years), (1, word_dates.months), (3, word_dates.weekdays)):
            if values:
                return np.asarray(alive & (columns[:, column] == values[0]))
        if word.isascii() and word.isdigit() and len(word) <= 2 and int(word) in dates.days:
            return np.asarray(alive & (columns[:, 2] == int(word)))
        return None

    def _merge(self) -> None:
        """Sort the tail into the postings."""
        size = self._vocabulary.size
        old = np.repeat(np.arange(len(self._starts) - 1, dtype=np.int32), np.diff(self._starts))
        terms = np.concatenate([old, self._tail_terms.values])
        # Stable: within a term the rows stay ascending, as new rows have higher numbers.
        order = np.argsort(terms, kind="stable")
        self._rows = np.concatenate([self._rows, self._tail_rows.values])[order]
        self._counts = np.concatenate([self._counts, self._tail_counts.values])[order]
        self._starts = np.searchsorted(terms[order], np.arange(size + 1))
        for column in (self._tail_terms, self._tail_rows, self._tail_counts):
            column.keep(np.zeros(column.size, bool))
