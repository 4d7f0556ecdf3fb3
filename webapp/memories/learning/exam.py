"""The exam of a model that writes memories: messages whose right and wrong statements are known; pure.

`exam.json` holds a paper for each of ten languages: a person's messages, the statements of a careful model, and the
false ones of a weak one. A paper is one call, with the prompt and schema of every extraction. A statement is recognised
by its quote and by words of its wording.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from webapp.llm.structured import Part
from webapp.memories.learning.prompt import ConversationLine, ExtractionCall, build_extraction
from webapp.memories.rules.check import Refusal, place_of
from webapp.memories.rules.evidence import find_quote
from webapp.memories.rules.statements import FIELD, KEYS, MAX_STATEMENTS, Statement, Topic, statements_schema
from webapp.text.provenance import overlaps_any
from webapp.text.quotes import Span
from webapp.text.words import fold_marks

_PATH = Path(__file__).with_suffix(".json")
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)


class _Labelled(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RightStatement(_Labelled):
    """A statement of a careful model: `content`, or with a word of `says`; `about` any, `value` in its value."""

    about: tuple[Topic, ...]
    quote: str
    content: str
    says: tuple[str, ...]
    key: str | None = None
    value: str | None = None


class WrongStatement(_Labelled):
    """A false statement of the kind `why`, worded as `claim`: by a word of `says`, if any, and none of `unless`.

    Under `key` it is false in any words.
    """

    why: str
    quote: str
    claim: str
    says: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    key: str | None = None
    value: str | None = None


class Message(_Labelled):
    """A message of the exam, and the statements known about it."""

    text: str
    right: tuple[RightStatement, ...]
    wrong: tuple[WrongStatement, ...]


class Paper(_Labelled):
    """The messages of one person in one language, oldest first."""

    language: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Marks:
    """Counts: right statements and their matches, keys and those given, wrong statements and inventions."""

    right: int = 0
    matches: int = 0
    keys: int = 0
    given: int = 0
    wrong: int = 0
    inventions: int = 0

    @classmethod
    def total(cls, marks: "Iterable[Marks]") -> "Marks":
        return cls(*(sum(column) for column in zip(*map(astuple, marks), strict=True)))

    @property
    def recall(self) -> float:
        """Return the share of the right statements that were found."""
        return self.matches / self.right

    @property
    def key_share(self) -> float:
        """Return the share of their keys that were given with their values."""
        return self.given / self.keys

    @property
    def false_share(self) -> float:
        """Return the share of the wrong statements that were made."""
        return self.inventions / self.wrong


@dataclass(frozen=True, slots=True)
class _AnsweredStatement:
    """A statement of an answer that would be remembered; `words` are its wording, folded, between blanks."""

    message: str
    span: Span
    about: Topic
    words: str
    key: str | None
    value: str

    def quotes(self, message: str, quote: str) -> bool:
        place = find_quote(quote, message) if self.message == message else None
        return place is not None and overlaps_any(self.span, [place])

    def contains(self, words: Sequence[str]) -> bool:
        return any(fold_marks(word) in self.words for word in words)

    def has_fact(self, key: str | None, value: str | None = None) -> bool:
        return key is not None and self.key == KEYS[key] and fold_marks(value or "") in self.value


@cache
def papers() -> tuple[Paper, ...]:
    """Return the exam's papers in their order."""
    return tuple(Paper.model_validate(item) for item in json.loads(_PATH.read_text("utf-8")))


def call_of(paper: Paper, instructions: str) -> tuple[ExtractionCall, list[Part]]:
    """Return the call that asks about a paper, as extraction would build it, and its parts."""
    lines = [
        ConversationLine(number, "user", message.text, _START + timedelta(minutes=number))
        for number, message in enumerate(paper.messages, 1)
    ]
    call = build_extraction(lines, instructions=instructions)
    return call, [Part(FIELD, statements_schema([source.number for source in call.sources], []), instructions)]


def mark(paper: Paper, call: ExtractionCall, items: Sequence[Any]) -> Marks:
    """Return the marks of an answer's statements; malformed, unquoted and false ones do not count as right."""
    statements = list(_statements(call, items[:MAX_STATEMENTS]))
    wrong = [(message.text, trap) for message in paper.messages for trap in message.wrong]
    inventions = [[s for s in statements if s.quotes(text, trap.quote) and _is_made(trap, s)] for text, trap in wrong]
    false = {s for those in inventions for s in those}
    right = [(message.text, expected) for message in paper.messages for expected in message.right]
    matches = [
        [s for s in statements if s not in false and s.quotes(text, expected.quote) and _is_found(expected, s)]
        for text, expected in right
    ]
    answers = [
        any(s.has_fact(expected.key, expected.value) for s in those)
        for (_, expected), those in zip(right, matches, strict=True)
    ]
    return Marks(
        right=len(right),
        matches=sum(map(bool, matches)),
        keys=sum(expected.key is not None for _, expected in right),
        given=sum(answers),
        wrong=len(wrong),
        inventions=sum(map(bool, inventions)),
    )


def _is_found(expected: RightStatement, statement: _AnsweredStatement) -> bool:
    return statement.about in expected.about and statement.contains(expected.says)


def _is_made(trap: WrongStatement, statement: _AnsweredStatement) -> bool:
    return statement.has_fact(trap.key, trap.value) or (
        (not trap.says or statement.contains(trap.says)) and not statement.contains(trap.unless)
    )


def _statements(call: ExtractionCall, items: Sequence[Any]) -> Iterator[_AnsweredStatement]:
    for item in items:
        try:
            statement = Statement.model_validate(item)
            operation = statement.operation()
        except (ValidationError, RecursionError):
            continue
        place = place_of(operation, call.sources) if operation is not None else Refusal.NOT_VERBATIM
        if operation is None or isinstance(place, Refusal):
            continue
        source, span = place
        words, value = (f" {fold_marks(text)} " for text in (operation.content, operation.fact_value or ""))
        yield _AnsweredStatement(source.content, span, statement.about, words, operation.fact_key, value)
