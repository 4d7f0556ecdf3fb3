"""The parts that schemas share: field types (storable text, ids, bounded JSON), rows as responses, pages of lists."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar
from unicodedata import category

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictBool,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from werkzeug.datastructures import FileStorage

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
U = TypeVar("U")

MAX_ID = 2**31 - 1  # INT, as documented
_ID_DIGITS = len(str(MAX_ID))
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CONTROL_CHARACTERS = re.compile("[\x01-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NONSTANDARD_NUMBER = re.compile(r"[^!-~]|_|^\+|^-?0\d")
MAX_CURSOR_LENGTH = 800
"""A key may contain a name of 100 characters, of four bytes each."""
MAX_TEXT_BYTES = 2**20
"""The most bytes of a message: a pasted log is a real message."""
MAX_METADATA_BYTES = 16_384
MAX_METADATA_DEPTH = 20  # MariaDB's JSON functions stop at 32 levels
MAX_METADATA_NUMBER = 2**63 - 1  # beyond it MySQL rounds, and further out refuses


def valid_fields(model: type[M], values: Mapping[str, Any]) -> M:
    """Return values as a model, without those that do not fit: of a URL's filters, or of what is stored."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong = {item["loc"][0] for item in error.errors()}
        return model.model_validate({name: value for name, value in values.items() if name not in wrong})


class Input(BaseModel):
    """A body or form with no fields but these."""

    model_config = ConfigDict(extra="forbid")


class Changes(Input):
    """The fields to change: one that stays is left out, and only those that `nullable` names take null."""

    nullable: ClassVar[tuple[str, ...]] = ()

    @field_validator("*")
    @classmethod
    def _refuse_null(cls, value: object, info: ValidationInfo) -> object:
        if value is None and info.field_name not in cls.nullable:
            raise ValueError("cannot be null")
        return value


class Output(BaseModel):
    """A response that shows a row."""

    @classmethod
    def from_row(cls, row: object, **values: Any) -> Self:
        """Return the response with the attributes of a row by the names of the fields, `values` for the others."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields if name not in values}, **values)


def parse_id(text: str | None) -> int | None:
    """Return the row id in a text; None for what cannot be the id of any row."""
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > _ID_DIGITS:
        return None
    number = int(text)
    return number if 1 <= number <= MAX_ID else None


def check_storable(value: str) -> str:
    """Return a text unchanged. Raises ValueError for one that the database cannot hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which is not text") from None
    if "\x00" in value:
        raise ValueError("contains a NUL character")
    return value


def _in_one_line(value: str) -> str:
    """Return a text with spaces for line ends and tabs, without control characters and bidirectional marks."""
    return _CONTROL_CHARACTERS.sub("", " ".join(value.expandtabs(1).splitlines())).strip()


def _fits_text_column(value: str) -> str:
    size = len(value.encode())
    if size > MAX_TEXT_BYTES:
        raise ValueError(f"is {size:,} bytes long; at most {MAX_TEXT_BYTES:,} fit into one message")
    return value


def not_blank(value: str) -> str:
    """Return a text, unchanged. Raises ValueError for one of white space and invisible characters alone."""
    if all(char.isspace() or category(char) in ("Cc", "Cf") for char in value):
        raise ValueError("is empty")
    return value


def _strip(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _bounded_json(value: dict[str, Any]) -> dict[str, Any]:
    _check_parts(value)
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (ValueError, RecursionError):
        raise ValueError("is not JSON (NaN, Infinity, broken text or too deep)") from None
    if size > MAX_METADATA_BYTES:
        raise ValueError(f"is larger than {MAX_METADATA_BYTES:,} bytes")
    return value


def _check_parts(value: dict[str, Any]) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_METADATA_DEPTH):
        children: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                children += part.values()
            elif isinstance(part, list):
                children += part
            elif isinstance(part, int) and abs(part) > MAX_METADATA_NUMBER:
                raise ValueError("contains a number of more than 63 bits")
        if not children:
            return
        level = children
    raise ValueError(f"is nested deeper than {MAX_METADATA_DEPTH} levels")


