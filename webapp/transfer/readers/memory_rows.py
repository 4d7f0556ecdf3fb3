"""Memories in rows: JSON whose items are texts, or have one under a usual name, and tables of separated values."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from webapp.db.base import now
from webapp.i18n.marks import N_
from webapp.transfer.content import Part, ReadMemory
from webapp.transfer.field_values import instant, is_true, text_or_none
from webapp.transfer.readers.records import read_records
from webapp.transfer.readers.turns import FIELDS
from webapp.transfer.sources import Upload

_TEXTS = ("memory", "content", "text", "fact", "statement", "value")
_TIMES = ("updated_at", "created_at", "updatedat", "createdat", "valid_at", "created", "date", "timestamp")
_OF_MESSAGES = {*map(str.lower, (*FIELDS.roles, *FIELDS.is_person))} - {"src"}
_OF_MESSAGES |= {"segments", "messages", "mapping", "say", "ask"}
"""Fields that only what somebody said in a conversation has; a memory may have come from a `src`."""
_NAMES = {*map(str.lower, FIELDS.names)}
_RELATION = ("source", "relationship", "target")
MEMORY_FILE = re.compile(r"(?:^|/)(?:\w+[_-])?memories[^/]*\.jsonl?$", re.IGNORECASE)
"""The name of a file of memories beside those of conversations."""
_GONE = ("valid_to", "invalid_at", "expired_at", "deleted_at", "deletedat", "deleted", "is_deleted", "isforgotten")
_ENDS = ("expiration_date", "expires_at")
_CURRENT = ("islatest", "is_latest", "is_active")


def has_rows(upload: Upload) -> bool:
    """Return whether memories are in its JSON, or in the columns of its table."""
    return upload.has_record(upload.record_names, _is_memory)


def _is_memory(item: Any) -> bool:
    return memory_of(item) is not None


def read_rows(upload: Upload, names: Iterable[str]) -> Iterator[Part]:
    """Yield the memories in JSON or tables that are still valid."""
    yield from read_records(upload, names, _is_memory, valid_memories)


def valid_memories(item: Any, read: Callable[[Any], ReadMemory | None] | None = None) -> Iterator[ReadMemory]:
    """Yield the memory in a row, if it still holds; the head of a table's only column is none. Raises ValueError."""
    if not is_gone(item) and item not in _TEXTS:
        memory = (read or memory_of)(item)
        if memory is None:
            raise ValueError(N_("it says nothing"))
        yield memory


def is_gone(item: Any) -> bool:
    """Return whether a row says that its memory does not hold any more."""
    fields = _lower(item)
    is_old = any(fields.get(name) not in (None, "") and not is_true(fields[name]) for name in _CURRENT)
    ended = {"deleted", "superseded", "retracted"} & {str(fields.get(name)) for name in ("state", "status")}
    is_over = any(moment < now() for name in _ENDS if (moment := instant(fields.get(name))))
    return is_old or is_over or bool(ended) or any(is_true(fields.get(name)) for name in _GONE)


def _lower(item: Any) -> dict[str, Any]:
    return {str(name).lower(): value for name, value in item.items()} if isinstance(item, Mapping) else {}


def _words(value: Any) -> str | None:
    """Return a text that has words; None for anything else, such as an amount."""
    text = text_or_none(value)
    return text if text and any(map(str.isalpha, text)) else None


def _is_message(fields: Mapping[str, Any]) -> bool:
    """Return whether a row is of a conversation; one that calls itself a memory is not (mem0)."""
    is_of_slack = "ts" in fields and bool(_NAMES & fields.keys())
    is_of_google = isinstance(fields.get("creator"), Mapping)
    return not _words(fields.get("memory")) and (is_of_slack or is_of_google or bool(_OF_MESSAGES & fields.keys()))


def memory_of(item: Any) -> ReadMemory | None:
    """Return the memory in an item, if it is one; its text may be a field of an object."""
    if not isinstance(item, Mapping):
        return ReadMemory(text) if (text := _words(item)) else None
    fields = _lower(item)
    if _is_message(fields):
        return None
    values = [fields.get(name) for name in _TEXTS]
    inner = (memory_of(value) for value in values if isinstance(value, Mapping))
    texts = [*map(_words, values), *(memory.content for memory in inner if memory)]
    text = next(filter(None, texts), None)
    if text is None:
        relation = [words for name in _RELATION if (words := _words(fields.get(name)))]
        return ReadMemory(" ".join(relation).replace("_", " ")) if len(relation) == len(_RELATION) else None
    if isinstance(fields.get("value"), str) and (key := text_or_none(fields.get("key"))):
        text = f"{key}: {text}"
    rows = [fields, *map(_lower, fields.values())]
    return ReadMemory(text, next(filter(None, (instant(row.get(name)) for row in rows for name in _TIMES)), None))
