"""Forgetting for good: tombstones first, then the memory with everything that repeats what it said."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from blinker import Signal
from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, delete, not_, or_, select

from webapp.background import events
from webapp.background.events import Kind
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, after_commit, db, write_transaction
from webapp.errors import require
from webapp.memories.models import Memory, MemoryChangeSet, MemoryEvidence, MemoryRevision, MemoryTombstone
from webapp.memories.rules.kinds import canonical_fact_key, canonical_value
from webapp.memories.rules.tombstones import TombstoneKind
from webapp.memories.store import copies, versions
from webapp.memories.store.journal import statement_hash
from webapp.memories.store.reach import UsedIn, Uses, add_archived, find_retelling, lock_withdrawal, reach_of, uses_of
from webapp.memories.store.tombstones import add_tombstones, tombstone_set
from webapp.spaces.signals import touch

BATCH = 200
"""Memories forgotten in one transaction, when all are."""

pre_forget = Signal()
"""Sent inside the transaction, before anything is deleted, with `user_id`, `memory_ids`, their `evidence` rows, and the
`texts`: everything they ever said, and the quotes behind it. A receiver that removes copies from other users' data
returns a Reach."""

texts_removed = Signal()
"""Sent after the commit with `message_ids`: replies that lost a forgotten text, or whose streams contained one."""


class ForgetReport(BaseModel):
    """The report of a forgetting: what it removed and what it could not: the named messages still contain the words,
    and the named replies may say them in others."""

    memory_ids: list[int] = []
    memories: int = 0
    evidence: int = 0
    revisions: int = 0
    vectors: int = 0
    tombstones: int = 0
    copies: int = Field(0, description="Replies, tool calls and stored answers from which its text was taken.")
    copies_of_others: int = Field(0, description="Of those, replies to other members of a space.")
    quoted_by_others: int = Field(0, description="Messages in which other members repeat it themselves; these stay.")
    still_said_in: list[int] = Field([], description="Your messages that contain the words.")
    still_in: list[int] = Field([], description="If one was to go: your other memories that say it too; these stay.")
    used_in: list[UsedIn] = Field(
        [],
        description="Replies that were written with it and may say it in other words: those behind a link first, then "
        "the newest; at most 50.",
    )
    used_in_count: int = Field(0, description="How many such replies there are.")
    used_by_others: int = Field(0, description="Replies to other members of a space that were written with it.")
    change_set_id: int | None = None


def forget(
    user_id: int, memory_ids: Collection[int], *, whole_key: bool = False, cause: str = "forget"
) -> ForgetReport:
    """Forget memories of the user, and all others that say the same; messages stay."""
    is_one, memory_ids = len(memory_ids) == 1, add_archived(memory_ids)
    _hold_sources(user_id, memory_ids)
    lock_withdrawal(user_id, memory_ids)
    versions.begin_change(user_id)
    rows = _with_duplicates(user_id, memory_ids)
    if not rows:
        return ForgetReport()
    ids = [row.memory_id for row in rows]
    evidence = db.session.scalars(select(MemoryEvidence).where(MemoryEvidence.memory_id.in_(ids))).all()
    revisions = db.session.scalars(select(MemoryRevision).where(MemoryRevision.memory_id.in_(ids))).all()
    wordings = {row.content for row in rows} | {str(row.snapshot.get("content") or "") for row in revisions} - {""}
    texts = wordings | {row.quote for row in evidence}
    reach = reach_of(pre_forget.send(None, user_id=user_id, memory_ids=ids, evidence=evidence, texts=texts))
    uses = uses_of()(user_id, ids)
    tombstones = _write_tombstones(user_id, rows, evidence, revisions, whole_key)
    report = ForgetReport(
        memory_ids=ids,
        memories=len(ids),
        evidence=len(evidence),
        revisions=len(revisions) + _strip_revisions(user_id, wordings, ids),
        vectors=sum(row.embedding is not None for row in rows),
        tombstones=tombstones,
        copies=_strip_copies(user_id, ids, texts) + reach.replies,
        copies_of_others=reach.replies,
        quoted_by_others=reach.quoted,
        still_said_in=sorted({row.message_id for row in evidence}),
        still_in=find_retelling(user_id, ids, texts) if is_one else [],
        used_in=uses.replies,
        used_in_count=uses.count,
        used_by_others=uses.by_others,
        change_set_id=_note(user_id, rows, uses, cause),
    )
    for row in rows:
        if row.visibility == "shared":
            touch(row.space_id)
    copies.mark_words(user_id, evidence)
    db.session.execute(delete(Memory).where(Memory.memory_id.in_(ids)))  # with their evidence and revisions
    db.session.expire_all()
    return report


def forget_one(user_id: int, memory_id: int, *, whole_key: bool = False, cause: str = "forget") -> ForgetReport:
    """Forget a memory of the user's, and all of theirs that say the same. Raises NotFound."""
    report = forget(user_id, [memory_id], whole_key=whole_key, cause=cause)
    require(report.memory_ids or None, "There is no such memory.")
    return report


