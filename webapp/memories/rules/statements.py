"""The statements that a model is asked for: those of the user, each classified before it is reworded; pure.

The wire format is deliberately small. Every field that a small model has to fill in is a chance to go astray, so
importance and category follow from what the statement is about, numbers are enums of those in this very call, and the
fields about known memories exist only if something is known.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from webapp.llm.structured import object_schema
from webapp.memories.rules.kinds import CONTENT_MAX, KEY_MAX, VALUE_MAX, MemoryType, canonical_fact_key
from webapp.memories.rules.operations import QUOTE_MAX, Action, MemoryOperation, Number, Unit, one_line
from webapp.text.canonical import plain_text

FIELD = "statements"
MAX_STATEMENTS = 80
"""The most statements read from one answer."""
NO_MESSAGE = 1_000_000
"""The number of no message: the quote itself finds the message."""
UNSURE = 0.7
"""The confidence of an answer that does not give it as a number."""


class Topic(StrEnum):
    """The subject of a statement. Only those in `MEMORY_TOPICS` are remembered; naming the others keeps them apart."""

    USER = "user"
    THEIRS = "family_friend_pet"
    ANSWERS = "how_to_answer"
    OTHERS = "somebody_else"
    ASKED = "question_or_task"
    IMAGINED = "imagined_or_joke"
    PASSING = "only_now"
    SECRET = "secret"


MEMORY_TOPICS = (Topic.USER, Topic.THEIRS, Topic.ANSWERS)
OTHER_TOPICS = tuple(about for about in Topic if about not in MEMORY_TOPICS)

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

KINDS = tuple(kind for kind in MemoryType if kind.is_offered)
SURENESS = (1.0, 0.9, 0.7, 0.5)

_KEYED_IMPORTANCE = 0.8
_CATEGORIES = {MemoryType.INSTRUCTION: "instruction", MemoryType.ENTITY: "people"}


def _text(value: object) -> object:
    """Return a text, or the only item of a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def optional_text(value: object) -> object:
    """Return a text on one line, or a number as text; None for nothing, or for anything else."""
    value = _text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    line = plain_text(value) if isinstance(value, str) else ""
    return None if line.casefold() in {"", "null", "none", "n/a"} else line


def _wording(value: object) -> str:
    """Return a statement on one line; empty for what is none or too long, so that the quote counts."""
    text = one_line(_text(value))
    return text if isinstance(text, str) and len(text) <= CONTENT_MAX else ""


def _number(value: object) -> int | None:
    """Return a number from 1, in figures if it is a text; None for anything else."""
    value = _text(value)
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:8])
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value != int(value):
        return None
    return int(value) if 1 <= value <= NO_MESSAGE else None


def _member(members: type[StrEnum], default: str | None) -> BeforeValidator:
    """Return a member of an enum; another word is the default, or malformed if there is none."""

    def read(value: object) -> object:
        value = _text(value)
        word = value.strip().casefold() if isinstance(value, str) else value
        is_member = isinstance(word, str) and word in set(members)
        return word if default is None or is_member else default

    return BeforeValidator(read)


def _share(value: object) -> object:
    """Return a number in 0–1, from a fraction or a percentage; doubtful if it is neither."""
    if isinstance(value, str):
        try:
            value = float(value.strip().rstrip("%"))
        except ValueError:
            return UNSURE
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return UNSURE
    share = value / 100 if 2 <= value <= 100 else value
    return share if 0 <= share <= 1 else UNSURE


def _day(value: object) -> object:
    """Return a date as YYYY-MM-DD; None for anything else."""
    try:
        return date.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        return None


