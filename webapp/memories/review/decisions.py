"""Memories that wait for the user, the groups they came in, and the decisions on them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from blinker import Signal
from sqlalchemy import ColumnElement, Select, false, select

from webapp.db.base import db, get_or_raise, now
from webapp.errors import Conflict, Invalid
from webapp.http.validation import Page
from webapp.memories.history.revisions import QuotedEvidence, evidence_of
from webapp.memories.lists import LIST_OPTIONS
from webapp.memories.models import WAITING, Memory
from webapp.memories.rules.state import Moment, latest
from webapp.memories.rules.user_decisions import Decision, is_earlier, settle
from webapp.memories.schemas import MemoryQuery, ReviewDecision
from webapp.memories.service import Place, check_key, get_memory, key_holders, list_memories
from webapp.memories.store import forgetting, versions, writing
from webapp.memories.store.forgetting import ForgetReport
from webapp.memories.store.journal import Journal, record_changes

review_groups = Signal()
"""Sent with `user_id`; domains that bring memories in return a list of Group."""


@dataclass(frozen=True, slots=True)
class Group:
    """Waiting memories that came together: name and time, how much is left, its page, and all ids."""

    name: str
    at: datetime
    count: int
    place: str
    statement: Select[int]


def groups_of(user_id: int) -> list[Group]:
    """Return the groups in which memories await the user's decision, newest first."""
    all_groups = [group for _, groups in review_groups.send(None, user_id=user_id) for group in groups]
    return sorted(all_groups, key=lambda group: group.at, reverse=True)


_COLUMNS = {"superseded_by": "superseded_by_id", "contradicts": "contradicts_id"}


@dataclass(frozen=True)
class WaitingMemory:
    """A memory in review, and the one it contradicts or would replace; both with their quotes."""

    memory: Memory
    evidence: Sequence[QuotedEvidence]
    other: Memory | None = None
    other_evidence: Sequence[QuotedEvidence] = ()

    @property
    def is_earlier(self) -> bool:
        """Return whether the memory in review was said before the other, which is used in the meantime."""
        other_moment = _last_moment(self.other, self.other_evidence) if self.other else None
        return is_earlier(_last_moment(self.memory, self.evidence), other_moment)


def _last_moment(row: Memory, evidence: Sequence[QuotedEvidence]) -> Moment | None:
    """Return when a memory was last said or written, which is what settles it, too."""
    moments = [(quoted.row.said_at, quoted.row.message_id, quoted.row.start) for quoted in evidence]
    return latest(moments, row.asserted_at)


def review_queue(
    user_id: int, query: MemoryQuery, *conditions: ColumnElement[bool], part: str = ""
) -> Page[WaitingMemory]:
    """Return what is waiting for a decision, last changed first; `conditions` and `part` as for `list_memories`."""
    page = list_memories(user_id, query.model_copy(update={"needs_review": True}), *conditions, part=part)
    other_ids = others_of(user_id, page.items)
    rows = {row.memory_id: row for row in page.items}
    if missing := set(other_ids.values()) - rows.keys():
        memories = db.session.scalars(select(Memory).where(Memory.memory_id.in_(missing)).options(*LIST_OPTIONS))
        rows |= {row.memory_id: row for row in memories}
    quotes = evidence_of(user_id, rows)

    def read(row: Memory) -> WaitingMemory:
        other = rows.get(other_ids.get(row.memory_id, 0))
        return WaitingMemory(
            row, quotes.get(row.memory_id, ()), other, quotes.get(other.memory_id, ()) if other else ()
        )

    return page.map(read)


def waiting_memory(user_id: int, memory_id: int) -> WaitingMemory:
    """Return one memory in review. Raises NotFound, and Conflict if it does not wait, perhaps no longer."""
    get_memory(user_id, memory_id)
    items = review_queue(user_id, MemoryQuery(limit=1), Memory.memory_id == memory_id).items
    if not items:
        raise Conflict("That memory no longer waits for a decision; nothing was changed.")
    return items[0]


def others_of(user_id: int, memories: Collection[Memory]) -> dict[int, int]:
    """Return by memory the one that it contradicts or, where that waits as well, the one in use that this contradicts
    in turn, or the one that has its key; none that has ended."""
    disputed = _open_rivals({row.contradicts_id for row in memories if row.contradicts_id is not None})
    in_use = {row.memory_id: _end_of(row, disputed) for row in memories}
    holders = key_holders(user_id, {_place_of(row) for row in memories if row.fact_key and not in_use[row.memory_id]})

    def other_of(row: Memory) -> int | None:
        rival = row.contradicts_id if row.contradicts_id in disputed else None
        return in_use[row.memory_id] or holders.get(_place_of(row)) or rival

    found = {row.memory_id: other_of(row) for row in memories}
    return {memory_id: other for memory_id, other in found.items() if other is not None and other != memory_id}