def _hold_sources(user_id: int, memory_ids: Collection[int]) -> None:
    """Lock the conversations behind the memories: no extraction in any of them may be under way."""
    conversation_ids = db.session.scalars(
        select(Message.conversation_id)
        .join(MemoryEvidence, MemoryEvidence.message_id == Message.message_id)
        .join(Memory, Memory.memory_id == MemoryEvidence.memory_id)
        .where(Memory.user_id == user_id, Memory.memory_id.in_(memory_ids))
        .distinct()
    ).all()
    statement = select(Conversation.conversation_id).where(Conversation.conversation_id.in_(conversation_ids))
    db.session.execute(statement.order_by(Conversation.conversation_id).with_for_update())


def forget_all(user_id: int) -> int:
    """Forget every memory of a user, including archived and closed ones; returns how many there were.

    Each batch is a transaction: others write in between, and what was stopped is taken up where it was.
    """
    some = select(Memory.memory_id).where(Memory.user_id == user_id).limit(BATCH)
    count = 0
    while ids := db.session.scalars(some).all():
        with write_transaction():
            count += len(forget(user_id, ids, cause="forget_all").memory_ids)
    return count


def repeat(user_id: int, memory_ids: Collection[int]) -> ForgetReport:
    """Forget the memories that the user's tombstones forbid: they came back from an earlier time."""
    tombstones = tombstone_set(user_id)
    fields = (Memory.memory_id, Memory.content, Memory.fact_key, Memory.fact_value)
    rows = db.session.execute(select(*fields).where(Memory.user_id == user_id, Memory.memory_id.in_(memory_ids)))
    return forget(user_id, [memory_id for memory_id, text, key, value in rows if tombstones.forbids(text, key, value)])


def remove_tombstones(user_id: int, content: str, fact_key: str | None, fact_value: str | None) -> None:
    """Let the user write again what they had forgotten: its tombstones are removed."""
    digests = tombstone_set(user_id).digests_of(content, fact_key, fact_value)
    db.session.execute(
        delete(MemoryTombstone).where(MemoryTombstone.user_id == user_id, MemoryTombstone.digest.in_(digests))
    )


def _with_duplicates(user_id: int, memory_ids: Collection[int]) -> Sequence[Memory]:
    """Return the named memories and all others with the same words, or the same key and value, open or closed, and
    those that were set aside because one of them says the same."""
    own = select(Memory).where(Memory.user_id == user_id).with_for_update()
    named = db.session.scalars(own.where(Memory.memory_id.in_(memory_ids))).all()
    hashes, facts = {row.statement_hash for row in named}, {_fact_of(row) for row in named if row.fact_key}
    keys = {row.fact_key for row in named if row.fact_key}
    similar = db.session.scalars(own.where(or_(Memory.statement_hash.in_(hashes), Memory.fact_key.in_(keys))))
    twins = [row for row in similar if row.statement_hash in hashes or _fact_of(row) in facts]
    rows = {row.memory_id: row for row in sorted((*named, *twins), key=lambda row: row.memory_id)}
    with_aside = add_archived(rows)
    return list(rows.values()) if len(with_aside) == len(rows) else _with_duplicates(user_id, with_aside)


