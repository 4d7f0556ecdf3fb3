"""`.mem` bundles (portable-memory): facts and episodes, except those named by a tombstone."""

import re
from collections.abc import Iterator
from typing import Any

from webapp.transfer.content import Part, ReadMemory, Unreadable, instant, parse_line, text_or_none
from webapp.transfer.sources import Upload

_ITEMS = re.compile(r"(?:^|/)items/(fact|episode|core|preference)\.jsonl$")
_TOMBSTONES = re.compile(r"(?:^|/)audit/tombstones\.jsonl$")


class Portable:
    """Reads a zipped `.mem` bundle."""

    name, label = "mem", "Portable memory (.mem)"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether it has a manifest and streams of items."""
        names = upload.names
        return any(_ITEMS.search(name) for name in names) and any(name.endswith("manifest.json") for name in names)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the statements that no tombstone names."""
        tombstones = {
            str(row.get("targetID"))
            for name in upload.names
            if _TOMBSTONES.search(name)
            for _, row in _lines(upload, name)
            if row
        }
        for name in sorted(filter(_ITEMS.search, upload.names)):
            for number, row in _lines(upload, name):
                if row is None:
                    yield Unreadable(f"{name}, line {number}", "it is not JSON")
                elif str(row.get("id")) not in tombstones and not row.get("deletedAt") and not row.get("prunedAt"):
                    text = _statement(row)
                    if text:
                        yield ReadMemory(text, instant(row.get("createdAt") or row.get("eventTime")))


def _statement(row: dict[str, Any]) -> str | None:
    if "key" in row and "value" in row:
        return f"{row['key']}: {row['value']}"
    return text_or_none(row.get("text")) or text_or_none(row.get("summary")) or text_or_none(row.get("content"))


def _lines(upload: Upload, name: str) -> Iterator[tuple[int, dict[str, Any] | None]]:
    with upload.open(name) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, parse_line(line)
