"""Imports a file that was previewed: part by part, in slices that a job can repeat.

Each part has a savepoint; a batch commits its parts, reports and position together.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlalchemy.exc import DBAPIError

from webapp.background import time_slices
from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Slice, Work
from webapp.db.base import db, now, write_transaction
from webapp.db.failures import database_is_away
from webapp.errors import DomainError
from webapp.i18n.marks import N_
from webapp.memories.store.forgetting import strip_again
from webapp.memories.store.outside_proposals import propose
from webapp.memories.store.tombstones import tombstone_set, watch
from webapp.spaces.service import is_member
from webapp.transfer import import_learning, storage
from webapp.transfer.archives import ImportRefused
from webapp.transfer.assets import ConversationFiles, store_files
from webapp.transfer.content import Omission, Part, ReadConversation, ReadMemory, ReadProject, Unreadable
from webapp.transfer.import_writer import WriteResult, space_of_project, write_conversation, write_project
from webapp.transfer.models import LEFT_OUT, Import, ImportItem
from webapp.transfer.readers import READERS
from webapp.transfer.readers.commonplace import Commonplace
from webapp.transfer.restore import job as restoring
from webapp.transfer.schemas import LearnFields
from webapp.transfer.sources import Upload

log = logging.getLogger(__name__)

GAINS = (" imported", " updated", " proposed", " restored")
"""The endings of the names of counts of something new."""
MAX_WEIGHT, WEIGHT_OF_FILE, LEAST_WEIGHT = 200, 50, 10
"""The most memories written together; a message takes as long, a file and anything else as long as so many."""


def run(import_id: int, *, seconds: float | None = None) -> str:
    """Continue an import for a slice; returns its status afterwards."""
    row = db.session.get(Import, import_id)
    key = "import", import_id, row.stored_as if row else None
    if row is None or row.status != "running":
        return row.status if row else "gone"
    stored, filename, name, position = row.stored_as or "", row.filename, row.format or "", row.position
    user_id, options = row.user_id, dict(row.options or {})
    db.session.rollback()

    def write() -> Work[str]:
        with Upload(storage.path_of(stored), filename) as upload:
            if options.get("restore"):
                return (yield from restoring.run(import_id, user_id, upload, position))
            return (yield from _write_parts(import_id, user_id, upload, name, position, options))

    try:
        status = time_slices.advance(key, write, Slice(seconds), stored=position)
    except (OSError, ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ImportRefused) else N_("The file is damaged, or not there any more.")
        return _end(import_id, "failed", why)
    if status is None:
        return queue_next_slice(import_id, "import")
    return _end(import_id, "done") if status == "done" else status


def _write_parts(
    import_id: int, user_id: int, upload: Upload, name: str, position: int, options: dict[str, Any]
) -> Work[str]:
    """Write the parts of a file from a position on, which it yields after each batch; returns the status at the end."""
    reader = READERS[name]
    parts = islice(reader.read(upload), position, None)
    while batch := _batch(parts):
        wanted = _wanted_conversations(batch, options)
        files = {
            number: store_files(import_id, user_id, upload, part)
            for number, part in wanted.items()
            if any(message.files for message in part.messages)
        }
        status = None
        while status is None:
            still_holds = _mark_forgotten(user_id, wanted.values())
            status = _import_batch(import_id, position, batch, files, still_holds)
        if status != "running":
            return "stopped"
        position += len(batch)
        yield position
    if isinstance(reader, Commonplace):
        _strip_forgotten(user_id, reader.wordings(upload))
    return "done"


def _mark_forgotten(user_id: int, conversations: Iterable[ReadConversation]) -> Callable[[], bool]:
    """Mark the quotes that the user has forgotten, before the transaction, since it takes long; return what tells then
    whether these are all."""
    still_holds, tombstones = watch(user_id), tombstone_set(user_id)
    db.session.rollback()
    for part in conversations:
        for message in part.messages:
            if message.role == "user":
                message.spans = tombstones.add_quotes(message.content, message.spans)
    return still_holds


def _strip_forgotten(user_id: int, wordings: Iterable[str]) -> None:
    """Remove from what came in whatever repeats a statement or a quote that the user has forgotten."""
    tombstones = tombstone_set(user_id)
    db.session.rollback()  # no connection is held while a large file is read
    if forgotten := {text for text in wordings if tombstones.forbids(text, quote=text)}:
        with write_transaction():
            strip_again(user_id, forgotten)


def _batch(parts: Iterator[Part]) -> list[Part]:
    """Return the next parts that are written together."""
    batch, weight = list[Part](), 0
    while weight < MAX_WEIGHT and (part := next(parts, None)) is not None:
        batch.append(part)
        weight += _weight(part)
    return batch


def _weight(part: Part) -> int:
    messages = part.messages if isinstance(part, ReadConversation) else ()
    least = 1 if isinstance(part, ReadMemory) else LEAST_WEIGHT
    return max(least, sum(1 + WEIGHT_OF_FILE * len(message.files) for message in messages))


def queue_next_slice(import_id: int, job: str) -> str:
    """Queue the rest as another job, behind what others wait for; return the import's status."""
    with write_transaction():
        row = db.session.get(Import, import_id, with_for_update=True)
        if row is None:
            return "gone"
        row.updated_at = now()
        enqueue_after_commit(job, import_id=import_id)
        return row.status


