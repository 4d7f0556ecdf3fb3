"""What a model is asked for: statements of the user, each classified before it is reworded; pure.

The wire format is deliberately small. Every field that a small model has to fill in is a chance to go astray, so
importance and category follow from what the statement is about, numbers are enums of those in this very call, and the
fields about known memories exist only if something is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from webapp.memories.rules import liberties
from webapp.memories.rules.human_words import plainly
from webapp.memories.rules.keys import CONTENT_MAX, KEY_MAX, VALUE_MAX, canonical_fact_key
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.leftovers import with_leftovers
from webapp.memories.rules.likeness import particulars_of
from webapp.memories.rules.operations import QUOTE_MAX, Action, MemoryOperation, Number, Unit
from webapp.memories.rules.soundness import own_words
from webapp.text.canonical import plain_text

FIELD = "statements"
MOST = 80
"""The most statements read from one answer."""


class About(StrEnum):
    """What a statement is about. Only those in `KEPT` are remembered; naming the others keeps them apart."""

    USER = "user"
    THEIRS = "family_friend_pet"
    ANSWERS = "how_to_answer"
    OTHERS = "somebody_else"
    ASKED = "question_or_task"
    IMAGINED = "imagined_or_joke"
    PASSING = "only_now"
    SECRET = "secret"


KEPT = (About.USER, About.THEIRS, About.ANSWERS)
PASSED_OVER = tuple(about for about in About if about not in KEPT)

KEYS: dict[str, str] = {
    "name": "identity/name",
    "called": "identity/preferred_name",
    "home": "identity/location",
    "origin": "identity/origin",
    "birthday": "identity/birthday",
    "pronouns": "identity/pronouns",
    "relationship": "identity/relationship",
    "job": "work/job",
    "employer": "work/employer",
    "diet": "health/diet",
}
"""What people have only one of at a time, by the word that the model uses, and the key it is stored under."""
NO_KEY = "none"

KINDS = (MemoryType.FACT, MemoryType.PREFERENCE, MemoryType.PROJECT, MemoryType.DECISION)
SURENESS = (1.0, 0.9, 0.7, 0.5)

_IMPORTANCE = {
    MemoryType.FACT: 0.6,
    MemoryType.PREFERENCE: 0.6,
    MemoryType.ENTITY: 0.6,
    MemoryType.PROJECT: 0.7,
    MemoryType.DECISION: 0.7,
    MemoryType.INSTRUCTION: 0.8,
}
_KEYED_IMPORTANCE = 0.8
_LEAST_INNER = 6


def _line(value: object) -> object:
    return plain_text(value) if isinstance(value, str) else value


class Statement(BaseModel):
    """One statement as the model gives it; `memory` is the number of the known memory that it changes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    message: Annotated[Number, BeforeValidator(liberties.message_number)] = liberties.NO_MESSAGE
    quote: Annotated[str, BeforeValidator(liberties.text), Field(min_length=1, max_length=QUOTE_MAX)]
    about: Annotated[About, BeforeValidator(liberties.class_word)] = About.USER
    content: Annotated[str, BeforeValidator(_line), Field(max_length=CONTENT_MAX)] = ""
    action: Annotated[Action, BeforeValidator(liberties.action_word)] = Action.ADD
    memory: Annotated[Number | None, BeforeValidator(liberties.memory_number)] = None
    kind: Annotated[MemoryType, BeforeValidator(liberties.kind_word)] = MemoryType.FACT
    key: Annotated[Annotated[str, Field(max_length=KEY_MAX)] | None, BeforeValidator(liberties.optional_text)] = None
    value: Annotated[Annotated[str, Field(max_length=VALUE_MAX)] | None, BeforeValidator(liberties.optional_text)] = (
        None
    )
    confidence: Annotated[Unit, BeforeValidator(liberties.sureness)] = 0.9
    importance: Annotated[Unit, BeforeValidator(liberties.sureness)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_missing(cls, data: Any) -> Any:
        """A null where a default exists means the default: models fill every field of a strict schema."""
        if not isinstance(data, Mapping):
            raise ValueError("a statement is an object")
        return {name: value for name, value in data.items() if value is not None}

    def operation(self) -> MemoryOperation | None:
        """The operation that this statement asks for; None if it is not to be remembered."""
        if self.about not in KEPT:
            return None
        kind = {About.THEIRS: MemoryType.ENTITY, About.ANSWERS: MemoryType.INSTRUCTION}.get(self.about, self.kind)
        key = _key_of(self.key) if self.about is About.USER else None
        importance = _KEYED_IMPORTANCE if key else _IMPORTANCE[kind]
        return MemoryOperation(
            action=self.action,
            memory_number=self.memory if self.action is not Action.ADD else None,
            message_number=self.message,
            quote=self.quote,
            memory_type=kind,
            category="instruction"
            if kind is MemoryType.INSTRUCTION
            else "people"
            if kind is MemoryType.ENTITY
            else None,
            content=plainly(self.content) or ("" if self.action is Action.RETRACT else own_words(self.quote)),
            fact_key=key,
            fact_value=self.value if key else None,
            confidence=self.confidence,
            importance=importance if self.importance is None else self.importance,
        )


def _key_of(word: str | None) -> str | None:
    """The key that a model's word means: one of those it was given, an alias of one, or the word itself."""
    folded = (word or "").casefold()
    if folded in KEYS:
        return KEYS[folded]
    known = canonical_fact_key(folded, "identity")
    return known if known in KEYS.values() else word


@dataclass(frozen=True)
class Extraction:
    """A parsed answer: the operations it asks for, how much could not be read, and what was ignored by reason."""

    operations: tuple[MemoryOperation, ...]
    malformed: int = 0
    capped: int = 0
    passed_over: Mapping[str, int] = field(default_factory=dict)


def read_statements(items: Sequence[Any]) -> Extraction:
    """Read the list of an answer; a malformed item is counted and costs only itself."""
    read: list[tuple[Statement, MemoryOperation | None]] = []
    malformed = 0
    for item in items[:MOST]:
        try:
            statement = Statement.model_validate(item)
            read.append((statement, statement.operation()))
        except (ValidationError, RecursionError):
            malformed += 1
    passed = [statement for statement, operation in read if operation is None]
    operations: list[MemoryOperation] = []
    reasons = Counter(statement.about.value for statement in passed)
    for statement, operation in read:
        if operation is None:
            continue
        inner = next((other for other in passed if _holds(statement, other)), None)
        if inner is None:
            operations.append(operation)
        else:
            reasons[inner.about.value] += 1
    return Extraction(
        tuple(_side_by_side(with_leftovers(operations))), malformed, max(0, len(items) - MOST), dict(reasons)
    )


def _side_by_side(operations: Sequence[MemoryOperation]) -> list[MemoryOperation]:
    """Each operation with what others with the same quote say: some models quote a sentence for each of its parts.

    From others that quote only part of it, just the names and numbers: a part alone may have lost its subject.
    """
    folded = [operation.quote.casefold() for operation in operations]
    found = []
    for number, operation in enumerate(operations):
        beside = tuple(
            other.content if folded[place] == folded[number] else " ".join(sorted(particulars_of(other.content)))
            for place, other in enumerate(operations)
            if place != number
            and other.message_number == operation.message_number
            and folded[place] in folded[number]
            and other.content
        )
        found.append(operation.model_copy(update={"beside": beside}) if beside else operation)
    return found


def _holds(statement: Statement, passed: Statement) -> bool:
    """Whether a statement quotes, among others, words that the same answer ignores: it sums up too much."""
    quote, inner = statement.quote.casefold(), passed.quote.casefold().strip()
    return statement.message == passed.message and len(inner) >= _LEAST_INNER and inner in quote and inner != quote


def statements_schema(messages: Sequence[int], memories: Sequence[int]) -> dict[str, Any]:
    """The JSON schema of the list, within the subset that strict structured output accepts.

    `messages` and `memories` are the numbers that this call shows. A statement that is not to be remembered ends with
    what it is about.
    """
    found = {
        "message": {"type": "integer", "enum": list(messages)} if messages else {"type": "integer"},
        "quote": {"type": "string"},
    }
    passed = _object(**found, about=_one_of(*(about.value for about in PASSED_OVER)))
    known: dict[str, Any] = {}
    if memories:
        known = {
            "action": _one_of(*(action.value for action in Action)),
            "memory": {"type": "integer", "enum": [0, *memories]},
        }
    user = _object(
        **found,
        about=_one_of(About.USER.value),
        content={"type": "string"},
        **known,
        kind=_one_of(*(kind.value for kind in KINDS)),
        key=_one_of(NO_KEY, *KEYS),
        value={"type": "string"},
        confidence={"type": "number", "enum": list(SURENESS)},
    )
    other = _object(
        **found,
        about=_one_of(About.THEIRS.value, About.ANSWERS.value),
        content={"type": "string"},
        **known,
        confidence={"type": "number", "enum": list(SURENESS)},
    )
    return {"type": "array", "items": {"anyOf": [user, other, passed]}}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
