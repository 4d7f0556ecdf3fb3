"""Memories in rows: JSON whose items are texts, or have one under a usual name, and tables of separated values."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webapp.files.readers.text import table_rows
from webapp.i18n.marks import N_
from webapp.transfer.content import Part, ReadMemory, Unreadable, instant, text_or_none
from webapp.transfer.sources import Upload

_TEXTS = ("memory", "content", "text", "fact", "statement", "value")
_TIMES = ("updated_at", "created_at", "updatedat", "createdat", "valid_at", "created", "date", "timestamp")
_OF_MESSAGES = {"role", "sender", "author", "from", "messages", "mapping"}
"""Fields that only what somebody said in a conversation has."""
_GONE = ("valid_to", "invalid_at", "expired_at", "deleted_at", "deletedat", "deleted", "is_deleted", "isforgotten")
_CURRENT = ("islatest", "is_latest", "is_active")
_LARGE = 64 * 1024**2


def has_rows(upload: Upload) -> bool:
    """Return whether memories are in its JSON, or in the columns of its table."""
    if not upload.is_archive and upload.names[0].lower().endswith((".csv", ".tsv")):
        rows = table_rows(upload.peek(upload.names[0]).encode())
        return bool(rows) and _column(rows) is not None
    return upload.has_record(upload.json_names, lambda item: memory_of(item) is not None)


def read_rows(upload: Upload, names: Iterable[str]) -> Iterator[Part]:
    """Yield the memories in JSON that are still valid."""
    for name in names:
        try:
            for number, item in enumerate(upload.records(name, lambda item: memory_of(item) is not None), 1):
                if not is_gone(item):
                    yield memory_of(item) or Unreadable(f"memory {number}", N_("it says nothing"))
        except ValueError as error:
            yield Unreadable(name, str(error))


def read_table(upload: Upload) -> Iterator[Part]:
    """Yield the memories in a table that are still valid."""
    rows = table_rows(upload.text(upload.names[0], _LARGE).encode())
    column = _column(rows) or 0
    heads = _fields(rows[0])
    for row in rows[1:] if heads[column] in _TEXTS else rows:
        item = dict(zip(heads, row, strict=False)) | {_TEXTS[0]: row[column] if column < len(row) else ""}
        if (memory := memory_of(item)) and not is_gone(item):
            yield memory


def _column(rows: list[list[str]]) -> int | None:
    """Return which column of a table holds the memories: by its name, or the only one."""
    heads = _fields(rows[0])
    named = next((heads.index(name) for name in _TEXTS if name in heads), None)
    return 0 if named is None and max(map(len, rows)) == 1 else named


def _fields(heads: list[str]) -> list[str]:
    return [head.strip().lower() for head in heads]


def is_gone(item: Any) -> bool:
    """Return whether a row says that its memory does not hold any more."""
    fields = _lower(item)
    is_old = any(fields.get(name) is False for name in _CURRENT)
    return is_old or any(map(fields.get, _GONE)) or fields.get("state") == "deleted"


def _lower(item: Any) -> dict[str, Any]:
    return {str(name).lower(): value for name, value in item.items()} if isinstance(item, Mapping) else {}


def memory_of(item: Any) -> ReadMemory | None:
    """Return the memory in an item, if it is one; its text may be a field of an object."""
    if not isinstance(item, Mapping):
        text = text_or_none(item)
        return ReadMemory(text) if text else None
    fields = _lower(item)
    if _OF_MESSAGES & fields.keys():
        return None
    values = [fields.get(name) for name in _TEXTS]
    inner = (memory_of(value) for value in values if isinstance(value, Mapping))
    texts = [*map(text_or_none, values), *(memory.content for memory in inner if memory)]
    text = next(filter(None, texts), None)
    if text is None:
        return None
    if isinstance(fields.get("value"), str) and (key := text_or_none(fields.get("key"))):
        text = f"{key}: {text}"
    return ReadMemory(text, next(filter(None, (instant(fields.get(name)) for name in _TIMES)), None))