def _wanted_conversations(batch: list[Part], options: dict[str, Any]) -> dict[int, ReadConversation]:
    """Return the conversations to be imported, by position in the batch."""
    return {
        number: part
        for number, part in enumerate(batch)
        if isinstance(part, ReadConversation) and _is_chosen(part, options) and part.is_within(options.get("between"))
    }


def _is_chosen(part: Part, options: dict[str, Any]) -> bool:
    return isinstance(part, Unreadable) or part.plural in options.get("take", [part.plural])


def _import_batch(
    import_id: int,
    position: int,
    batch: list[Part],
    files: dict[int, ConversationFiles],
    still_holds: Callable[[], bool],
) -> str | None:
    """Write a batch, its reports and the new position; return the import's status, `moved` if another job did, or None
    if something was forgotten since its words were marked."""
    with write_transaction():
        row = db.session.get(Import, import_id, with_for_update=True)
        if row is None or row.status != "running":
            return row.status if row else "gone"
        if row.position != position:
            return "moved"
        counts = Counter(row.counts)
        options = dict(row.options or {})
        if options.get("space_id") and not is_member(row.user_id, options["space_id"], lock=True):
            options["space_id"] = None  # what they had there is theirs alone, and so is what comes
        memories: list[tuple[ReadMemory, int | None]] = []
        for number, part in enumerate(batch):
            if not _is_chosen(part, options):
                continue
            if isinstance(part, ReadMemory):
                memories.append((part, _place(row, part, options)))
                continue
            result = _write_part(row, part, options, files.get(number, ConversationFiles()))
            counts[f"{part.plural} {result.outcome}"] += 1
            counts["messages"] += result.messages
            left_out = _omissions(part, result, files.get(number))
            counts.update({kind + LEFT_OUT: count for kind, count in left_out.items()})
            db.session.add(_item(row, part, result, left_out))
        _propose(row, memories, counts)
        if not still_holds():
            db.session.rollback()
            return None
        row.position += len(batch)
        row.counts = {name: count for name, count in counts.items() if count}
        row.updated_at = now()
        return row.status


