"""Looking up for a reply what its user said and what is known about them, while the question's vector is being made."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.db.base import db
from webapp.memories.rules.kinds import MemoryType
from webapp.retrieval import changes
from webapp.retrieval.cache import Entry, index_cache
from webapp.retrieval.changes import Position
from webapp.retrieval.facts import exact_facts, scan_words
from webapp.retrieval.fusion import is_rejected, lower_repeats, relevant, terms_of
from webapp.retrieval.hydration import load_hits
from webapp.retrieval.passages import KINDS, Filter, FoundPassage, Scope
from webapp.retrieval.query_vectors import query_vectors
from webapp.spaces.service import member_space_ids
from webapp.telemetry.tracing import note, trace_calls
from webapp.text.words import fold_marks, stems, words

_REST_OF_WORD = re.compile(r"\w*[^\w]+")
_ONE_WORD = re.compile(r"\w+[^\w]+")
_MAX_PAIRS = 24
"""The most pairs of a question that are searched for."""


POOL = 64
"""How many pieces are offered to a prompt, whose budget decides."""
FRESH_SECONDS = 0.05
"""For how long within one look-up what others share, once read, is taken to be current."""
FEW_TERMS = 3
"""A message with fewer words of its own ("And in Berlin?") is looked up together with the one before it."""


def phrases_of(question: str) -> Callable[[str], float]:
    """Return a function from a text to its share (0 to below 1) of a question's neighbouring words, in the same order
    and at most one word apart, stop words aside.
    """
    terms = stems(words(question[:2_000]))
    pairs = list(dict.fromkeys(zip(terms, terms[1:], strict=False)))[:_MAX_PAIRS]

    def share(text: str) -> float:
        plain = fold_marks(text)
        # In most languages a stem is how a word begins.
        both = [pair for pair in pairs if pair[0] in plain and pair[1] in plain]
        return sum([_side_by_side(plain, *pair) for pair in both]) / len(terms) if both else 0.0

    return share if pairs else lambda text: 0.0


def _side_by_side(text: str, first: str, second: str) -> bool:
    index = text.find(first)
    while index >= 0:
        if (index == 0 or not text[index - 1].isalnum()) and (gap := _REST_OF_WORD.match(text, index + len(first))):
            if text.startswith(second, gap.end()):
                return True
            match = _ONE_WORD.match(text, gap.end())
            if match and text.startswith(second, match.end()):
                return True
        index = text.find(first, index + 1)
    return False


@dataclass(frozen=True, slots=True)
class Question:
    """The question of a look-up. `verbatim_from`: the first message of the conversation that the prompt holds."""

    user_id: int
    text: str
    conversation_id: int | None = None
    before: str = ""
    verbatim_from: int = 0
    memories: bool = True
    other_conversations: bool = True
    space_documents: bool = True
    space_id: int | None = None


@dataclass(slots=True)
class Result:
    """The passages found, best first. `with_meaning` is False if keywords alone decided, `is_away` True if that is
    because the embedder did not answer, `indexed` False if no index was ready; `durations` is in milliseconds by step;
    `query_terms` holds the question's words, stemmed."""

    items: list[FoundPassage] = field(default_factory=list)
    query_terms: frozenset[str] = frozenset()
    with_meaning: bool = False
    is_away: bool = False
    indexed: bool = True
    durations: dict[str, float] = field(default_factory=dict)

    @property
    def account(self) -> dict[str, Any]:
        """Return the data of the pipeline step."""
        return {
            "found": len(self.items),
            "with_meaning": self.with_meaning,
            "is_away": self.is_away,
            "indexed": self.indexed,
            "ms": self.durations,
        }