def _fact_of(row: Memory) -> tuple[str | None, str]:
    return canonical_fact_key(row.fact_key, row.category), canonical_value(row.fact_value, row.content)


def _write_tombstones(
    user_id: int,
    rows: Iterable[Memory],
    evidence: Sequence[MemoryEvidence],
    revisions: Sequence[MemoryRevision],
    whole_key: bool,
) -> int:
    """Write the tombstones of memories, of earlier wordings, and of the words behind them; returns how many are new."""
    stored = tombstone_set(user_id)
    kinds: dict[str, TombstoneKind] = {}
    for row in rows:
        quotes = [item.quote for item in evidence if item.memory_id == row.memory_id]
        kinds |= stored.tombstones_for(row.content, row.fact_key, row.fact_value, quotes, whole_key)
    for revision in revisions:
        fields = revision.snapshot
        if fields.get("content"):
            kinds |= stored.tombstones_for(fields["content"], fields.get("fact_key"), fields.get("fact_value"))
    columns = {digest: {"kind": kind.value, "key_id": stored.key_id} for digest, kind in kinds.items()}
    return add_tombstones(user_id, columns)


def _strip_revisions(user_id: int, wordings: Iterable[str], ids: Collection[int]) -> int:
    """Delete earlier revisions of other memories that said the same, so that nobody can restore them."""
    rows = db.session.scalars(
        select(MemoryRevision.revision_id)
        .join(Memory, Memory.memory_id == MemoryRevision.memory_id)
        .where(
            Memory.user_id == user_id,
            Memory.memory_id.not_in(ids),
            MemoryRevision.revision < Memory.revision,
            MemoryRevision.statement_hash.in_({statement_hash(text) for text in wordings}),
        )
    ).all()
    if rows:
        db.session.execute(delete(MemoryRevision).where(MemoryRevision.revision_id.in_(rows)))
    return len(rows)


def _strip_copies(user_id: int, ids: Collection[int], texts: Collection[str]) -> int:
    replies = copies.strip_replies(user_id, ids, texts)
    drop_streams(replies)
    return len(replies) + copies.strip_answers(user_id, ids, texts)


def strip_again(user_id: int, texts: Collection[str]) -> None:
    """Remove what the user had forgotten from what came back with an old export."""
    pre_forget.send(None, user_id=user_id, memory_ids=[], evidence=[], texts=texts)
    _strip_copies(user_id, [], texts)


def drop_streams(message_ids: Collection[int]) -> None:
    """Notify the keeper of these replies' streams once the forgetting is committed."""
    if message_ids:
        after_commit(partial(texts_removed.send, None, message_ids=sorted(message_ids)))


def _note(user_id: int, rows: Sequence[Memory], uses: Uses, cause: str) -> int:
    """Return the change set of the forgetting: ids and counts, no text, and nothing to undo."""
    change_set = MemoryChangeSet(
        user_id=user_id,
        cause=cause,
        counts={"forgotten": len(rows), "used_in": uses.count, "used_by_others": uses.by_others},
        reasons={},
        changes=[{"memory_id": row.memory_id, "before": row.revision, "after": None, "evidence": []} for row in rows],
    )
    add_row(change_set)
    events.note(user_id, Kind.MEMORY_FORGOTTEN, {"change_set_id": change_set.change_set_id, "cause": cause})
    return change_set.change_set_id


def memories_with_evidence(condition: ColumnElement[bool]) -> dict[int, bool]:
    """Return memories with evidence that meets a condition (on MemoryEvidence); True for those with no other."""
    here = set(db.session.scalars(select(MemoryEvidence.memory_id).where(condition)))
    others = select(MemoryEvidence.memory_id).where(MemoryEvidence.memory_id.in_(here), not_(condition))
    elsewhere = set(db.session.scalars(others))
    return {memory_id: memory_id not in elsewhere for memory_id in here}
