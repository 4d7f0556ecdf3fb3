"""Looking at an uploaded file before anything of it is imported: what it is, and what it contains."""

import logging
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from webapp.background import time_slices
from webapp.background.time_slices import Slice, Work
from webapp.db.base import db, now, write_transaction
from webapp.http.validation import utc_text
from webapp.memories.store.copies import FORGOTTEN_MARK
from webapp.memories.store.tombstones import tombstone_set
from webapp.transfer import storage
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import Part, ReadConversation, Unreadable
from webapp.transfer.import_jobs import queue_next_slice
from webapp.transfer.models import Import
from webapp.transfer.readers import recognise
from webapp.transfer.restore import job as restoring
from webapp.transfer.sources import Upload

log = logging.getLogger(__name__)

SAMPLE = 5


def inspect_upload(import_id: int, *, seconds: float | None = None) -> str:
    """Examine an uploaded file for a slice (counts, dates, a sample); return the import's status."""
    row = db.session.get(Import, import_id)
    key = "look_at_import", import_id, row.stored_as if row else None
    if row is None or row.status != "reading":
        return row.status if row else "gone"
    result: dict[str, Any] = {}
    error, name = None, row.format
    examine = partial(_file_preview, row.stored_as or "", row.filename, row.format)
    db.session.rollback()  # no connection is held while a large file is read
    try:
        seen = time_slices.advance(key, examine, Slice(seconds))
        if seen is None:
            return queue_next_slice(import_id, "look_at_import")
        name, result = seen
        if not result["total"] and not result.get("restore", {}).get("counts"):
            error = "There is nothing in this file that could be imported."
    except ImportRefused as refusal:
        error = str(refusal)
    except (OSError, ValueError, RecursionError):  # the last is what json raises if something is nested too deeply
        log.info("import not readable", exc_info=True)
        error = "The file is damaged, or was not uploaded whole."
    with write_transaction():
        row = db.session.get(Import, import_id, with_for_update=True)
        if row is None or row.status != "reading":
            return row.status if row else "gone"
        tombstones = tombstone_set(row.user_id)
        for item in result.get("sample", ()):
            item["text"] = tombstones.without_forgotten(item["text"], FORGOTTEN_MARK)
        row.format, row.preview, row.error = name, result or None, error
        row.status = "failed" if error else "ready"
        row.updated_at = now()
        if error:
            storage.drop_file_of(row)
        return row.status


def _file_preview(stored: str, filename: str, reader_name: str | None) -> Work[tuple[str, dict[str, Any]]]:
    """Read a file; returns the name of its format and its preview."""
    with Upload(storage.path_of(stored), filename) as upload:
        reader = recognise(upload, reader_name)
        yield None
        preview = yield from _preview(reader.read(upload))
        if reader.name == "commonplace" and (counts := (yield from restoring.counts(upload))):
            preview["restore"] = counts
        return reader.name, preview


def _preview(parts: Iterable[Part]) -> Work[dict[str, Any]]:
    """Return what an export contains: counts, dates, and the first few titles, memories and problems."""
    counts: Counter[str] = Counter()
    sample: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    period: list[datetime] = []
    total = 0
    for part in parts:
        yield None
        total += 1
        counts[part.plural] += 1
        if isinstance(part, ReadConversation):
            counts["messages"] += len(part.messages)
            moments = (*period, part.created_at, part.updated_at, *(message.at for message in part.messages[:1]))
            known = [moment for moment in moments if moment]
            period = [min(known), max(known)] if known else []
        if isinstance(part, Unreadable):
            if counts["problems"] <= SAMPLE:
                problems.append({"kind": part.item_kind, "text": part.place, "reason": part.reason})
        elif len(sample) < SAMPLE:
            text = getattr(part, "title", None) or getattr(part, "name", None) or getattr(part, "content", None)
            if isinstance(part, ReadConversation) and not text and part.messages:
                text = part.messages[0].content
            sample.append({"kind": part.item_kind, "text": (text or "Untitled")[:120]})
    dates = dict(zip(("from", "to"), map(utc_text, period) if period else (None, None), strict=True))
    return {"total": total, "counts": dict(counts), "dates": dates, "sample": sample + problems}