class Lookup:
    """One look-up for a reply, in three stages: keyed facts by SQL, keywords with vectors, fusion with diversity.

    Creating it reads the tables, waits at most `wait` seconds for an index, its `entry`, and asks for the question's
    vector; `finish` needs that. `position` is that of the user's passages before anything was read.
    """

    def __init__(self, question: Question, wait: float, position: Position | None = None) -> None:
        text = question.text
        if question.before and len(terms_of(text)) < FEW_TERMS:
            text = f"{question.before}\n{text}"
        self._question, self._text = question, text
        self._own = Scope(question.user_id, space_id=question.space_id)
        self._result = Result(query_terms=terms_of(text))
        self._clock = Clock(self._result.durations)
        self.position = position or changes.position(question.user_id)
        self._begin(wait)

    @property
    def was_long(self) -> bool:
        """Return whether what others share may have changed since the look-up began."""
        return self._clock.elapsed > FRESH_SECONDS

    @trace_calls("retrieval.begin")
    def _begin(self, wait: float) -> None:
        question, clock, position = self._question, self._clock, self.position
        has_terms = bool(self._result.query_terms)
        self.entry = entry = index_cache().get(question.user_id, wait if has_terms else 0, position)
        clock.lap("index")
        # Nothing to compare with means nothing to wait for: the first words of a newcomer's reply come at once.
        can_compare = has_terms and entry is not None and entry.index.generations
        self._pending = query_vectors().start(self._text if can_compare else "")
        self._facts = []
        if has_terms and question.memories and position.memory_version:
            is_current = entry is not None and entry.position.memory_version >= position.memory_version
            self._facts = exact_facts(self._text, self._own, entry.fact_keys if entry and is_current else None)
        clock.lap("facts")

    @trace_calls("retrieval")
    def finish(self) -> Result:
        """Return the passages relevant to the question, by words alone after the deadline. May end the transaction."""
        result = self._result
        if not result.query_terms:
            return result
        passages = self._by_words() if self.entry is None else self._by_words_and_meaning(self.entry)
        keys = {item.key for item in self._facts}
        result.items = [*self._facts, *[item for item in passages if not keys or item.key not in keys]]
        note({"commonplace.found": len(result.items), "commonplace.with_meaning": result.with_meaning})
        return result

    def _by_words(self) -> list[FoundPassage]:
        self._result.indexed = False
        passages = scan_words(self._text, self._own) if self._question.memories else []
        self._clock.lap("scan")
        return passages

    def _by_words_and_meaning(self, entry: Entry) -> list[FoundPassage]:
        question, result, clock, query_terms = self._question, self._result, self._clock, self._result.query_terms
        index = entry.index
        filters = _filter(question, entry.scope(question.user_id, question.space_id))
        prepared = None if self._pending.is_ready else index.prepare(self._text, filters)
        if not self._pending.is_ready:
            db.session.rollback()  # no connection is held while the vector is awaited
        meaning = query_vectors().result(self._pending, index.generations)
        clock.lap("embedding")
        result.with_meaning = bool(meaning)
        result.is_away = bool(index.generations) and not meaning
        hits = index.search(self._text, meaning, filters, POOL, for_reply=True, prepared=prepared)
        clock.lap("search")
        # After a wait, whose passages may be seen is checked again: a membership may have ended in the meantime.
        scope = Scope(question.user_id, self.position.space_ids, question.space_id)
        if self.was_long:
            scope = scope_of(question.user_id, question.space_id)
        loaded = [
            item
            for item in load_hits(relevant(hits, query_terms), scope)
            # Standing instructions apply within their scope, whether or not they resemble the question.
            if item.extra.get("memory_type") != MemoryType.INSTRUCTION
            and not (entry.verdicts and was_rejected(entry, item, query_terms))
        ]
        add_phrases(loaded, self._text, index.fusion.phrase)
        passages = lower_repeats(_without_same_question(loaded, question.text))
        clock.lap("load")
        return passages


def retrieve(question: Question, wait: float) -> Result:
    """Return passages for a reply; see `Lookup`."""
    return Lookup(question, wait).finish()


def scope_of(user_id: int, space_id: int | None = None) -> Scope:
    """Return the scope of a user's look-ups: checked every time, so that the end of a membership counts at once."""
    return Scope(user_id, member_space_ids(user_id), space_id)


def add_phrases(passages: Sequence[FoundPassage], text: str, weight: float) -> None:
    """Score what was found higher for having the question's words side by side as the question does."""
    share = phrases_of(text)
    for item in passages:
        item.score += weight * share(item.content)


def _filter(question: Question, scope: Scope) -> Filter:
    kinds = set(KINDS) if question.memories else set(KINDS) - {"memory"}
    if not question.space_documents:
        kinds -= {"document"}
    return Filter(
        scope,
        frozenset(kinds),
        only_conversation=None if question.other_conversations else question.conversation_id or -1,
        verbatim=(question.conversation_id, question.verbatim_from) if question.conversation_id else None,
    )


def _without_same_question(items: Sequence[FoundPassage], text: str) -> list[FoundPassage]:
    """Leave out the same question asked before, and what was replied: what that rested on is found again by itself."""
    asked = text.casefold().split()
    same = {item.id for item in items if item.kind == "message" and item.content.casefold().split() == asked}
    return [item for item in items if item.kind != "message" or not same & {item.id, item.extra["parent_id"]}]


def was_rejected(entry: Entry, item: FoundPassage, query_terms: frozenset[str]) -> bool:
    """Return whether the user called what was found not relevant for a question in much the same words."""
    return item.key in entry.verdicts and is_rejected(query_terms, entry.verdicts[item.key])


class Clock:
    """Writes the milliseconds between laps into a dictionary."""

    def __init__(self, laps: dict[str, float]) -> None:
        self._laps = laps
        self._start = self._last = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Return seconds since the clock was made."""
        return time.perf_counter() - self._start

    def lap(self, name: str) -> None:
        """Name the time since the last lap."""
        moment = time.perf_counter()
        self._laps[name] = round((moment - self._last) * 1000, 2)
        self._last = moment
