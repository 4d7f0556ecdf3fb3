"""Restoring references among restored rows (successors, contradictions, change sets), and what was forgotten."""

from typing import Any

from sqlalchemy import insert, update

from webapp.db.base import db
from webapp.journeys.models import PointMemory, ReportEvidence
from webapp.memories.models import Memory, MemoryChangeSet, version_of
from webapp.memories.rules.tombstones import TombstoneKind, key_id
from webapp.memories.store import forgetting
from webapp.memories.store.tombstones import import_keys, import_tombstones, keys_of
from webapp.transfer.restore.values import RestoreBatch, required_instant

MAX_KEYS = 50
_HEX = set("0123456789abcdef")


def memory_links(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the links between memories that replace or contradict each other."""
    for line in lines:
        memory_id = batch.new("memory", line.get("memory_id"))
        links: dict[str, Any] = {
            name: batch.new("memory", line[name])
            for name in ("superseded_by_id", "contradicts_id")
            if line.get(name) is not None
        }
        if line.get("settled_with"):
            links["settled_with"] = batch.new_ids("memory", line["settled_with"])
        if memory_id is not None and links:
            db.session.execute(update(Memory).where(Memory.memory_id == memory_id).values(**links))


def change_links(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the links of change sets to memories and to those they undo."""
    for line in lines:
        change_set_id = batch.new("change_set", line.get("change_set_id"))
        if change_set_id is None:
            continue
        rows = []
        for entry in line.get("changes") or ():
            memory_id = batch.new("memory", entry.get("memory_id"))
            if memory_id is None:
                continue
            revisions = {name: entry[name] if type(entry.get(name)) is int else None for name in ("before", "after")}
            evidence = batch.new_ids("evidence", entry.get("evidence"))
            rows.append({"memory_id": memory_id, **revisions, "evidence": evidence})
        db.session.execute(
            update(MemoryChangeSet)
            .where(MemoryChangeSet.change_set_id == change_set_id)
            .values(
                changes=rows,
                undoes_id=batch.new("change_set", line.get("undoes_id")),
                memory_version=version_of(batch.user_id),
            )
        )


def point_links(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the pairs of evidence that disagree but that the person said are both right."""
    for line in lines:
        point_memory_id = batch.new("point_memory", line.get("point_memory_id"))
        pairs = [batch.new_ids("point_evidence", pair) for pair in line.get("settled_conflicts") or ()]
        pairs = [pair for pair in pairs if len(pair) == 2]  # noqa: PLR2004  # both of them were restored
        if point_memory_id is not None and pairs:
            condition = PointMemory.point_memory_id == point_memory_id
            db.session.execute(update(PointMemory).where(condition).values(settled_conflicts=pairs))


def report_evidence(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the links of reports to the evidence they quote."""
    for line in lines:
        report_id = batch.new("report", line.get("report_id"))
        evidence = sorted({*batch.new_ids("point_evidence", line.get("evidence"))})
        if report_id is not None and evidence:
            rows = [{"report_id": report_id, "evidence_id": evidence_id} for evidence_id in evidence]
            db.session.execute(insert(ReportEvidence), rows)


def tombstone_keys(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the keys by which forgotten things are recognised."""
    keys = [bytes.fromhex(line["key"]) for line in lines if len(str(line.get("key"))) == 64 and _is_hex(line["key"])]
    own_keys = set(keys_of(batch.user_id))
    import_keys(batch.user_id, [key for key in keys[:MAX_KEYS] if key_id(key) not in own_keys])


def tombstones(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the tombstones whose key exists here; without its key a tombstone recognises nothing."""
    kinds = {kind.value for kind in TombstoneKind}
    rows = [
        {name: line[name] for name in ("digest", "kind", "key_id")}
        | {"created_at": required_instant(line.get("created_at"))}
        for line in lines
        if line.get("key_id") and line.get("kind") in kinds and _is_hex(line.get("digest"))
    ]
    import_tombstones(batch.user_id, rows)


def repeat_forgetting(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Forget again the restored memories that were forgotten since the export was made, with all that repeats them."""
    forgetting.repeat(batch.user_id, batch.new_ids("memory", (line.get("memory_id") for line in lines)))


def _is_hex(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= _HEX
