"""Proposals that wait for the person: statements to keep, contradictions to settle, memories to forget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, delete, exists, false, func, not_, or_, select
from sqlalchemy.orm import aliased

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, delete_row, write_transaction
from webapp.errors import NotFound
from webapp.http.paging import read_page
from webapp.http.validation import Page
from webapp.memories.history.revisions import QuotedEvidence, evidence_of
from webapp.memories.lists import LIST_OPTIONS
from webapp.memories.models import WAITING, ForgetProposal, Memory
from webapp.memories.review import decisions
from webapp.memories.review.decisions import WaitingMemory
from webapp.memories.rules.user_decisions import Decision
from webapp.memories.schemas import MemoryQuery, ProposalKind, ProposalQuery, ReviewDecision
from webapp.memories.store import forgetting, versions
from webapp.memories.store.forgetting import ForgetReport
from webapp.memories.store.journal import record_changes

EXPIRES_AFTER = timedelta(days=60)
FORGET, MEMORY = "forget", "memory"
MEMORIES = "m."
"""The beginning of a list's cursors once it has reached the memories in review, which come last."""


ProposalReason = Literal["tainted", "doubt", "conflict", "forget"]
"""The reason for waiting: others' words may be behind it, it is uncertain, contradicts, or cannot be undone."""


@dataclass(frozen=True)
class Proposal:
    """One thing that waits: `memory` would be kept or forgotten, in the place of `replaced` if there is one.

    `key` names what waits, of two memories perhaps the earlier; `message_id` is the reply that proposes it.
    """

    key: str
    kind: ProposalKind
    why: ProposalReason
    memory: Memory
    since: datetime
    evidence: Sequence[QuotedEvidence] = ()
    replaced: Memory | None = None
    message_id: int | None = None


@dataclass(frozen=True)
class SettlementResult:
    """The memory as it is after an answer, or what was forgotten; neither if nothing changed."""

    status: Literal["kept", "forgotten", "discarded"]
    memory: Memory | None = None
    report: ForgetReport | None = None


def list_proposals(user_id: int, query: ProposalQuery) -> Page[Proposal]:
    """Return proposals, keyset-paged: forgetting first, then last changed. Raises Invalid for a foreign cursor."""
    cursor = query.cursor or ""
    proposals: list[Proposal] = []
    if query.kind == "forget":
        return _list_forget_proposals(user_id, query)
    if query.kind is None and not cursor.startswith(MEMORIES):
        page = _list_forget_proposals(user_id, query)
        if page.next_cursor:
            return page
        proposals = page.items
        if len(proposals) == query.limit:
            return Page(proposals, MEMORIES)
        cursor = ""
    inner = MemoryQuery(limit=query.limit - len(proposals), cursor=cursor.removeprefix(MEMORIES) or None)
    conditions = {None: (), "remember": (not_(_contradicts()),), "conflict": (_contradicts(),)}[query.kind]
    pages = decisions.review_queue(user_id, inner, *conditions, part=f"proposals {query.kind or ''}")
    following = pages.next_cursor and MEMORIES + pages.next_cursor
    return Page(proposals + _view_memories(pages.items), following)


def reply_proposals(user_id: int, message: Message) -> list[Proposal]:
    """Return the pending proposals of a reply."""
    outputs = [call.get("output") or {} for call in message.tool_calls or ()]
    proposals: list[Proposal] = []
    if any(output.get("status") == "asks_first" for output in outputs):
        rows = _forget_proposals(user_id).where(ForgetProposal.message_id == message.message_id)
        proposals += _view_forget_proposals(
            user_id, db.session.execute(rows.order_by(ForgetProposal.proposal_id)).all()
        )
    ids = [output.get("memory_id") for output in outputs if output.get("status") == "waits_for_review"]
    if ids:
        page = decisions.review_queue(user_id, MemoryQuery(limit=100), Memory.memory_id.in_(ids), part="under a reply")
        proposals += _view_memories(page.items)
    return proposals


def accept(user_id: int, key: str) -> SettlementResult:
    """Carry out a proposal. Raises NotFound, and Conflict if it no longer applies."""
    proposal = _find(user_id, key)
    if isinstance(proposal, ForgetProposal):
        return SettlementResult("forgotten", report=forgetting.forget_one(user_id, proposal.memory_id, cause="tool"))
    return _decide(user_id, proposal, Decision.ACCEPT if proposal.other is None else Decision.REPLACE)


def discard(user_id: int, key: str) -> SettlementResult:
    """Leave the earlier one in use, if there is one; anything else is not learned again. Raises NotFound, Conflict."""
    proposal = _find(user_id, key)
    if isinstance(proposal, ForgetProposal):
        delete_row(proposal)
        return SettlementResult("discarded")
    return _decide(user_id, proposal, Decision.ACCEPT if proposal.is_earlier else Decision.REJECT)


