"""Facts about the person of a legacy: a view of the memories of its space. Private until their owner shares them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Select, func

from webapp.db.base import db
from webapp.errors import NotFound, require
from webapp.http.paging import read_rows
from webapp.http.validation import Page, PageQuery
from webapp.legacies.fact_list import KnownFact, category_of, fact_line
from webapp.memories import service
from webapp.memories.models import IN_USE, WAITING, Memory
from webapp.memories.schemas import MemoryChanges, MemoryFields
from webapp.memories.store import forgetting
from webapp.spaces import members
from webapp.spaces.models import Space
from webapp.spaces.service import is_legacy, require_member

MAX_FACTS = 500
"""The most facts of a legacy that are listed, the oldest first."""
MAX_LISTED = 2_000
"""The most facts of a legacy that are considered for a prompt; of more, the newest."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as a reader sees it: `by` names who shares it, None for the reader's own."""

    memory: Memory
    category: str
    is_mine: bool
    by: str | None


def list_facts(user_id: int, space_id: int) -> list[Fact]:
    """Return the reader's own facts of a legacy and those shared with them, in order of extraction. Raises NotFound."""
    return _facts(user_id, _usable_facts(user_id, space_id))


def page_of_facts(user_id: int, space_id: int, query: PageQuery) -> Page[Fact]:
    """Return a page of what `list_facts` lists. Raises NotFound, Invalid."""
    scope, statement = [user_id, space_id], _usable_facts(user_id, space_id)
    page = read_rows("facts of a legacy", query, statement, Memory.memory_id, scope=scope, newest_first=False)
    return Page(_as_facts(user_id, page.items), page.next_cursor)


def view_as_member(user_id: int, space_id: int) -> list[Fact]:
    """Return what another member sees of the legacy: only shared facts, the reader's own included. Raises NotFound."""
    return _facts(user_id, _usable_facts(user_id, space_id).where(Memory.visibility == "shared"))


def count_waiting(user_id: int, space_id: int) -> int:
    """Return how many of the reader's own facts of a legacy wait for their decision. Raises NotFound."""
    _require_legacy(user_id, space_id)
    waiting = service.visible(user_id).where(Memory.space_id == space_id, *WAITING)
    return db.session.scalars(waiting.with_only_columns(func.count())).one()


def facts_for_prompt(user_id: int, space_id: int) -> list[KnownFact]:
    """Return the facts for a user's prompt in a legacy, own and shared, in order of extraction, which is stable."""
    newest = _readable(user_id, space_id).order_by(Memory.memory_id.desc()).limit(MAX_LISTED)
    return list(map(_prompt_fact, reversed(_facts(user_id, newest))))


def _prompt_fact(fact: Fact) -> KnownFact:
    row = fact.memory
    line = fact_line(fact.category, row.content, row.visibility, fact.by)
    return KnownFact(row.memory_id, *line, row.revision, row.content, bool(fact.by), _weight(row))


def _weight(memory: Memory) -> float:
    """Return how telling a fact is: pinned ones first, then by importance, certainty and how often it was said."""
    often = min(memory.evidence_count, 5) * 0.04
    return (1.0 if memory.is_pinned else 0.0) + memory.importance * memory.confidence + often


def add_fact(user_id: int, space_id: int, category: str, content: str, *, shared: bool = False) -> Fact:
    """Write a fact by hand; one in the same words replaces the user's own earlier one. Raises NotFound, Invalid."""
    _require_legacy(user_id, space_id)
    fields = MemoryFields(
        memory_type="preference" if category == "preference" else "fact",
        content=content,
        category=category,
        space_id=space_id,
        visibility="shared" if shared else "private",
    )
    return _fact(user_id, service.create_memory(user_id, fields))


def set_visibility(user_id: int, memory_id: int, visibility: str) -> Fact:
    """Share a fact of one's own with the members of its legacy, or withdraw it everywhere at once. Raises NotFound."""
    memory = _own_fact(user_id, memory_id)
    changes = MemoryChanges(visibility=visibility)
    return _fact(user_id, service.update_memory(user_id, memory.memory_id, changes, cause=_CAUSES[visibility]))


_CAUSES = {"shared": "shared", "private": "withdrawn"}


def delete_fact(user_id: int, memory_id: int) -> None:
    """Forget a fact of one's own for good. Raises NotFound."""
    forgetting.forget_one(user_id, _own_fact(user_id, memory_id).memory_id)


def get_fact(user_id: int, memory_id: int) -> Fact:
    """Return a fact that the reader may see. Raises NotFound."""
    row = db.session.scalar(
        service.readable(user_id)
        .join(Space, (Space.space_id == Memory.space_id) & (Space.kind == "legacy"))
        .where(Memory.memory_id == memory_id)
    )
    return _fact(user_id, require(row, "There is no such fact."))


def _require_legacy(user_id: int, space_id: int) -> None:
    require_member(user_id, space_id)
    if not is_legacy(space_id):
        raise NotFound("There is no such legacy.")


def _own_fact(user_id: int, memory_id: int) -> Memory:
    """Return a fact of the user's own. Raises NotFound for those of others, shared or not."""
    fact = get_fact(user_id, memory_id)
    if not fact.is_mine:
        raise NotFound("There is no such fact.")
    return fact.memory


def _usable_facts(user_id: int, space_id: int) -> Select[Memory]:
    """Return the facts of a legacy that a reader may see, in order of extraction. Raises NotFound."""
    _require_legacy(user_id, space_id)
    return _readable(user_id, space_id).order_by(Memory.memory_id).limit(MAX_FACTS)


def _readable(user_id: int, space_id: int) -> Select[Memory]:
    return (
        service.readable(user_id).where(Memory.space_id == space_id, *IN_USE).execution_options(populate_existing=True)
    )


def _facts(user_id: int, statement: Select[Memory]) -> list[Fact]:
    return _as_facts(user_id, db.session.scalars(statement).all())


def _fact(user_id: int, row: Memory) -> Fact:
    return _as_facts(user_id, [row])[0]


def _as_facts(user_id: int, rows: Sequence[Memory]) -> list[Fact]:
    names = members.names_of({row.user_id for row in rows} - {user_id})
    return [Fact(row, category_of(row.category), row.user_id == user_id, names.get(row.user_id)) for row in rows]
