"""The memories an import brought and those still waiting for review: counting them, and deciding on all of them."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from flask import url_for
from sqlalchemy import Select, func, select

from webapp.db.base import db
from webapp.i18n.request_language import gettext as _
from webapp.memories.models import WAITING, Memory, MemoryRevision
from webapp.memories.review import decisions
from webapp.memories.review.decisions import Group, review_groups
from webapp.memories.rules.user_decisions import Decision
from webapp.transfer.models import Import
from webapp.transfer.readers import READERS
from webapp.transfer.service import PASTED_NAME, get_import

GROUPS = 20
"""The most groups; the newest."""
MAX_IMPORTS = 1_000
"""The most imports, the newest, that are searched for waiting memories."""
BATCH_SIZE = 100
"""The most proposals decided on in one transaction."""


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """Numbers of proposals: decided on, left as contradictions; and the last id considered, or 0."""

    done: int
    left: int
    last_id: int


def import_memories(row: Import) -> Select[int]:
    """Return the ids of the memories that an import brought, or that were learned from it."""
    return select(MemoryRevision.memory_id).where(
        MemoryRevision.change_set_id.in_(row.change_set_ids), MemoryRevision.revision == 1
    )


def group_of(row: Import) -> Group:
    """Return an import as a group of the review."""
    pending = select(func.count()).select_from(_select_waiting(row).subquery())
    reader = READERS.get(row.format or "")
    name = _("your pasted list") if row.filename == PASTED_NAME else row.filename
    return Group(
        name=f"{_(reader.label)}: {name}" if reader and row.filename != PASTED_NAME else name,
        at=row.created_at,
        count=db.session.scalar(pending) or 0,
        place=url_for("proposal_pages.show", import_id=row.import_id),
        statement=import_memories(row),
    )


def decide_batch(user_id: int, import_id: int, decision: Decision, *, after: int = 0) -> DecisionCounts:
    """Apply a decision to an import's next proposals after an id, up to BATCH_SIZE. Raises NotFound.

    The caller continues after `last_id`. What contradicts another memory is left for a decision of its own.
    """
    row = get_import(user_id, import_id)
    ids = db.session.scalars(
        _select_waiting(row).where(Memory.memory_id > after).order_by(Memory.memory_id).limit(BATCH_SIZE)
    ).all()
    if not ids:
        return DecisionCounts(0, 0, 0)
    done, left, _gone = decisions.decide_many(user_id, ids, decision)
    return DecisionCounts(done, left, ids[-1])


def _select_waiting(row: Import) -> Select[int]:
    condition = Memory.user_id == row.user_id
    return select(Memory.memory_id).where(condition, *WAITING, Memory.memory_id.in_(import_memories(row)))


@review_groups.connect
def _groups(_sender: object, *, user_id: int) -> list[Group]:
    pending = set(
        db.session.scalars(
            select(MemoryRevision.change_set_id)
            .join(Memory, Memory.memory_id == MemoryRevision.memory_id)
            .where(Memory.user_id == user_id, *WAITING, MemoryRevision.revision == 1)
            .distinct()
        )
    )
    if not pending:
        return []
    rows: Any = db.session.scalars(
        select(Import).where(Import.user_id == user_id).order_by(Import.import_id.desc()).limit(MAX_IMPORTS)
    )
    newest = islice((row for row in rows.all() if pending.intersection(row.change_set_ids)), GROUPS)
    return [group for row in newest if (group := group_of(row)).count]
