"""Change sets: what jobs and the user did to memories in one go, and undoing it as a whole."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from sqlalchemy import Select, delete, select

from webapp.conversations.models import Conversation
from webapp.db.base import db, get_or_raise, now
from webapp.errors import Conflict, require
from webapp.http.paging import read_page
from webapp.http.validation import Page, PageQuery
from webapp.memories.history.revisions import drop_evidence, is_forgotten, restore_fields
from webapp.memories.models import IN_USE, Memory, MemoryChangeSet, MemoryEvidence, MemoryRevision
from webapp.memories.rules import undo as undoing
from webapp.memories.rules.undo import Change, Current, Snapshot, UndoPlan
from webapp.memories.service import Place, check_key, key_holders
from webapp.memories.showing.change_lines import ChangeLine, MemoryState, Snapshots, label, lines_of
from webapp.memories.showing.texts import OBSTACLES, refusal_summary
from webapp.memories.store import versions
from webapp.memories.store.journal import Journal, snapshot, statement_hash
from webapp.memories.store.reach import archived_for, lock_withdrawal, withdraw
from webapp.memories.store.tombstones import tombstone_set
from webapp.spaces.signals import touch

_STATE_COUNTS = ("in_review", "overruled", "superseded")


@dataclass(frozen=True)
class ChangeSetView:
    """A change set with what its memories, unless forgotten, say now; `title` and `lines` only if requested."""

    row: MemoryChangeSet
    title: str | None
    contents: dict[int, str]
    lines: Sequence[ChangeLine] = ()

    @property
    def state(self) -> str:
        """Return what changes when it has to be shown again, for a page to say what it shows."""
        shown = crc32(self.label.encode("utf-8", "surrogatepass"))
        return f"{self.row.change_set_id}{'u' if self.row.undone_at else ''}.{shown:x}"

    @property
    def label(self) -> str:
        """Return what was done, in one line, or why nothing was; empty if that is no longer known."""
        return label(self.lines) or ("" if self.row.changes else refusal_summary(self.row.reasons))


class AlreadyUndone(Conflict):
    """The change set was undone before."""


def list_change_sets(user_id: int, query: PageQuery, memories: Sequence[Memory] | None = None) -> Page[ChangeSetView]:
    """Return what jobs and the user did to memories, newest first, keyset-paged. Raises Invalid for a foreign cursor.

    `memories`: memories just read; then only changes to these are put into words, and nothing is read twice.
    """
    key = MemoryChangeSet.change_set_id
    page = read_page("changes of memories", query, _select_with_titles(user_id), key, scope=user_id)
    views = view_change_sets([(row.MemoryChangeSet, row.title) for row in page.items], memories)
    return Page(views, page.next_cursor)


def get_change_set(user_id: int, change_set_id: int) -> ChangeSetView:
    """Return one change set. Raises NotFound."""
    return view_change_sets([_read(user_id, change_set_id)])[0]


def _select_with_titles(user_id: int) -> Select[MemoryChangeSet, str | None]:
    """Return a user's change sets, each with the title of the conversation it came from."""
    is_of_set = Conversation.conversation_id == MemoryChangeSet.conversation_id
    sets = select(MemoryChangeSet, Conversation.title).outerjoin(Conversation, is_of_set)
    return sets.where(MemoryChangeSet.user_id == user_id)


def _read(user_id: int, change_set_id: int) -> tuple[MemoryChangeSet, str | None]:
    statement = _select_with_titles(user_id).where(MemoryChangeSet.change_set_id == change_set_id)
    row = db.session.execute(statement.execution_options(populate_existing=True)).first()
    change_set, title = require(row, "There is no such change set.")
    return change_set, title


def view_change_sets(
    rows: Sequence[tuple[MemoryChangeSet, str | None]], memories: Sequence[Memory] | None = None
) -> list[ChangeSetView]:
    """Return change sets and the titles of their conversations as they are displayed, in two queries; `memories` as for
    `list_change_sets`."""
    sets = [row for row, _ in rows]
    if memories is not None:
        ids = {row.memory_id for row in memories}
        sets = [row for row in sets if all(change["memory_id"] in ids for change in row.changes)]
    snapshots = _snapshots(change for row in sets if _has_earlier_states(row) for change in row.changes)
    states = _states(sets, snapshots, memories or ())
    return [
        ChangeSetView(
            row,
            title,
            {c["memory_id"]: states[c["memory_id"]].content for c in row.changes if c["memory_id"] in states},
            lines_of(row.changes, states, snapshots),
        )
        for row, title in rows
    ]


