"""Passages considered for a reply, and the user's verdicts on them."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import delete, insert, select

from webapp.conversations import messages
from webapp.conversations.models import Message
from webapp.db.base import db, now, table_of
from webapp.errors import Invalid, NotFound
from webapp.memories import service
from webapp.memories.models import Memory, MemoryRevision
from webapp.memories.schemas import MemoryChanges
from webapp.memories.store import forgetting
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.retrieval.fusion import terms_of
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.lookup import scope_of
from webapp.retrieval.models import PassageVerdict, TurnReceipt
from webapp.retrieval.passages import FoundPassage, Key, ReceiptItem
from webapp.retrieval.schemas import ReceiptLine, Verdict, VerdictDone

MAX_TERMS = 64
FOUND = "retrieved"
"""The part of the context that holds what was found for the question."""
FOUND_BY = ("words", "words nearby", "meaning", "words and meaning", "words nearby and meaning")
"""The reasons of what was found, also of what is in another part of the context because every reply sees it."""
COPY_BATCH = 40
_COPIED_COLUMNS = ("kind", "revision", "stage", "rank", "injected", "from_char", "to_char")


def store(message_id: int, items: Iterable[ReceiptItem]) -> None:
    """Store a reply's receipt in this transaction; what was found and in the prompt anyway has one line."""
    items = list(items)
    shown_keys = {(item.kind, item.id) for item in items if item.injected}
    reasons = {(item.kind, item.id): item.reason for item in items if item.stage == FOUND}
    rows = [
        {
            **{name: getattr(item, name) for name in _COPIED_COLUMNS},
            "message_id": message_id,
            "passage_id": item.id,
            "score": float(item.score),
            "reason": reasons.get((item.kind, item.id), item.reason)[:200],
        }
        for item in items
        if item.injected or (item.kind, item.id) not in shown_keys
    ]
    if rows:
        # Into the table: given the class, the rows without a revision would need a separate statement.
        db.session.execute(insert(table_of(TurnReceipt)), rows)


def copy(replies: Mapping[int, int]) -> None:
    """Give replies that are copies the receipts of their originals, by whose ids they are."""
    columns = [column for column in table_of(TurnReceipt).columns if column.name != "receipt_id"]
    originals = sorted(replies)
    for start in range(0, len(originals), COPY_BATCH):
        condition = TurnReceipt.message_id.in_(originals[start : start + COPY_BATCH])
        rows = db.session.execute(select(*columns).where(condition).order_by(TurnReceipt.receipt_id)).mappings().all()
        if rows:
            copied = [{**row, "message_id": replies[row["message_id"]]} for row in rows]
            db.session.execute(insert(table_of(TurnReceipt)), copied)


def receipt_of(user_id: int, message_id: int) -> list[ReceiptLine]:
    """Return the receipt of a reply, in the order of the prompt. Raises NotFound if the reply is not the user's."""
    message = messages.get_message(user_id, message_id)
    rows = db.session.scalars(
        select(TurnReceipt).where(TurnReceipt.message_id == message.message_id).order_by(TurnReceipt.receipt_id)
    ).all()
    passages = load_passages({(row.kind, row.passage_id) for row in rows}, scope_of(user_id))
    remembered = _texts_at_revision(user_id, rows)
    verdicts = {
        tuple(key): verdict
        for *key, verdict in db.session.execute(
            select(PassageVerdict.kind, PassageVerdict.passage_id, PassageVerdict.verdict).where(
                PassageVerdict.message_id == message.message_id
            )
        )
    }
    return _merge_excerpts([_line(row, passages, remembered, verdicts.get((row.kind, row.passage_id))) for row in rows])


def _merge_excerpts(lines: Iterable[ReceiptLine]) -> list[ReceiptLine]:
    """Return lines with the excerpts of one passage merged, in the order of the first."""
    by_key: dict[tuple[str, int, str, bool], ReceiptLine] = {}
    for line in lines:
        key = (line.kind, line.id, line.stage, line.injected)
        before = by_key.setdefault(key, line)
        if before is not line and before.content and line.content and line.content not in before.content:
            by_key[key] = before.model_copy(update={"content": f"{before.content}\n{line.content}"})
    return list(by_key.values())


