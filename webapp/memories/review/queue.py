"""The queue of the review: one memory at a time, each decision followed by the next question and a way back.

Nothing is stored: pages and forms carry how many are `done` `of` all, the `cursor` after what is left for later, the
change set `last`, and the discarded one (`held`), forgotten with the next decision.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from flask import redirect, render_template, request
from sqlalchemy import ColumnElement

from webapp.accounts.auth import current_user_id, safe_next
from webapp.db.base import db
from webapp.errors import Conflict, NotFound
from webapp.http.validation import parse_id
from webapp.http.views import ViewResult, requested_cursor, wants_partial
from webapp.memories import service
from webapp.memories.history import revisions
from webapp.memories.models import Memory
from webapp.memories.review import decisions
from webapp.memories.rules.user_decisions import Decision
from webapp.memories.schemas import MemoryChanges, MemoryQuery, ReviewDecision


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Somebody's place in the queue at the URL `here`."""

    here: str
    done: int = 0
    of: int = 0
    cursor: str | None = None
    held: int | None = None
    last: int | None = None

    def fields(self, **changes: Any) -> dict[str, Any]:
        """Return the fields of a URL or form: those that differ from the beginning."""
        position = replace(self, **changes)
        values = {name: getattr(position, name) for name in ("done", "of", "cursor", "held", "last")}
        return {name: value for name, value in values.items() if value}


def requested_position(page: str) -> QueuePosition:
    """Return the position that a request names, in a URL or a form."""
    form = request.values
    done_count, total = (min(max(form.get(name, 0, type=int), 0), 100_000) for name in ("done", "of"))
    held_id, last = (parse_id(form.get(name, "")) for name in ("held", "last"))
    return QueuePosition(page, done_count, total, requested_cursor() or form.get("cursor"), held_id, last)


def show_queue(
    here: str, count: int, *conditions: ColumnElement[bool], part: str = "", error: str = "", **values: Any
) -> str:
    """Render the next decision among the `count` pending memories that meet `conditions`."""
    user_id, position = current_user_id(), requested_position(here)
    if position.held:
        memory = db.session.scalar(service.visible(user_id).where(Memory.memory_id == position.held))
        conditions, count = (*conditions, Memory.memory_id != position.held), count - (memory is not None)
        values["held"] = memory
    query = MemoryQuery(limit=1, cursor=None if error else position.cursor)
    page = decisions.review_queue(user_id, query, *conditions, part=part)
    if error and (asked := parse_id(request.form.get("asked", ""))):
        again = decisions.review_queue(user_id, query, *conditions, Memory.memory_id == asked, part=part)
        if again.items:
            page = again
        else:  # another tab has settled it
            values["note"], error = error, ""
    position = replace(
        position, of=max(position.of, position.done + min(count, 1) if position.of else position.done + count)
    )
    template = "memories/_queue.html" if wants_partial() else "memories/review.html"
    return render_template(
        template,
        item=page.items[0] if page.items else None,
        later=page.next_cursor,
        left=max(count, 0),
        position=position,
        error=error,
        editing="edit" in request.args or "content" in request.form,
        **values,
    )


def decide_next(memory_id: int, body: ReviewDecision) -> ViewResult:
    """Apply a decision made in the queue, and redirect to the next question. Raises as `decide_review`."""
    user_id, position = current_user_id(), requested_position(safe_next(request.form.get("queue")))
    if position.held is not None:  # what was discarded one step before, unless a later decision kept it
        with suppress(NotFound, Conflict):
            decisions.decide_review(user_id, position.held, ReviewDecision(decision=Decision.REJECT))
    position = replace(position, done=position.done + 1, held=None, last=None)
    if body.decision is Decision.REJECT:
        position = replace(position, held=decisions.waiting_memory(user_id, memory_id).memory.memory_id)
    else:
        if content := request.form.get("content"):
            service.update_memory(user_id, memory_id, MemoryChanges(content=content))
        decisions.decide_review(user_id, memory_id, body)
        position = replace(position, last=revisions.revisions_of(user_id, memory_id)[-1].change_set_id)
    db.session.commit()
    return redirect_to_position(position)


def redirect_to_position(position: QueuePosition) -> ViewResult:
    """Redirect to a position of its queue."""
    return redirect(f"{position.here}?{urlencode(position.fields())}", 303)
