"""Undoing an import: a small one at once, a large one by a job, in transactions that a killed job can repeat."""

from collections.abc import Iterator, Sequence

from sqlalchemy import delete, select, update

from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Slice
from webapp.conversations.current_messages import current
from webapp.conversations.models import Conversation, Message
from webapp.conversations.signals import conversation_shown, messages_changed
from webapp.db.base import count_rows, db, now, write_transaction
from webapp.errors import Conflict, NotFound
from webapp.memories.history import change_sets
from webapp.memories.models import MemoryChangeSet
from webapp.transfer import assets
from webapp.transfer.models import Import, ImportedMessage, RestoredRow
from webapp.transfer.restore import undo as restore_undoing

LARGE = 200
"""An import with at least this many parts is undone by a job."""
BATCH = 20

Step = tuple[int, int]
"""How many parts a step looked at, and how many of them stay."""


def begin(row: Import) -> Import:
    """Undo an import, or have a job do it if it is large. The caller holds the row, and commits."""
    if row.learn_status in ("running", "paused"):
        row.learn_status = "stopped"
    size = _size(row)
    if size <= LARGE:
        return _end(row, sum(rest for _, rest in _steps(row)))
    row.undo_status, row.updated_at = "running", now()
    row.options = {**(row.options or {}), "undone": {"parts": 0, "of": size}}
    db.session.flush()
    enqueue_after_commit("undo_import", import_id=row.import_id)
    return row


def run(import_id: int, *, seconds: float | None = None) -> str:
    """Continue undoing an import for a while; returns its stage afterwards. Every step commits with the progress."""
    turn = Slice(seconds)
    row = db.session.get(Import, import_id)
    if row is None or row.undo_status != "running":
        return row.stage if row else "gone"
    steps = _steps(row)
    progress = (row.options or {}).get("undone") or {}
    parts, total, rest = progress.get("parts", 0), progress.get("of", 0), 0
    db.session.rollback()
    while True:
        with write_transaction():
            row = db.session.get(Import, import_id, with_for_update=True)
            if row is None or row.undo_status != "running":
                return row.stage if row else "gone"
            step = next(steps, None)
            if step is None:
                return _end(row, rest).stage
            parts, rest = parts + step[0], rest + step[1]
            progress = {"parts": min(total, max(progress.get("parts", 0), parts)), "of": total}
            row.options = {**(row.options or {}), "undone": progress}
            row.updated_at = now()
            is_late = step[0] > 0 and not turn.has_time()  # steps without counted parts are short
            if is_late:
                enqueue_after_commit("undo_import", import_id=import_id)
        if is_late:
            return "undoing"


def _size(row: Import) -> int:
    if (row.options or {}).get("restore"):
        is_part = RestoredRow.kind.in_(("conversation", "memory", "file"))
        return count_rows(RestoredRow.import_id == row.import_id, is_part)
    return len(_conversations_of(row.import_id)) + len(row.change_set_ids)


def _steps(row: Import) -> Iterator[Step]:
    """Yield the steps of undoing an import; each runs in the current transaction, or in one of its own."""
    if (row.options or {}).get("restore"):
        before = (row.options or {}).get("before")
        return restore_undoing.steps(row.user_id, row.import_id, row.created_at, before)
    return _of_import(row.user_id, row.import_id, list(row.change_set_ids))


def _of_import(user_id: int, import_id: int, sets: Sequence[int]) -> Iterator[Step]:
    ids = _conversations_of(import_id)
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        yield len(batch), sum(_undo_conversation(user_id, conversation_id, import_id) for conversation_id in batch)
    for change_set_id in reversed(sets):
        yield 1, _undo_set(user_id, change_set_id)
    assets.delete_unused_files(user_id, import_id)
    yield 0, 0


def _conversations_of(import_id: int) -> list[int]:
    return sorted(
        db.session.scalars(
            select(ImportedMessage.conversation_id).where(ImportedMessage.import_id == import_id).distinct()
        )
    )


def _undo_set(user_id: int, change_set_id: int) -> int:
    """Undo a change set of proposals; returns 1 if some were changed since, and stay."""
    statement = select(MemoryChangeSet.undone_at).where(MemoryChangeSet.change_set_id == change_set_id)
    if db.session.scalar(statement) is not None:  # by a job that was killed after it, or by the person
        return 0
    try:
        with db.session.begin_nested():
            change_sets.undo(user_id, change_set_id)
    except (Conflict, NotFound):
        return 1
    return 0


def _end(row: Import, rest: int) -> Import:
    row.status, row.undo_status, row.updated_at = "undone", None, now()
    row.options = {**(row.options or {}), "kept": rest}  # pages say it in their reader's language
    parts = "1 part was" if rest == 1 else f"{rest} parts were"
    row.error = f"{parts} changed since, and stayed." if rest else None
    db.session.flush()
    return row


def _undo_conversation(user_id: int, conversation_id: int, import_id: int) -> int:
    """Remove what an import added to one conversation; returns 1 if it was continued here and stays."""
    conversation = db.session.scalar(
        select(Conversation)
        .where(Conversation.conversation_id == conversation_id, Conversation.user_id == user_id)
        .with_for_update()
    )
    if conversation is None:
        return 0
    rows = db.session.execute(
        select(Message.message_id, ImportedMessage.import_id)
        .outerjoin(ImportedMessage, ImportedMessage.message_id == Message.message_id)
        .where(Message.conversation_id == conversation_id)
        .order_by(Message.message_id)
    ).all()
    message_ids = [message_id for message_id, owner in rows if owner == import_id]
    if any(owner is None for _, owner in rows) or not message_ids:
        return 1
    if len(message_ids) == len(rows):
        conversation_shown.send(None, conversation=conversation)
        db.session.execute(delete(Conversation).where(Conversation.conversation_id == conversation_id))
        return 0
    db.session.execute(update(Message).where(Message.superseded_by_id.in_(message_ids)).values(superseded_by_id=None))
    db.session.execute(delete(Message).where(Message.message_id.in_(message_ids)))
    statement = select(Message.message_id, Message.created_at).where(current(conversation_id))
    left = db.session.execute(statement.order_by(Message.message_id)).all()
    conversation.message_count = len(left)
    if left:
        conversation.updated_at = left[-1].created_at
    messages_changed.send(None, conversation=conversation, first_id=min(message_ids))
    db.session.flush()
    return 0