def _write_part(row: Import, part: Part, options: dict[str, Any], files: ConversationFiles) -> WriteResult:
    if isinstance(part, Unreadable):
        return WriteResult("skipped", part.reason)
    if isinstance(part, ReadConversation) and not part.is_within(options.get("between")):
        return WriteResult("skipped", "It is outside the dates you chose.")
    try:
        with db.session.begin_nested():
            if isinstance(part, ReadProject):
                return write_project(row.user_id, row.format or "", part)
            assert isinstance(part, ReadConversation)
            space_id = options.get("space_id")
            result = write_conversation(
                row.user_id, row.format or "", row.import_id, part, space_id=space_id, files=files.by_message
            )
            return replace(result, reason=result.reason or files.reason)
    except DomainError as error:
        return WriteResult("skipped", error.detail[:255])
    except DBAPIError as error:
        if database_is_away(error):
            raise
        log.warning("part of an import not written", exc_info=True)
        return WriteResult("skipped", "It holds something that cannot be stored.")
    except ValueError:  # which includes pydantic's errors
        return WriteResult("skipped", "It holds something that cannot be stored.")


def _place(row: Import, part: ReadMemory, options: dict[str, Any]) -> int | None:
    """Return the space for a memory: the one that was chosen, or that of its project."""
    if options.get("space_id"):
        return int(options["space_id"])
    return space_of_project(row.user_id, row.format or "", part.project) if part.project else None


def _propose(row: Import, memories: Iterable[tuple[ReadMemory, int | None]], counts: Counter[str]) -> None:
    by_place: dict[int | None, list[ReadMemory]] = {}
    for memory, space_id in memories:
        by_place.setdefault(space_id, []).append(memory)
    for space_id, statements in by_place.items():
        report = propose(row.user_id, statements, cause="import", space_id=space_id)
        if report.forgotten:
            strip_again(row.user_id, report.forgotten)
        if report.change_set_id:
            row.change_set_ids = [*row.change_set_ids, report.change_set_id]
        for outcome, count in report.counts.items():
            counts[f"memories {outcome}"] += count


def _omissions(part: Part, result: WriteResult, files: ConversationFiles | None) -> dict[str, int]:
    """Return what of a conversation was not taken in, by kind."""
    if not isinstance(part, ReadConversation) or result.outcome not in ("imported", "updated"):
        return {}
    return dict(+(part.left_out + Counter({Omission.REFUSED_FILES: len(files.left_out) if files else 0})))


def _item(row: Import, part: Part, result: WriteResult, left_out: dict[str, int]) -> ImportItem:
    # An imported conversation is shown by its own title, which forgetting reaches; no copy is kept here.
    title = "" if result.target_id and isinstance(part, ReadConversation) else _name(part)
    return ImportItem(
        import_id=row.import_id,
        kind=part.item_kind,
        title=title[:255] or None,
        outcome=result.outcome,
        reason=result.reason or None,
        target_id=result.target_id,
        message_count=result.messages,
        left_out=left_out or None,
    )


def _name(part: Part) -> str:
    field = {ReadConversation: "title", ReadProject: "name", Unreadable: "place"}[type(part)]
    return str(getattr(part, field) or "Untitled")


def _end(import_id: int, status: str, error: str | None = None) -> str:
    with write_transaction():
        row = db.session.get(Import, import_id, with_for_update=True)
        if row is None or row.status != "running":
            return row.status if row else "gone"
        row.status, row.error, row.updated_at = status, error, now()
        row.preview = {**(row.preview or {}), "sample": []}  # its texts are now where they were imported to
        if status == "done" and not any(count for name, count in row.counts.items() if name.endswith(GAINS)):
            row.error = row.error or "Nothing new was in this file; the list says why."
        storage.drop_file_of(row)
        options = (row.options or {}).get("learn")
        if status == "done" and options and not (row.options or {}).get("restore"):
            _learn(row, options)
        return row.status


def _learn(row: Import, options: Any) -> None:
    """Start learning as requested when the import was started; if that is not possible, the import is done anyway."""
    try:
        with db.session.begin_nested():
            import_learning.begin(
                row.user_id,
                row.import_id,
                LearnFields.model_validate(options if options is not True else {}),
            )
    except DomainError:
        log.info("nothing learned from an import", exc_info=True)