def _open_rivals(memory_ids: set[int]) -> dict[int, Memory]:
    """Return the memories that have not ended, and what those that wait contradict in turn."""
    found: dict[int, Memory] = {}
    while memory_ids := memory_ids - found.keys():
        statement = select(Memory).where(Memory.memory_id.in_(memory_ids), Memory.is_closed == false())
        rows = db.session.scalars(statement.options(*LIST_OPTIONS)).all()
        found |= {row.memory_id: row for row in rows}
        memory_ids = {row.contradicts_id for row in rows if row.needs_review and row.contradicts_id is not None}
    return found


def _end_of(row: Memory, disputed: Mapping[int, Memory]) -> int | None:
    """Return the memory in use that a memory contradicts, by way of others that wait; None if there is none."""
    other, passed = disputed.get(row.contradicts_id or 0), {row.memory_id}
    while other is not None and other.needs_review and other.memory_id not in passed:
        passed.add(other.memory_id)
        other = disputed.get(other.contradicts_id or 0)
    return other.memory_id if other is not None and not (other.needs_review or other.is_archived) else None


def decide_review(user_id: int, memory_id: int, body: ReviewDecision, zone: tzinfo = UTC) -> Memory | ForgetReport:
    """Apply the user's decision; return the memory or what was forgotten. Raises NotFound, Conflict, Invalid.

    `zone` is where the user is, if `body.until` is a day.
    """
    versions.begin_change(user_id)
    memory = get_memory(user_id, memory_id, lock=True)
    if body.decision is Decision.UNTIL and body.until is None:
        raise Invalid.field("until", "is needed for this decision")
    if body.other_id is not None:
        get_memory(user_id, body.other_id, lock=True)
    other_id = body.other_id or others_of(user_id, [memory]).get(memory_id)
    if other_id is None and memory.valid_to is not None:
        other_id = memory.superseded_by_id
    ids = {memory_id, *([other_id] if other_id else [])}
    if memory.fact_key:
        same_key = (*writing.scope_of(user_id, memory.space_id), Memory.fact_key == memory.fact_key)
        ids.update(db.session.scalars(select(Memory.memory_id).where(*same_key, *WAITING).with_for_update()))
    memories = {item.ref: item for item in writing.load_known(ids)}
    other = memories.get(other_id) if other_id else None
    edits = settle(body.decision, memories[memory_id], other, now(), body.end(zone), memories.values())
    if body.decision is Decision.REJECT:
        return forgetting.forget_one(user_id, memory_id, cause="rejected")
    journal = Journal(user_id, f"review_{body.decision.value}")
    for ref, fields in edits.items():
        row = get_or_raise(Memory, ref)
        for name, value in fields.items():
            setattr(row, _COLUMNS.get(name, name), sorted(value) if isinstance(value, frozenset) else value)
        check_key(row)
        journal.record_change(row)
    journal.close({"updated": 1, "superseded": sum(fields.get("valid_to") is not None for fields in edits.values())})
    return get_memory(user_id, memory_id)


def mark_as_distinct(user_id: int, memory_ids: Collection[int]) -> None:
    """Record that some memories are no duplicates of each other. Raises NotFound."""
    versions.begin_change(user_id)
    memories = [get_memory(user_id, memory_id, lock=True) for memory_id in sorted(memory_ids)]
    for memory in memories:
        memory.settled_with = sorted({*(memory.settled_with or ()), *memory_ids} - {memory.memory_id})
    record_changes(user_id, f"review_{Decision.BOTH.value}", memories, {"updated": len(memories)})


def decide_many(user_id: int, memory_ids: Collection[int], decision: Decision) -> tuple[int, int, int]:
    """Confirm, in one change set, or forget up to 100 waiting memories; return how many, how many still wait because
    they contradict another, and how many wait no longer: another tab may have settled them."""
    if decision is Decision.ACCEPT:
        versions.begin_change(user_id)
    queue = review_queue(user_id, MemoryQuery(limit=100), Memory.memory_id.in_(memory_ids)).items
    gone = len(memory_ids) - len(queue)
    if decision is Decision.REJECT:
        ids = [item.memory.memory_id for item in queue]
        return len(forgetting.forget(user_id, ids, cause="rejected").memory_ids), 0, gone
    free: dict[Place | int, int] = {}
    for memory in (item.memory for item in reversed(queue) if item.other is None):
        # Of two with one key, the second would contradict the first.
        free.setdefault(_place_of(memory) if memory.fact_key else memory.memory_id, memory.memory_id)
    if free:
        statement = select(Memory).where(Memory.memory_id.in_(free.values())).order_by(Memory.memory_id)
        rows = db.session.scalars(statement.execution_options(populate_existing=True)).all()
        for memory in rows:
            memory.needs_review, memory.contradicts_id, memory.asserted_at = False, None, now()
        record_changes(user_id, f"review_{decision.value}", rows, {"updated": len(rows)})
    return len(free), len(queue) - len(free), gone


def confirm_memory(user_id: int, memory_id: int) -> Memory:
    """Record that a memory is still true, from now on without an end. Raises NotFound."""
    versions.begin_change(user_id)
    memory = get_memory(user_id, memory_id, lock=True)
    memory.asserted_at, memory.until = now(), None
    record_changes(user_id, "confirmed", [memory], {"merged": 1})
    return memory


def _place_of(row: Memory) -> Place:
    return row.fact_key, row.category, row.space_id
