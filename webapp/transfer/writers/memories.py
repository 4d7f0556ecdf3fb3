"""Memories as text to paste elsewhere, as JSON, and as a `.mem` bundle."""

import io
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from portable_memory import BundleExporter, InMemoryStore, PortableFact, Tombstone, TombstoneOp

from webapp.http.validation import utc_text
from webapp.memories.models import Memory, MemoryTombstone

Quotes = Mapping[int, Sequence[str]]
"""The words that memories rest on, by the id of the memory."""


@dataclass(frozen=True)
class MemoryWording:
    """The texts around memories: a title, the names of kinds, and the phrase for when one ended (`{when}`)."""

    title: str
    kinds: Mapping[str, str]
    until: str

    def heading(self, kind: str) -> str:
        """Return the name of a kind, with a capital letter."""
        name = self.kinds.get(kind, kind)
        return name[:1].upper() + name[1:]


class _Store(InMemoryStore):  # type: ignore[misc]  # the package says nothing about its types
    """The contents of a bundle; the package's own store has no facts."""

    facts: Sequence[PortableFact] = ()

    def export_facts(self) -> list[PortableFact]:
        return list(self.facts)


def as_text(rows: Sequence[Memory], zone: tzinfo) -> str:
    """Return one memory per line, with its day in front: what other assistants ask people to paste."""
    days = ((row.asserted_at or row.created_at).astimezone(zone).date() for row in rows)
    return "".join(f"[{day}] - {row.content}\n" for day, row in zip(days, rows, strict=True))


def as_markdown(rows: Sequence[Memory], quotes: Quotes, wording: MemoryWording) -> str:
    """Return memories by kind, each with the words it rests on."""
    parts = [f"# {wording.title}\n"]
    for kind in sorted({row.memory_type for row in rows}):
        parts.append(f"\n## {wording.heading(kind)}\n")
        for row in rows:
            if row.memory_type == kind:
                end = wording.until.replace("{when}", f"{row.until}") if row.until else ""
                parts.append(f"- {row.content}" + (f" ({end})" if end else ""))
                parts += [f"  > {' '.join(quote.split())}" for quote in quotes.get(row.memory_id, ())]
    return "\n".join(parts) + "\n"


def as_json(rows: Sequence[Memory], quotes: Quotes) -> str:
    """Return all fields of every memory."""
    items: list[dict[str, Any]] = [
        {
            "memory_id": row.memory_id,
            "memory_type": row.memory_type,
            "content": row.content,
            "confidence": row.confidence,
            "importance": row.importance,
            "created_at": utc_text(row.created_at),
            "said_at": utc_text(row.asserted_at) if row.asserted_at else None,
            "valid_from": utc_text(row.valid_from) if row.valid_from else None,
            "valid_to": utc_text(row.valid_to) if row.valid_to else None,
            "until": row.until.isoformat() if row.until else None,
            "quotes": list(quotes.get(row.memory_id, ())),
        }
        for row in rows
    ]
    return json.dumps({"memories": items}, ensure_ascii=False, indent=2)


def as_bundle(rows: Sequence[Memory], tombstones: Sequence[MemoryTombstone]) -> bytes:
    """Return a zipped `.mem` bundle; its tombstones contain keyed hashes and no text."""
    store = _Store("commonplace/1")
    store.facts = [
        PortableFact(
            id=f"memory-{row.memory_id}",
            episode_id="",
            subject="user",
            predicate=row.memory_type,
            obj=row.content,
            text=row.content,
            t_valid_from=row.valid_from or row.asserted_at or row.created_at,
            t_valid_to=row.valid_to,
            confidence=row.confidence,
            importance=row.importance,
            created_at=row.created_at,
            event_time=row.asserted_at,
        )
        for row in rows
    ]
    store.tombstones = [
        Tombstone(
            id=f"tombstone-{stone.digest[:32]}",
            op=TombstoneOp.REDACT,
            target_kind="fact",
            target_id=stone.digest,
            deleted_at=stone.created_at,
            actor="user",
        )
        for stone in tombstones
    ]
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        BundleExporter().export(store, folder)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder).as_posix())
    return out.getvalue()
