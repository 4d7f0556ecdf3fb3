"""Where a memory comes from and what became of it: revisions, evidence, change sets, undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, delete, func, or_, select

from webapp.conversations.models import Conversation, Message
from webapp.database import db, now
from webapp.errors import Conflict, Invalid, NotFound
from webapp.memories.engine import undo as undoing
from webapp.memories.engine.normalise import canonical_fact_key
from webapp.memories.engine.undo import Change, DropEvidence, Obstacle, Present, PutBack, Remove, Snapshot
from webapp.memories.keeping import forgetting, versions
from webapp.memories.keeping.journal import Journal, restore, snapshot, statement_hash
from webapp.memories.models import Memory, MemoryChangeSet, MemoryEvidence, MemoryRevision
from webapp.memories.service import check_key, get_memory, key_holder
from webapp.spaces.service import is_member
from webapp.spaces.versions import touch
from webapp.validation import MAX_ID
from webapp.web import Cursor, Page, PageQuery

_WHY = {
    Obstacle.CHANGED_SINCE: "was changed since",
    Obstacle.KEY_TAKEN: "had a key that another memory holds now",
    Obstacle.FORGOTTEN: "was forgotten since",
}


@dataclass(frozen=True)
class Quoted:
    """A piece of evidence and where it was said."""

    row: MemoryEvidence
    conversation_id: int
    title: str | None
    is_current: bool


@dataclass(frozen=True)
class ChangeSetView:
    """A change set with what its memories say now; forgotten ones are missing from `contents`.

    `title` is that of its conversation. Either is there only where it was asked for.
    """

    row: MemoryChangeSet
    title: str | None
    contents: dict[int, str]


def revisions_of(user_id: int, memory_id: int) -> Sequence[MemoryRevision]:
    """Every revision of a memory, oldest first. Raises NotFound."""
    get_memory(user_id, memory_id)
    return db.session.scalars(
        select(MemoryRevision).where(MemoryRevision.memory_id == memory_id).order_by(MemoryRevision.revision)
    ).all()


def values_of(user_id: int, memory_id: int) -> Sequence[Memory]:
    """Every memory that has had the same key, and those it replaced or was replaced by; oldest first."""
    memory = get_memory(user_id, memory_id)
    ties = [Memory.memory_id == memory_id, Memory.superseded_by_id == memory_id]
    if memory.superseded_by_id:
        ties.append(Memory.memory_id == memory.superseded_by_id)
    if memory.fact_key:
        ties.append((Memory.fact_key == memory.fact_key) & (Memory.space_slot == (memory.space_id or 0)))
    return db.session.scalars(
        select(Memory).where(Memory.user_id == user_id, or_(*ties)).order_by(Memory.memory_id).limit(100)
    ).all()


def evidence_of(user_id: int, memory_ids: Iterable[int]) -> dict[int, list[Quoted]]:
    """The evidence of the user's memories, by memory, in the order in which it was said."""
    # Whose they are is looked at here: asked for as well, SQLite would begin with all memories of the user.
    rows = db.session.execute(
        select(MemoryEvidence, Memory.user_id, Message.conversation_id, Conversation.title, Message.superseded_by_id)
        .join(Memory, Memory.memory_id == MemoryEvidence.memory_id)
        .join(Message, Message.message_id == MemoryEvidence.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(MemoryEvidence.memory_id.in_(list(memory_ids)))
        .order_by(MemoryEvidence.said_at, MemoryEvidence.message_id, MemoryEvidence.start)
    ).all()
    found: dict[int, list[Quoted]] = {}
    for row, owner_id, conversation_id, title, superseded in rows:
        if owner_id == user_id:
            found.setdefault(row.memory_id, []).append(Quoted(row, conversation_id, title, superseded is None))
    return found


def restore_revision(user_id: int, memory_id: int, revision: int) -> Memory:
    """Give a memory the fields that it had at a revision, as a new one.

    Raises NotFound, and Conflict when what it said then was forgotten or its key is held by another memory now.
    """
    versions.hold(user_id)
    memory = get_memory(user_id, memory_id, lock=True)
    fields = db.session.scalar(
        select(MemoryRevision.snapshot).where(
            MemoryRevision.memory_id == memory_id, MemoryRevision.revision == revision
        )
    )
    if fields is None:
        raise NotFound("There is no such revision.")
    if is_forgotten(user_id, fields):
        raise Conflict("What this memory said then was forgotten. Forgotten things do not come back.")
    # Words come back, not the audience they had.
    fields = {**fields, "visibility": memory.visibility, "space_id": memory.space_id}
    if _same_fields(snapshot(memory), fields):
        return memory
    journal = Journal(user_id, "restored")
    _put_back(memory, fields)
    check_key(memory)
    journal.changed(memory)
    journal.close({"updated": 1})
    return memory


def list_change_sets(user_id: int, query: PageQuery, *, with_contents: bool = True) -> Page[ChangeSetView]:
    """What jobs and the user did to memories, newest first, keyset-paged. Raises Invalid for a foreign cursor."""
    statement = _titled().where(MemoryChangeSet.user_id == user_id)
    if query.cursor:
        try:
            (last_id,) = Cursor.decode(query.cursor, int)
        except ValueError:
            raise Invalid.field("cursor", "is not a cursor of this list") from None
        statement = statement.where(MemoryChangeSet.change_set_id < max(0, min(last_id, MAX_ID)))
    rows = db.session.execute(statement.order_by(MemoryChangeSet.change_set_id.desc()).limit(query.limit + 1)).all()
    page = Page.of(rows, query.limit, lambda row: (row.MemoryChangeSet.change_set_id,))
    contents = _contents([row.MemoryChangeSet for row in page.items]) if with_contents else {}
    return Page([_view(row.MemoryChangeSet, row.title, contents) for row in page.items], page.next_cursor)


def get_change_set(user_id: int, change_set_id: int) -> ChangeSetView:
    """One change set. Raises NotFound."""
    row = db.session.scalar(
        select(MemoryChangeSet).where(
            MemoryChangeSet.user_id == user_id, MemoryChangeSet.change_set_id == change_set_id
        )
    )
    if row is None:
        raise NotFound("There is no such change set.")
    return view_change_sets([row])[0]


def view_change_sets(rows: Sequence[MemoryChangeSet], *, with_titles: bool = True) -> list[ChangeSetView]:
    """Change sets with what can be told of them, in one query, or two for the titles."""
    contents = _contents(rows)
    ids = {row.conversation_id for row in rows if row.conversation_id} if with_titles else set()
    titles: dict[int, str | None] = {}
    if ids:
        named = select(Conversation.conversation_id, Conversation.title).where(Conversation.conversation_id.in_(ids))
        titles = dict(db.session.execute(named).all())
    return [_view(row, titles.get(row.conversation_id), contents) for row in rows]


def _titled() -> Select[tuple[MemoryChangeSet, str | None]]:
    return select(MemoryChangeSet, Conversation.title).outerjoin(
        Conversation, Conversation.conversation_id == MemoryChangeSet.conversation_id
    )


def _contents(rows: Sequence[MemoryChangeSet]) -> dict[int, str]:
    """What the memories of some change sets say now."""
    ids = {change["memory_id"] for row in rows for change in row.changes}
    found = select(Memory.memory_id, Memory.content).where(Memory.memory_id.in_(ids))
    return dict(db.session.execute(found).all()) if ids else {}


def _view(row: MemoryChangeSet, title: str | None, contents: Mapping[int, str]) -> ChangeSetView:
    return ChangeSetView(
        row, title, {c["memory_id"]: contents[c["memory_id"]] for c in row.changes if c["memory_id"] in contents}
    )


def undo(user_id: int, change_set_id: int) -> ChangeSetView:
    """Put back what a change set changed, as a whole, as a change set of its own.

    Raises NotFound, and Conflict with every memory that stands in the way: changed since, forgotten, or its key taken.
    """
    versions.hold(user_id)
    original = get_change_set(user_id, change_set_id).row
    if original.undone_at is not None:
        raise Conflict("This was undone already.")
    changes = _changes_of(original)
    plan = undoing.plan_undo(changes, _present(user_id, changes))
    if not plan.is_possible:
        raise Conflict(
            "Later changes stand in the way.",
            errors=[
                {
                    "loc": ["changes"],
                    "memory_id": item.ref,
                    "reason": item.obstacle.value,
                    "msg": f"memory {item.ref} {_WHY[item.obstacle]}",
                }
                for item in plan.refused
            ],
        )
    journal = Journal(user_id, "undo", conversation_id=original.conversation_id)
    removed = [step.ref for step in plan.steps if isinstance(step, Remove)]
    if removed:
        for space_id in db.session.scalars(select(Memory.space_id).where(Memory.memory_id.in_(removed))):
            touch(space_id)
        db.session.execute(delete(Memory).where(Memory.memory_id.in_(removed)))
        db.session.expire_all()
    returned = [step for step in plan.steps if isinstance(step, PutBack)]
    for step in returned:
        memory = db.session.get(Memory, step.ref)
        _put_back(memory, step.fields)
        check_key(memory)
        journal.changed(memory)
    dropped = [step for step in plan.steps if isinstance(step, DropEvidence)]
    for step in dropped:
        drop_evidence(MemoryEvidence.evidence_id.in_(step.evidence))
    original.undone_at = now()
    journal.change_set.undoes_id = original.change_set_id
    row = journal.close({"removed": len(removed), "restored": len(returned), "unsupported": len(dropped)})
    row.changes = [*({"memory_id": ref, "before": 1, "after": None, "evidence": []} for ref in removed), *row.changes]
    db.session.flush()
    return view_change_sets([row])[0]


def drop_evidence(*conditions: Any) -> None:
    """Delete evidence rows and count anew what is left with their memories."""
    ids = set(db.session.scalars(select(MemoryEvidence.memory_id).where(*conditions)))
    db.session.execute(delete(MemoryEvidence).where(*conditions).execution_options(synchronize_session=False))
    recount(ids)


def recount(memory_ids: Iterable[int]) -> None:
    """Make `evidence_count` of these memories true."""
    for memory in db.session.scalars(select(Memory).where(Memory.memory_id.in_(list(memory_ids)))):
        memory.evidence_count = db.session.scalar(
            select(func.count()).select_from(MemoryEvidence).where(MemoryEvidence.memory_id == memory.memory_id)
        )
    db.session.flush()


def is_forgotten(user_id: int, fields: Mapping[str, Any]) -> bool:
    """Whether the tombstones forbid a memory with these fields."""
    yard = forgetting.graveyard(user_id)
    return yard.forbids(str(fields.get("content") or ""), fields.get("fact_key"), fields.get("fact_value"))


def _changes_of(row: MemoryChangeSet) -> list[Change]:
    ids = {change["memory_id"] for change in row.changes}
    stored = {
        (revision.memory_id, revision.revision): revision.snapshot
        for revision in db.session.scalars(select(MemoryRevision).where(MemoryRevision.memory_id.in_(ids)))
    }

    def at(memory_id: int, revision: int | None) -> Snapshot | None:
        return None if revision is None else Snapshot(revision, stored.get((memory_id, revision), {}))

    return [
        Change(
            c["memory_id"],
            at(c["memory_id"], c["before"]),
            at(c["memory_id"], c["after"]),
            frozenset(c.get("evidence") or ()),
        )
        for c in row.changes
    ]


def _present(user_id: int, changes: Sequence[Change]) -> Present:
    rows = db.session.scalars(
        select(Memory)
        .where(Memory.user_id == user_id, Memory.memory_id.in_({change.ref for change in changes}))
        .execution_options(populate_existing=True)
    ).all()
    wanted = [change.before.fields for change in changes if change.before and change.before.slot]
    holders: dict[str, int] = {}
    for fields in wanted:
        key = canonical_fact_key(fields.get("fact_key"), fields.get("category"))
        holder = key_holder(user_id, fields.get("fact_key"), fields.get("category"), fields.get("space_id"))
        if key and holder is not None:
            holders[key] = holder
    return Present(
        memories={row.memory_id: Snapshot(row.revision, snapshot(row)) for row in rows},
        key_holders=holders,
        is_forgotten=lambda fields: is_forgotten(user_id, fields),
    )


def _put_back(memory: Memory, fields: Mapping[str, Any]) -> None:
    """Set the fields of a snapshot; a reference to a memory that is gone is dropped."""
    said = memory.content
    touch(memory.space_id)
    restore(memory, dict(fields))
    if memory.space_id is not None and not is_member(memory.user_id, memory.space_id):
        memory.space_id, memory.visibility = None, "private"  # the space was left since
    with db.session.no_autoflush:
        for name in ("superseded_by_id", "contradicts_id"):
            other = getattr(memory, name)
            if other is not None and db.session.get(Memory, other) is None:
                setattr(memory, name, None)
    if memory.content != said:
        memory.embedding = memory.embedding_model = None
    memory.statement_hash = statement_hash(memory.content)


def _same_fields(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return all(left.get(name) == value for name, value in right.items())
