"""Memories as text to paste elsewhere, as JSON, and as a `.mem` bundle."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from portable_memory import BundleExporter, PortableFact, PortableMemoryStore, StoreInfo, Tombstone, TombstoneOp

from webapp.http.validation import utc_text


@dataclass(frozen=True)
class WrittenMemory:
    """One memory to export."""

    memory_id: int
    kind: str
    content: str
    confidence: float
    importance: float
    created_at: datetime
    said_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    until: date | None = None
    quotes: Sequence[str] = ()


@dataclass(frozen=True)
class MemoryWording:
    """The texts around memories: a title, the names of kinds, and the phrase for when one ended (`{when}`)."""

    title: str
    kinds: Mapping[str, str]
    until: str

    def heading(self, kind: str) -> str:
        """The name of a kind, with a capital letter."""
        name = self.kinds.get(kind, kind)
        return name[:1].upper() + name[1:]


class _Store(PortableMemoryStore):  # type: ignore[misc]  # the package says nothing about its types
    """The contents of a bundle."""

    def __init__(self, facts: list[PortableFact], tombstones: list[Tombstone]) -> None:
        self._facts, self._tombstones = facts, tombstones

    def store_info(self) -> StoreInfo:
        return StoreInfo(generator="commonplace/1")

    def export_facts(self) -> list[PortableFact]:
        return self._facts

    def export_tombstones(self, since: datetime | None) -> list[Tombstone]:
        return self._tombstones


def as_text(memories: Sequence[WrittenMemory]) -> str:
    """One memory per line, with its date in front: what other assistants ask people to paste."""
    return "".join(f"[{(kept.said_at or kept.created_at):%Y-%m-%d}] - {kept.content}\n" for kept in memories)


def as_markdown(memories: Sequence[WrittenMemory], wording: MemoryWording) -> str:
    """Memories by kind, each with the words it rests on."""
    parts = [f"# {wording.title}\n"]
    for kind in sorted({kept.kind for kept in memories}):
        parts.append(f"\n## {wording.heading(kind)}\n")
        for kept in memories:
            if kept.kind == kind:
                ended = kept.valid_to or kept.until
                end = wording.until.replace("{when}", f"{ended:%Y-%m-%d}") if ended else ""
                parts.append(f"- {kept.content}" + (f" ({end})" if end else ""))
                parts += [f"  > {' '.join(quote.split())}" for quote in kept.quotes]
    return "\n".join(parts) + "\n"


def as_json(memories: Sequence[WrittenMemory]) -> str:
    """All fields of every memory."""
    rows: list[dict[str, Any]] = [
        {
            "memory_id": kept.memory_id,
            "memory_type": kept.kind,
            "content": kept.content,
            "confidence": kept.confidence,
            "importance": kept.importance,
            "created_at": utc_text(kept.created_at),
            "said_at": utc_text(kept.said_at) if kept.said_at else None,
            "valid_from": utc_text(kept.valid_from) if kept.valid_from else None,
            "valid_to": utc_text(kept.valid_to) if kept.valid_to else None,
            "until": kept.until.isoformat() if kept.until else None,
            "quotes": list(kept.quotes),
        }
        for kept in memories
    ]
    return json.dumps({"memories": rows}, ensure_ascii=False, indent=2)


def as_bundle(memories: Sequence[WrittenMemory], tombstones: Sequence[tuple[str, datetime]]) -> bytes:
    """A zipped `.mem` bundle; its tombstones contain keyed hashes and no text."""
    store = _Store(
        [
            PortableFact(
                id=f"memory-{kept.memory_id}",
                episode_id="",
                subject="user",
                predicate=kept.kind,
                obj=kept.content,
                text=kept.content,
                t_valid_from=kept.valid_from or kept.said_at or kept.created_at,
                t_valid_to=kept.valid_to,
                confidence=kept.confidence,
                importance=kept.importance,
                created_at=kept.created_at,
                event_time=kept.said_at,
            )
            for kept in memories
        ],
        [
            Tombstone(
                id=f"tombstone-{digest[:32]}",
                op=TombstoneOp.REDACT,
                target_kind="fact",
                target_id=digest,
                deleted_at=at,
                actor="user",
            )
            for digest, at in tombstones
        ],
    )
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        BundleExporter().export(store, folder)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder).as_posix())
    return out.getvalue()
