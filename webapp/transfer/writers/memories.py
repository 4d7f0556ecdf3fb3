"""Memories as text to paste elsewhere, as JSON, and as a `.mem` bundle."""

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
        """Return the name of a kind, with a capital letter."""
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
    return "".join(f"[{(memory.said_at or memory.created_at):%Y-%m-%d}] - {memory.content}\n" for memory in memories)


def as_markdown(memories: Sequence[WrittenMemory], wording: MemoryWording) -> str:
    """Return memories by kind, each with the words it rests on."""
    parts = [f"# {wording.title}\n"]
    for kind in sorted({memory.kind for memory in memories}):
        parts.append(f"\n## {wording.heading(kind)}\n")
        for memory in memories:
            if memory.kind == kind:
                ended = memory.valid_to or memory.until
                end = wording.until.replace("{when}", f"{ended:%Y-%m-%d}") if ended else ""
                parts.append(f"- {memory.content}" + (f" ({end})" if end else ""))
                parts += [f"  > {' '.join(quote.split())}" for quote in memory.quotes]
    return "\n".join(parts) + "\n"


def as_json(memories: Sequence[WrittenMemory]) -> str:
    """All fields of every memory."""
    rows: list[dict[str, Any]] = [
        {
            "memory_id": memory.memory_id,
            "memory_type": memory.kind,
            "content": memory.content,
            "confidence": memory.confidence,
            "importance": memory.importance,
            "created_at": utc_text(memory.created_at),
            "said_at": utc_text(memory.said_at) if memory.said_at else None,
            "valid_from": utc_text(memory.valid_from) if memory.valid_from else None,
            "valid_to": utc_text(memory.valid_to) if memory.valid_to else None,
            "until": memory.until.isoformat() if memory.until else None,
            "quotes": list(memory.quotes),
        }
        for memory in memories
    ]
    return json.dumps({"memories": rows}, ensure_ascii=False, indent=2)


def as_bundle(memories: Sequence[WrittenMemory], tombstones: Sequence[tuple[str, datetime]]) -> bytes:
    """Return a zipped `.mem` bundle; its tombstones contain keyed hashes and no text."""
    store = _Store(
        [
            PortableFact(
                id=f"memory-{memory.memory_id}",
                episode_id="",
                subject="user",
                predicate=memory.kind,
                obj=memory.content,
                text=memory.content,
                t_valid_from=memory.valid_from or memory.said_at or memory.created_at,
                t_valid_to=memory.valid_to,
                confidence=memory.confidence,
                importance=memory.importance,
                created_at=memory.created_at,
                event_time=memory.said_at,
            )
            for memory in memories
        ],
        [
            Tombstone(
                id=f"tombstone-{digest[:32]}",
                op=TombstoneOp.REDACT,
                target_kind="fact",
                target_id=digest,
                deleted_at=moment,
                actor="user",
            )
            for digest, moment in tombstones
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