def judge(user_id: int, message_id: int, body: Verdict) -> VerdictDone:
    """Apply a user's verdict on a passage under a reply; return what was done. Raises NotFound, Invalid.

    A memory is set aside if wrong, closed if outdated, or forgotten; not_relevant ranks lower for such questions.
    """
    message = messages.get_message(user_id, message_id)
    kind, passage_id, verdict = body.kind, body.id, body.verdict
    row = db.session.scalar(
        select(TurnReceipt.receipt_id)
        .where(
            TurnReceipt.message_id == message.message_id, TurnReceipt.kind == kind, TurnReceipt.passage_id == passage_id
        )
        .limit(1)
    )
    if row is None:
        raise NotFound("That is not on this reply's receipt.")
    if kind != "memory" and verdict != "not_relevant":
        raise Invalid.field("verdict", "only a memory can be wrong, outdated or forgotten")
    forgotten = None
    if verdict == "forget":
        forgotten = forgetting.forget_one(user_id, passage_id, cause="receipt").memory_ids
    elif verdict == "wrong":
        service.update_memory(user_id, passage_id, MemoryChanges(is_archived=True), cause="wrong")
    elif verdict == "outdated":
        service.update_memory(user_id, passage_id, MemoryChanges(valid_to=now()), cause="outdated")
    _keep(user_id, message, body)
    return VerdictDone(verdict=verdict, kind=kind, id=passage_id, forgotten=forgotten)


def _keep(user_id: int, message: Message, body: Verdict) -> None:
    question = db.session.get(Message, message.reply_to_id) if message.reply_to_id else None
    db.session.execute(
        delete(PassageVerdict).where(
            PassageVerdict.message_id == message.message_id,
            PassageVerdict.kind == body.kind,
            PassageVerdict.passage_id == body.id,
        )
    )
    db.session.add(
        PassageVerdict(
            user_id=user_id,
            message_id=message.message_id,
            kind=body.kind,
            passage_id=body.id,
            verdict=body.verdict,
            terms=sorted(terms_of(question.content))[:MAX_TERMS] if question is not None else [],
        )
    )
    changes.note(user_id, Change("verdicts"))
    db.session.flush()


def _texts_at_revision(user_id: int, rows: Sequence[TurnReceipt]) -> dict[tuple[int, int], tuple[str, int, bool]]:
    """Return, by memory and revision, its text then, its current revision, and whether it is in use."""
    ids = {row.passage_id for row in rows if row.kind == "memory"}
    if not ids:
        return {}
    statement = (
        select(
            MemoryRevision.memory_id,
            MemoryRevision.revision,
            MemoryRevision.snapshot,
            Memory.revision,
            Memory.valid_to,
            Memory.is_archived,
            Memory.needs_review,
        )
        .join(Memory, Memory.memory_id == MemoryRevision.memory_id)
        .where(Memory.user_id == user_id, MemoryRevision.memory_id.in_(ids))
    )
    return {
        (memory_id, revision): (snapshot.get("content") or "", current, not (closed or archived or review))
        for memory_id, revision, snapshot, current, closed, archived, review in db.session.execute(statement)
    }


def _excerpt(text: str, start: int, end: int) -> str:
    """Return the part of a message that a reply was given, with ellipses where the message continues."""
    before, after = "… " if start > 0 else "", " …" if end < len(text) else ""
    return f"{before}{text[start:end].strip()}{after}"


def _line(
    row: TurnReceipt,
    passages: dict[Key, FoundPassage],
    remembered: dict[tuple[int, int], tuple[str, int, bool]],
    verdict: str | None,
) -> ReceiptLine:
    present = passages.get((row.kind, row.passage_id))
    content, state = (present.content, "current") if present else (None, "gone")
    if row.kind == "memory" and row.revision is not None and (row.passage_id, row.revision) in remembered:
        content, current, in_use = remembered[row.passage_id, row.revision]
        is_changed = present is not None and present.content != content and current != row.revision
        state = "closed" if not in_use else "changed" if is_changed else "current"
    elif content is not None and row.from_char is not None and row.to_char is not None:
        content = _excerpt(content, row.from_char, row.to_char)
    elif present is not None and present.revision != row.revision:
        state = "changed"  # somebody else's memory: its earlier content is theirs alone
    return ReceiptLine.from_row(
        row,
        id=row.passage_id,
        score=round(row.score, 4),
        state=state,
        content=content,
        verdict=verdict,
        created_at=present.at if present else None,
        **{name: getattr(present, name, None) for name in ("conversation_id", "message_id", "title", "role")},
    )