def _states(
    rows: Sequence[MemoryChangeSet], snapshots: Snapshots, memories: Iterable[Memory] = ()
) -> dict[int, MemoryState]:
    """Return the present states of the memories of some change sets, and of their successors."""
    ids = {change["memory_id"] for row in rows for change in row.changes}
    ids |= {fields["superseded_by_id"] for fields in snapshots.values() if fields.get("superseded_by_id")}
    found: list[Any] = [row for row in memories if row.memory_id in ids]
    if unknown := ids - {row.memory_id for row in found}:
        columns = (Memory.memory_id, Memory.content, Memory.valid_to, Memory.needs_review)
        found += db.session.execute(select(*columns).where(Memory.memory_id.in_(unknown)))
    return {row.memory_id: MemoryState(row.content, row.valid_to is not None, row.needs_review) for row in found}


def _has_earlier_states(row: MemoryChangeSet) -> bool:
    """Return whether more than the present tells what a change set did: not all of it is new or confirmed."""
    is_changed = any(change["before"] not in (None, change["after"]) for change in row.changes)
    return is_changed or any(row.counts.get(name) for name in _STATE_COUNTS)


def _snapshots(changes: Iterable[Mapping[str, Any]]) -> Snapshots:
    """Return the memories of some changes before and after."""
    versions = {(c["memory_id"], revision) for c in changes for revision in (c["before"], c["after"]) if revision}
    if not versions:
        return {}
    statement = select(MemoryRevision.memory_id, MemoryRevision.revision, MemoryRevision.snapshot).where(
        MemoryRevision.memory_id.in_({memory_id for memory_id, _ in versions}),
        MemoryRevision.revision.in_({revision for _, revision in versions}),
    )
    return {(memory_id, revision): fields for memory_id, revision, fields in db.session.execute(statement)}


def undo(user_id: int, change_set_id: int) -> ChangeSetView:
    """Undo a change set as one of its own, with the user's answers to what it asked. Raises NotFound, and Conflict with
    every memory that prevents it."""
    original, _ = _read(user_id, change_set_id)
    rows = (original, *_answers(original))
    lock_withdrawal(user_id, [change["memory_id"] for row in rows for change in row.changes])
    versions.begin_change(user_id)
    original, title = _read(user_id, change_set_id)
    if original.undone_at is not None:
        raise AlreadyUndone("This has already been undone.")
    for answer in _answers(original):
        undo(user_id, answer.change_set_id)
    changes = _changes_of(original)
    plan = undoing.plan_undo(changes, _present(user_id, changes))
    if plan.obstacles:
        errors = [
            {"loc": ["changes"], "memory_id": ref, "reason": reason.value, "msg": f"memory {ref} {OBSTACLES[reason]}"}
            for ref, reason in plan.obstacles.items()
        ]
        raise Conflict("Later changes prevent this.", errors=errors)
    journal = Journal(user_id, "undo", conversation_id=original.conversation_id)
    withdraw(user_id, _withdrawals(plan))
    out_of_use = [ref for ref, fields in plan.returns.items() if not Snapshot(0, fields).is_current]
    since = archived_for(out_of_use).where(Memory.updated_at > original.created_at)
    aside = {*db.session.scalars(archived_for(plan.removals)), *db.session.scalars(since)}
    returns = dict(plan.returns) | dict.fromkeys(aside, {"is_archived": False, "superseded_by_id": None})
    if plan.removals:
        for space_id in db.session.scalars(select(Memory.space_id).where(Memory.memory_id.in_(plan.removals))):
            touch(space_id)
        db.session.execute(delete(Memory).where(Memory.memory_id.in_(plan.removals)))
        db.session.expire_all()
    for ref, fields in returns.items():
        memory = get_or_raise(Memory, ref)
        restore_fields(memory, fields)
        check_key(memory)
        journal.record_change(memory)
    drop_evidence(MemoryEvidence.evidence_id.in_([row_id for ids in plan.evidence.values() for row_id in ids]))
    original.undone_at = now()
    journal.change_set.undoes_id = original.change_set_id
    row = journal.close({"removed": len(plan.removals), "restored": len(returns), "unsupported": len(plan.evidence)})
    row.changes = [
        *({"memory_id": ref, "before": 1, "after": None, "evidence": []} for ref in plan.removals),
        *row.changes,
    ]
    db.session.flush()
    return view_change_sets([(row, title)])[0]