class Statement(BaseModel):
    """One statement as the model gives it; `memory` is the number of the known memory that it changes.

    Errors of form cost nothing: the quote is what counts. What a statement is about is never guessed.
    """

    model_config = ConfigDict(frozen=True)

    message: Annotated[Number, BeforeValidator(lambda value: _number(value) or NO_MESSAGE)] = NO_MESSAGE
    quote: Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=QUOTE_MAX)]
    about: Annotated[Topic, _member(Topic, None)] = Topic.USER
    content: Annotated[str, BeforeValidator(_wording)] = ""
    action: Annotated[Action, _member(Action, Action.ADD.value)] = Action.ADD
    memory: Annotated[Number | None, BeforeValidator(_number)] = None
    kind: Annotated[MemoryType, _member(MemoryType, MemoryType.FACT.value)] = MemoryType.FACT
    key: Annotated[Annotated[str, Field(max_length=KEY_MAX)] | None, BeforeValidator(optional_text)] = None
    value: Annotated[Annotated[str, Field(max_length=VALUE_MAX)] | None, BeforeValidator(optional_text)] = None
    until: Annotated[date | None, BeforeValidator(_day)] = None
    confidence: Annotated[Unit, BeforeValidator(_share)] = 0.9
    importance: Annotated[Unit, BeforeValidator(_share)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_missing(cls, data: Any) -> Any:
        """Return a null where a default exists means the default: models fill every field of a strict schema."""
        if not isinstance(data, Mapping):
            raise ValueError("a statement is an object")
        return {name: value for name, value in data.items() if value is not None}

    def operation(self) -> MemoryOperation | None:
        """Return the operation that this statement asks for; None if it is not to be remembered."""
        if self.about not in MEMORY_TOPICS:
            return None
        kind = {Topic.THEIRS: MemoryType.ENTITY, Topic.ANSWERS: MemoryType.INSTRUCTION}.get(self.about, self.kind)
        key = _key_of(self.key) if self.about is Topic.USER else None
        importance = _KEYED_IMPORTANCE if key else kind.importance
        return MemoryOperation(
            action=self.action,
            memory_number=self.memory if self.action is not Action.ADD else None,
            message_number=self.message,
            quote=self.quote,
            memory_type=kind,
            category=_CATEGORIES.get(kind),
            content=self.content or ("" if self.action is Action.RETRACT else plain_text(self.quote)[:CONTENT_MAX]),
            fact_key=key,
            fact_value=self.value if key else None,
            until=self.until,
            confidence=self.confidence,
            importance=importance if self.importance is None else self.importance,
        )


def _key_of(word: str | None) -> str | None:
    """Return the key that a model's word means: one of those it was given, an alias of one, or the word itself."""
    key = (word or "").casefold()
    if key in ("", NO_KEY):
        return None
    if key in KEYS:
        return KEYS[key]
    canonical = canonical_fact_key(key, "identity")
    return canonical if canonical in KEYS.values() else word


@dataclass(frozen=True)
class Extraction:
    """A parsed answer: its operations, unreadable ones, what was passed over by reason, and quotes of `secrets`."""

    operations: tuple[MemoryOperation, ...]
    malformed: int = 0
    capped: int = 0
    passed_over: Mapping[str, int] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


def read_statements(items: Sequence[Any]) -> Extraction:
    """Read the list of an answer; a malformed item is counted and costs only itself."""
    operations: list[MemoryOperation] = []
    passed: list[Statement] = []
    malformed = 0
    for item in items[:MAX_STATEMENTS]:
        try:
            statement = Statement.model_validate(item)
            operation = statement.operation()
        except (ValidationError, RecursionError):
            malformed += 1
            continue
        if operation is None:
            passed.append(statement)
        else:
            operations.append(operation)
    return Extraction(
        tuple(operations),
        malformed,
        max(0, len(items) - MAX_STATEMENTS),
        dict(Counter(statement.about.value for statement in passed)),
        tuple(statement.quote for statement in passed if statement.about is Topic.SECRET),
    )


def statements_schema(messages: Sequence[int], memories: Sequence[int]) -> dict[str, Any]:
    """Return the strict JSON schema of the list, for the numbers of `messages` and `memories` in this call."""
    properties = {
        "message": {"type": "integer", "enum": list(messages)} if messages else {"type": "integer"},
        "quote": {"type": "string"},
    }
    passed = object_schema(**properties, about=_one_of(*(subject.value for subject in OTHER_TOPICS)))
    fields: dict[str, Any] = {}
    if memories:
        fields = {
            "action": _one_of(*(action.value for action in Action)),
            "memory": {"type": "integer", "enum": [0, *memories]},
        }
    user = object_schema(
        **properties,
        about=_one_of(Topic.USER.value),
        content={"type": "string"},
        **fields,
        kind=_one_of(*(kind.value for kind in KINDS)),
        key=_one_of(NO_KEY, *KEYS),
        value={"type": "string"},
        until={"type": "string"},
        confidence={"type": "number", "enum": list(SURENESS)},
    )
    other = object_schema(
        **properties,
        about=_one_of(Topic.THEIRS.value, Topic.ANSWERS.value),
        content={"type": "string"},
        **fields,
        until={"type": "string"},
        confidence={"type": "number", "enum": list(SURENESS)},
    )
    return {"type": "array", "items": {"anyOf": [user, other, passed]}}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}