def _file(value: object) -> FileStorage:
    if not isinstance(value, FileStorage):
        raise ValueError("must be a file, not text")
    return value


def _iso_day(value: object) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and not _ISO_DAY.fullmatch(value)):
        raise ValueError("Write a day as YYYY-MM-DD.")
    return value


def _iso_time(value: object) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and not _ISO_DAY.match(value)):
        raise ValueError("Write a time as YYYY-MM-DDTHH:MM:SSZ.")
    return value


def _plain_number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    if isinstance(value, str) and _NONSTANDARD_NUMBER.search(value):
        raise ValueError("must be written in the digits 0 to 9, with nothing in front of them")
    return value


def utc_text(value: datetime) -> str:
    """Return a timestamp as the API writes it: UTC, ISO 8601 with Z."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


Lines = Annotated[str, BeforeValidator(_strip), AfterValidator(check_storable)]
"""Text of any number of lines, stripped."""

Line = Annotated[Lines, AfterValidator(_in_one_line)]
"""One line of text, stripped, which changes nothing of the line that it is shown in."""

Upload = Annotated[FileStorage, PlainValidator(_file), WithJsonSchema({"type": "string", "format": "binary"})]
"""A file of multipart form data."""

SearchText = Annotated[str, AfterValidator(check_storable)]
"""What is typed into a search box, unchanged: a space at its end means that the last word is finished."""

MessageText = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(check_storable),
    AfterValidator(not_blank),
    AfterValidator(_fits_text_column),
]
"""What a person says in one message: not blank, at most MAX_TEXT_BYTES long."""

Flag = StrictBool
"""True or false, and nothing that merely resembles it."""

PLAIN_NUMBER = BeforeValidator(_plain_number)
"""Refuses what pydantic would read as a number; it stands after the number's limits, or no schema names them."""

Integer = Annotated[int, PLAIN_NUMBER]
"""A whole number; `true` is not one."""
OptionalInteger = Annotated[int | None, PLAIN_NUMBER]

Amount = Annotated[float, Field(allow_inf_nan=False), PLAIN_NUMBER]
"""A finite number; `true` is not one."""
OptionalAmount = Annotated[float | None, Field(allow_inf_nan=False), PLAIN_NUMBER]

Id = Annotated[int, Field(ge=1, le=MAX_ID), PLAIN_NUMBER]
"""A row's id."""

JsonObject = Annotated[dict[str, Any], AfterValidator(_bounded_json)]
"""A JSON object of at most 16 KiB."""

Day = Annotated[date, BeforeValidator(_iso_day)]
"""A day as YYYY-MM-DD, not a number of seconds, which pydantic would accept."""

Time = Annotated[datetime, BeforeValidator(_iso_time)]
"""A time in ISO 8601, with or without a zone."""

AwareTime = Annotated[AwareDatetime, BeforeValidator(_iso_time)]
"""A time in ISO 8601 with its zone."""

Instant = Annotated[datetime, PlainSerializer(utc_text, return_type=str, when_used="json")]
"""A UTC timestamp, ISO 8601 with Z."""


class PageQuery(BaseModel):
    """The paging parameters of every list."""

    limit: Integer = Field(20, ge=1, le=100, description="How many to return.")
    cursor: str | None = Field(
        None,
        max_length=MAX_CURSOR_LENGTH,
        description="`next_cursor` of the previous page; only the same list with the same filters takes it.",
    )


class Page(Generic[T]):
    """One page of a keyset-paged list."""

    def __init__(self, items: Sequence[T], next_cursor: str | None):
        self.items = list(items)
        self.next_cursor = next_cursor

    def map(self, show: Callable[[T], U]) -> "Page[U]":
        """Return the page with each of its items as something else."""
        return Page([show(item) for item in self.items], self.next_cursor)


class ListOut(BaseModel):
    """The response with a page of a list, whose items are in the field that each kind adds."""

    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[Any]) -> Self:
        """Return a page of such items."""
        field = next(name for name in cls.model_fields if name != "next_cursor")
        return cls(**{field: page.items, "next_cursor": page.next_cursor})