def _answers(original: MemoryChangeSet) -> list[MemoryChangeSet]:
    """Return the user's later decisions, each about a memory that a change set put into review, latest first."""
    ids = [c.ref for c in _changes_of(original) if c.after is not None and c.after.fields.get("needs_review")]
    later = select(MemoryChangeSet).where(
        MemoryChangeSet.change_set_id.in_(
            select(MemoryRevision.change_set_id).where(MemoryRevision.memory_id.in_(ids))
        ),
        MemoryChangeSet.change_set_id > original.change_set_id,
        MemoryChangeSet.cause.startswith("review_", autoescape=True),
        MemoryChangeSet.undone_at.is_(None),
    )
    rows = db.session.scalars(later.order_by(MemoryChangeSet.change_set_id.desc()))
    return [row for row in rows if row.counts.get("updated") == 1]


def _withdrawals(plan: UndoPlan) -> list[Memory]:
    """Return the memories that others can read now and could not after the undo."""
    later = {**dict.fromkeys(plan.removals, {}), **plan.returns}
    shared = db.session.scalars(select(Memory).where(Memory.memory_id.in_(later), Memory.visibility == "shared"))

    def stays(row: Memory) -> bool:
        return {"visibility": "shared", "space_id": row.space_id}.items() <= later[row.memory_id].items()

    return [row for row in shared if not stays(row)]


def _changes_of(row: MemoryChangeSet) -> list[Change]:
    stored = _snapshots(row.changes)

    def snapshot(memory_id: int, revision: int | None) -> Snapshot | None:
        return None if revision is None else Snapshot(revision, stored.get((memory_id, revision), {}))

    return [
        Change(
            c["memory_id"],
            snapshot(c["memory_id"], c["before"]),
            snapshot(c["memory_id"], c["after"]),
            frozenset(c.get("evidence") or ()),
        )
        for c in row.changes
    ]


def _find_twins(user_id: int, changes: Sequence[Change], rows: Sequence[Memory]) -> set[int]:
    """Return the closed or archived memories that would come back beside one in use that says the same."""
    ended = {row.memory_id: row for row in rows if row.valid_to is not None or row.is_archived}
    returning = {
        change.ref: (ended[change.ref].space_slot, statement_hash(str(change.before.fields.get("content") or "")))
        for change in changes
        if change.ref in ended and change.before is not None and change.before.is_current
    }
    twins = select(Memory.space_slot, Memory.statement_hash).where(
        Memory.user_id == user_id,
        *IN_USE,
        Memory.memory_id.not_in({change.ref for change in changes}),
        Memory.statement_hash.in_({words for _, words in returning.values()}),
    )
    found = {(space, words) for space, words in db.session.execute(twins)} if returning else set()
    return {ref for ref, place in returning.items() if place in found}


def _present(user_id: int, changes: Sequence[Change]) -> Current:
    rows = db.session.scalars(
        select(Memory)
        .where(Memory.user_id == user_id, Memory.memory_id.in_({change.ref for change in changes}))
        .execution_options(populate_existing=True)
    ).all()
    places: dict[Place, str] = {}
    for change in changes:
        if change.before and (slot := change.before.slot):
            fields = change.before.fields
            places[fields.get("fact_key"), fields.get("category"), fields.get("space_id")] = slot
    holders = key_holders(user_id, places)
    tombstones = tombstone_set(user_id)
    return Current(
        memories={row.memory_id: Snapshot(row.revision, snapshot(row)) for row in rows},
        key_holders={places[place]: holder for place, holder in holders.items()},
        twins=_find_twins(user_id, changes, rows),
        is_forgotten=lambda fields: is_forgotten(tombstones, fields),
    )