def _find(user_id: int, key: str) -> ForgetProposal | WaitingMemory:
    kind, _, number = key.partition("-")
    if kind == FORGET:
        row = db.session.execute(_forget_proposals(user_id).where(ForgetProposal.proposal_id == int(number))).first()
        if row is None:
            raise NotFound("There is no such proposal.")
        return row[0]
    return decisions.waiting_memory(user_id, int(number))


def _decide(user_id: int, review_item: WaitingMemory, decision: Decision) -> SettlementResult:
    body = ReviewDecision(decision=decision, other_id=review_item.other.memory_id if review_item.other else None)
    result = decisions.decide_review(user_id, review_item.memory.memory_id, body)
    if isinstance(result, Memory):
        return SettlementResult("kept", memory=result)
    return SettlementResult("forgotten", report=result)


def _forget_proposals(user_id: int) -> Select[ForgetProposal, Memory]:
    """Return the proposals of replies that are part of their conversations, each with its memory."""
    return (
        select(ForgetProposal, Memory)
        .join(Memory, Memory.memory_id == ForgetProposal.memory_id)
        .join(Message, Message.message_id == ForgetProposal.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(ForgetProposal.user_id == user_id, Message.superseded_by_id.is_(None), Conversation.deleted_at.is_(None))
        .options(*LIST_OPTIONS)
    )


def _list_forget_proposals(user_id: int, query: ProposalQuery) -> Page[Proposal]:
    key = ForgetProposal.proposal_id
    page = read_page("forget proposals", query, _forget_proposals(user_id), key, scope=user_id)
    return Page(_view_forget_proposals(user_id, page.items), page.next_cursor)


def _view_forget_proposals(user_id: int, rows: Sequence[Row[*tuple[Any, ...]]]) -> list[Proposal]:
    quotes = evidence_of(user_id, [memory.memory_id for _, memory, *_ in rows])
    return [
        Proposal(
            f"{FORGET}-{row.proposal_id}",
            kind="forget",
            why="forget",
            memory=memory,
            since=row.created_at,
            evidence=quotes.get(memory.memory_id, ()),
            message_id=row.message_id,
        )
        for row, memory, *_ in rows
    ]


def _view_memories(review_items: Sequence[WaitingMemory]) -> list[Proposal]:
    tainted = _tainted_ids(review_items)
    proposals = []
    for item in review_items:
        key = f"{MEMORY}-{item.memory.memory_id}"
        if item.other is None:
            why: ProposalReason = "tainted" if item.memory.memory_id in tainted else "doubt"
            proposals.append(Proposal(key, "remember", why, item.memory, item.memory.updated_at, item.evidence))
            continue
        sides = [(item.memory, item.evidence), (item.other, item.other_evidence)]
        earlier, later = sides if item.is_earlier else reversed(sides)
        conflict = Proposal(key, "conflict", "conflict", later[0], item.memory.updated_at, later[1], earlier[0])
        proposals.append(conflict)
    return proposals


def _tainted_ids(review_items: Iterable[WaitingMemory]) -> set[int]:
    """Return the memories that may contain other people's words: from a tool, an import, or a tainted turn."""
    memory_ids = {item.memory.memory_id for item in review_items if item.memory.origin in ("tool", "import")}
    keys = {(quoted.row.message_id, quoted.row.memory_id) for item in review_items for quoted in item.evidence}
    if not keys:
        return memory_ids
    numbers = {message_id for message_id, _ in keys}
    question_ids = select(Message.reply_to_id).where(Message.reply_to_id.in_(numbers), Message.is_tainted)
    tainted = set(db.session.scalars(question_ids))
    return memory_ids | {memory_id for message_id, memory_id in keys if message_id in tainted}


def _contradicts() -> ColumnElement[bool]:
    """Return the condition for memories in review that contradict another in use, or would take the key of one."""
    disputed, holder = aliased(Memory), aliased(Memory)
    is_disputed = exists().where(disputed.memory_id == Memory.contradicts_id, disputed.is_closed == false())
    takes_key = exists().where(
        holder.user_id == Memory.user_id,
        holder.space_slot == Memory.space_slot,
        holder.current_slot.is_not(None),
        holder.fact_key == Memory.fact_key,
        func.coalesce(holder.category, "") == func.coalesce(Memory.category, ""),
    )
    return or_(is_disputed, takes_key)


def archive_expired(moment: datetime, limit: int = 1_000) -> int:
    """Archive memories and delete proposals that waited too long, in a change set a person; return how many."""
    before = moment - EXPIRES_AFTER
    with write_transaction():
        db.session.execute(delete(ForgetProposal).where(ForgetProposal.created_at < before))
    stale = [*WAITING, Memory.updated_at < before]
    people = db.session.scalars(select(Memory.user_id).where(*stale).distinct().limit(limit)).all()
    db.session.rollback()
    count = 0
    for user_id in people:
        with write_transaction():
            versions.begin_change(user_id)
            rows = db.session.scalars(select(Memory).where(Memory.user_id == user_id, *stale).limit(limit)).all()
            if not rows:
                continue
            for row in rows:
                row.is_archived = True
            record_changes(user_id, "waited", rows, {"tidied": len(rows)})
            count += len(rows)
    return count
