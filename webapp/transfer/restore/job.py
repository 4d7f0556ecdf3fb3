"""A restore from the first line to the last: counted beforehand, and written in slices that a job can repeat."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Work
from webapp.conversations.models import Conversation
from webapp.db.base import db, now, write_transaction
from webapp.db.failures import database_is_away
from webapp.errors import DomainError
from webapp.files.uploads import store_upload
from webapp.memories.models import Memory
from webapp.memories.store import versions
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.spaces.originals import Original
from webapp.transfer.archives import ImportRefused
from webapp.transfer.field_values import instant
from webapp.transfer.json_text import object_in
from webapp.transfer.models import Import, ImportItem
from webapp.transfer.restore.containers import keep_originals, originals_in
from webapp.transfer.restore.steps import STEPS, Step
from webapp.transfer.restore.values import RestoreBatch
from webapp.transfer.sources import Upload

log = logging.getLogger(__name__)


def write(batch: RestoreBatch, step: Step, lines: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """Write some lines of a step; returns how many were restored, and why others were not."""
    if step.is_memory:
        versions.begin_change(batch.user_id)
        changes.note(batch.user_id, Change("memories"))
    batch.look_up(lines)
    written_count, reason = _write_all(batch, step, lines)
    if not reason:
        return written_count, []
    if len(lines) == 1:
        return 0, [reason]
    count, reasons = 0, []
    for line in lines:
        written_count, reason = _write_all(batch, step, [line])
        count += written_count
        reasons += [reason] if reason else []
    return count, reasons


def _write_all(batch: RestoreBatch, step: Step, lines: list[dict[str, Any]]) -> tuple[int, str]:
    snapshot = batch.snapshot()
    try:
        with db.session.begin_nested():
            count = step.write(batch, lines)
            db.session.flush()
        return len(lines) if count is None else count, ""
    except DBAPIError as error:
        if database_is_away(error):
            raise
        log.warning("part of a restore not written", exc_info=True)
        reason = "It does not go together with something that is there."
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:  # whatever a file may hold
        log.info("part of a restore not readable", exc_info=True)
        why = str(error) if type(error) is ValueError else "it is not as Commonplace writes it"
        reason = why[:1].upper() + why[1:] + "."
    batch.back_to(snapshot)
    return 0, reason


LINES = 200
BYTES = 2 * 1024**2
"""The most bytes of lines that are written together; a longer line is written alone."""
OLDEST_VERSION = 2
"""The oldest version of an export that can be restored."""


def is_possible(user_id: int) -> bool:
    """Return whether an account is empty enough to receive another one unchanged, and no import is running."""
    restored = select(Conversation.conversation_id).where(
        Conversation.user_id == user_id, Conversation.deleted_at.is_(None), Conversation.is_temporary.is_(False)
    )
    statement = select(Memory.memory_id).where(Memory.user_id == user_id)
    running = select(Import.import_id).where(Import.user_id == user_id, Import.status == "running")
    return all(db.session.scalar(query.limit(1)) is None for query in (restored, statement, running))


def counts(upload: Upload) -> Work[dict[str, Any] | None]:
    """Return what a whole export contains, for its preview; None if it cannot be restored."""
    manifest = upload.first_item("manifest.json")
    version = manifest.get("version") if isinstance(manifest, dict) else None
    if not isinstance(version, int) or version < OLDEST_VERSION:
        return None
    lines: Counter[str] = Counter()
    for file in dict.fromkeys(step.file for step in STEPS):
        for _ in _lines(upload, file):
            lines[file] += 1
            yield None
    account = manifest.get("account") if isinstance(manifest.get("account"), dict) else {}
    return {
        "total": sum(lines[step.file] for step in STEPS),
        "counts": {step.counted: lines[step.file] for step in STEPS if step.counted and lines[step.file]},
        "made_at": str(manifest.get("made_at") or "")[:40],
        "name": str((account or {}).get("name") or "")[:200],
    }


def run(import_id: int, user_id: int, upload: Upload, position: int) -> Work[str]:
    """Restore from a position on, yielded after each committed batch; return `done`, or why it was stopped."""
    for step, batch in _batches(upload, position):
        if step.file == "files.jsonl":
            _bring_files(import_id, user_id, upload, batch)
        originals = originals_in(upload, filter(None, map(object_in, batch))) if step.file == "spaces.jsonl" else {}
        status = _write(import_id, upload, step, position, batch, originals)
        if status != "running":
            return status
        position += len(batch)
        yield position
    with write_transaction():
        enqueue_after_commit("index", user_id=user_id)
    return "done"


def _write(
    import_id: int, upload: Upload, step: Step, position: int, batch: list[bytes], originals: Mapping[int, Original]
) -> str:
    with write_transaction():
        row = db.session.get(Import, import_id, with_for_update=True)
        if row is None or row.status != "running":
            return row.status if row else "gone"
        if row.position != position:
            return "moved"  # another job has written it
        counts: Counter[str] = Counter(row.counts)
        lines = list(filter(None, map(object_in, batch)))
        written_count, reasons = write(RestoreBatch(import_id, row.user_id, upload, originals), step, lines)
        if step.counted and step.file != "files.jsonl":
            counts[f"{step.counted} restored"] += written_count
        reasons += ["The line cannot be read."] * (len(batch) - len(lines))
        for reason in reasons:
            _report(import_id, step.counted or step.file, reason)
        counts["problems skipped"] += len(reasons)
        row.counts = {name: count for name, count in counts.items() if count}
        row.position += len(batch)
        row.updated_at = now()
        keep_originals(upload, originals)
        return row.status


def _bring_files(import_id: int, user_id: int, upload: Upload, batch: list[bytes]) -> None:
    """Take in files like uploads, within the same limits, each in a transaction of its own."""
    for line in map(object_in, batch):
        if not line or RestoreBatch(import_id, user_id, upload).new("file", line.get("file_id")) is not None:
            continue
        reason = "Its bytes are not in the file."
        name = f"files/{line.get('digest')}"
        if name in upload.names:
            try:
                data = BytesIO(upload.read(name))
                with write_transaction():
                    row = store_upload(user_id, str(line.get("name") or "file"), data)
                    row.created_at = instant(line.get("created_at")) or row.created_at
                    RestoreBatch(import_id, user_id, upload).note("file", [(line.get("file_id"), row.file_id)])
                    record = db.session.get(Import, import_id, with_for_update=True)
                    if record is not None:
                        count = record.counts.get("files restored", 0) + 1
                        record.counts, record.updated_at = {**record.counts, "files restored": count}, now()
                continue
            except DomainError as error:
                reason = error.detail or "It is none that can be attached."
            except ImportRefused as error:
                reason = str(error)
        with write_transaction():
            _report(import_id, str(line.get("name") or "files"), reason)


def _report(import_id: int, place: str, reason: str) -> None:
    db.session.add(
        ImportItem(import_id=import_id, kind="problem", title=place[:255], outcome="skipped", reason=reason[:255])
    )


def _batches(upload: Upload, position: int) -> Iterator[tuple[Step, list[bytes]]]:
    """Yield the lines of all steps in order, from a position on, in batches that belong to one step."""
    for step in STEPS:
        rows = _lines(upload, step.file)
        skipped = sum(1 for _ in islice(rows, position)) if position else 0
        position -= skipped
        batch: list[bytes] = []
        size = 0
        for line in rows:
            if batch and (len(batch) >= LINES or size + len(line) > BYTES):
                yield step, batch
                batch, size = [], 0
            batch.append(line)
            size += len(line)
        if batch:
            yield step, batch


def _lines(upload: Upload, name: str) -> Iterator[bytes]:
    """Yield the lines of a member as they are; of the manifest only the account, as one line."""
    if name != "manifest.json":
        yield from upload.lines(name)
    elif name in upload.names:
        manifest = upload.first_item(name)
        yield json.dumps(manifest.get("account") if isinstance(manifest, dict) else None).encode()
