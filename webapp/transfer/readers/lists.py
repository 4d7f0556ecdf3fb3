"""Files of memories: `.mem` bundles, mem0's JSON and Markdown, our own, the graph of the MCP memory server, notes."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import Part, ReadMemory, ReadProject, Unreadable
from webapp.transfer.field_values import instant, text_or_none
from webapp.transfer.json_text import object_in
from webapp.transfer.readers.memory_rows import valid_memories
from webapp.transfer.readers.pasted_list import FRONT_MATTER
from webapp.transfer.readers.records import RecordReader, as_dict, convert_records
from webapp.transfer.sources import TEXTS, Upload

_LARGE = 64 * 1024**2
_FRONT = re.compile(r"^---[ \t]*\n((?:[A-Za-z_]\w*[ \t]*:.*\n)+)---[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"^(\w+)[ \t]*:[ \t]*((?:.*\S)?)[ \t]*$", re.MULTILINE)


def _has(fields: tuple[str, ...], item: Any) -> bool:
    return isinstance(item, dict) and all(name in item for name in fields)


MEM0 = RecordReader("mem0", "mem0", partial(_has, ("memory",)), valid_memories)
"""mem0's exports: {"results": [...]} or an array, each with `memory`."""


class Mem0Markdown:
    """Reads what mem0's plug-in writes: one file of Markdown, each memory after `id` and `created_at` between rules."""

    name, label = "mem0-markdown", "mem0 (Markdown)"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the upload's first lines are the fields of a memory."""
        if upload.is_archive:
            return False
        front = _FRONT.match(_lines_of(upload.peek(upload.names[0])).lstrip())
        return front is not None and {"id", "created_at"} <= dict(_FIELD.findall(front.group(1))).keys()

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the memories."""
        text = _lines_of(upload.text(upload.names[0], _LARGE))
        fronts = list(_FRONT.finditer(text))
        ends = [front.start() for front in fronts[1:]] + [len(text)]
        for number, (front, end) in enumerate(zip(fronts, ends, strict=True), 1):
            fields = dict(_FIELD.findall(front.group(1)))
            content = text_or_none(text[front.end() : end])
            moment = instant(fields.get("created_at"))
            yield ReadMemory(content, moment) if content else Unreadable(f"memory {number}", N_("it says nothing"))


def _own_memory(item: Any) -> ReadMemory | None:
    row = as_dict(item)
    text = text_or_none(row.get("content"))
    moment = instant(row.get("said_at") or row.get("created_at"))
    key, value = text_or_none(row.get("fact_key")), text_or_none(row.get("fact_value"))
    kind = "instruction" if row.get("memory_type") == "instruction" else "fact"
    return ReadMemory(text, moment, kind, key, value) if text else None


OWN_MEMORIES = RecordReader(
    "commonplace-memories",
    N_("Commonplace memories"),
    partial(_has, ("memory_type", "content")),
    partial(valid_memories, read=_own_memory),
)
"""The JSON that Commonplace itself writes for memories."""


def _lines_of(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _is_of_graph(row: Any) -> bool:
    return isinstance(row, dict) and ({"name", "observations"} <= row.keys() or set(_RELATION) <= row.keys())


def _of_graph(row: Any) -> Iterator[ReadMemory]:
    if not _is_of_graph(row):
        raise ValueError(N_("it is neither an entity nor a relation"))
    if "observations" not in row:
        yield ReadMemory(" ".join(str(row[part]).replace("_", " ") for part in _RELATION))
        return
    name = str(row["name"]).replace("_", " ")
    for observation in row["observations"] if isinstance(row["observations"], list) else ():
        if text := text_or_none(observation):
            is_clear = name.lower() in ("user", "default user", "me") or name.lower() in text.lower()
            yield ReadMemory(text if is_clear else f"{name}: {text}")


MEMORY_GRAPH = RecordReader("mcp-memory", N_("MCP memory server"), _is_of_graph, _of_graph)
"""The memory of the official MCP server, as it stores it or tells it: a statement for each observation and relation."""

_RELATION = ("from", "relationType", "to")
_ITEMS = re.compile(r"(?:^|/)items/(fact|episode|core|preference)\.jsonl$")
_TOMBSTONES = re.compile(r"(?:^|/)audit/tombstones\.jsonl$")


class Portable:
    """Reads a zipped `.mem` bundle."""

    name, label = "mem", "Portable memory (.mem)"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the upload has a manifest and streams of items."""
        names = upload.names
        return any(_ITEMS.search(name) for name in names) and any(name.endswith("manifest.json") for name in names)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the statements that no tombstone names."""
        tombstones = {
            str(row.get("targetID"))
            for name in upload.names
            if _TOMBSTONES.search(name)
            for row in map(object_in, upload.lines(name))
        }
        for name in sorted(filter(_ITEMS.search, upload.names)):
            yield from convert_records(name, map(object_in, upload.lines(name)), partial(_of_bundle, tombstones))


def _of_bundle(tombstones: set[str], row: dict[str, Any]) -> Iterator[ReadMemory]:
    if not row:
        raise ValueError(N_("it is not JSON"))
    text = next(filter(None, (text_or_none(row.get(name)) for name in ("text", "summary", "content"))), None)
    if "key" in row and "value" in row:
        text = f"{row['key']}: {row['value']}"
    if text and str(row.get("id")) not in tombstones and not row.get("deletedAt") and not row.get("prunedAt"):
        yield ReadMemory(text, instant(row.get("createdAt") or row.get("eventTime")))


_MAX_FILE_BYTES = 2 * 1024**2
_SHORT = 300


class Notes:
    """Reads a folder of Markdown files, or the notes of Open WebUI as its API returns them."""

    name, label = "notes", N_("Markdown notes")

    def looks_like(self, upload: Upload) -> bool:
        """Return whether most of the ZIP's files are Markdown or text, or a note is in the JSON."""
        if upload.has_record(upload.json_names, _is_note):
            return True
        texts = _texts(upload) if upload.is_archive else ()
        return bool(texts) and len(texts) * 2 >= len(upload.names)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Short notes of one line as memories, the others as documents in one project named after the file."""
        documents = []
        for name, note in _notes(upload):
            text = FRONT_MATTER.sub("", note).strip()
            if text and "\n" not in text and len(text) <= _SHORT:
                yield ReadMemory(re.sub(r"^#+\s*", "", text))
            elif text:
                documents.append((name[-200:], text))
        if documents:
            title = PurePosixPath(upload.filename).stem or "Notes"
            yield ReadProject(f"notes:{title}", title, "Markdown notes", "", documents)


def _notes(upload: Upload) -> Iterator[tuple[str, str]]:
    """Yield the notes, each with its name; one that is too long is left out."""
    for name in upload.json_names:
        with suppress(ValueError):
            for item in filter(_is_note, upload.records(name, _is_note)):
                yield text_or_none(item["title"]) or PurePosixPath(name).stem, item["data"]["content"]["md"]
    for name in _texts(upload):
        with suppress(ImportRefused):
            yield str(PurePosixPath(name).with_suffix("")), upload.text(name, _MAX_FILE_BYTES)


def _is_note(item: Any) -> bool:
    data = item.get("data") if isinstance(item, dict) and "title" in item else None
    content = data.get("content") if isinstance(data, dict) else None
    return isinstance(content, dict) and isinstance(content.get("md"), str)


def _texts(upload: Upload) -> list[str]:
    return sorted(name for name in upload.names if name.lower().endswith(TEXTS))
