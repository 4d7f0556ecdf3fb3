"""Decisions about memories: one by one in the queue of the review, many at once, and the proposals under a reply.

In the queue each decision is followed by the next question and a way back. Nothing is stored: pages and forms carry how
many are `done` `of` all, the `cursor` after what is left for later, the change set `last`, and the discarded one
(`held`), forgotten with the next decision, or by the script when its person goes elsewhere.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from flask import flash, redirect, render_template, request, url_for
from sqlalchemy import ColumnElement

from webapp.accounts.auth import current_identity, current_user_id, safe_next
from webapp.conversations import messages
from webapp.db.base import db
from webapp.errors import Conflict, Invalid, NotFound
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, requested_cursor, wants_partial
from webapp.i18n.marks import NN_
from webapp.i18n.request_language import gettext as _, ngettext
from webapp.memories import service
from webapp.memories.history import revisions
from webapp.memories.models import Memory
from webapp.memories.review import decisions, proposals
from webapp.memories.rules.user_decisions import Decision
from webapp.memories.schemas import MemoryChanges, MemoryQuery, ReviewDecision
from webapp.memories.showing import cards
from webapp.memories.store import forgetting
from webapp.memories.web.pages import fragment, undo_in_notice
from webapp.rendering import reader_zone


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
        decisions.decide_review(user_id, memory_id, body, reader_zone())
        position = replace(position, last=revisions.revisions_of(user_id, memory_id)[-1].change_set_id)
    db.session.commit()
    return redirect_to_position(position)


def redirect_to_position(position: QueuePosition) -> ViewResult:
    """Redirect to a position of its queue."""
    return redirect(f"{position.here}?{urlencode(position.fields())}", 303)


blueprint = PageBlueprint("decision_pages", __name__, access="user")

MAX_DECISIONS = 100
_ACTIONS = {
    "archive": ({"is_archived": True}, "archived", NN_("%(num)s memory archived.", "%(num)s memories archived.")),
    "unarchive": (
        {"is_archived": False},
        "unarchived",
        NN_("%(num)s memory back in use.", "%(num)s memories back in use."),
    ),
    "pin": ({"is_pinned": True}, "pinned", NN_("%(num)s memory pinned.", "%(num)s memories pinned.")),
    "unpin": ({"is_pinned": False}, "unpinned", NN_("%(num)s memory unpinned.", "%(num)s memories unpinned.")),
}


@blueprint.post("/memories/many")
def act() -> ViewResult:
    """Archive, pin or forget the chosen memories that are left; what will be forgotten is shown first."""
    user_id, action = current_user_id(), request.form.get("action", "")
    chosen = service.visible(user_id).where(Memory.memory_id.in_(_chosen_ids())).order_by(Memory.memory_id)
    rows = db.session.scalars(chosen).all()
    ids = [row.memory_id for row in rows]
    undo = "message"
    if not ids:
        return commit_and_redirect(url_for("memories.page", view="rows"), _("Select at least one memory."))
    if action == "forget" and "confirm" not in request.form:
        return render_template("memories/forget_many.html", cards=cards.cards_of(user_id, rows))
    if action == "forget":
        report = forgetting.forget(user_id, ids)
        message = _forgotten_text(len(report.memory_ids))
        if use_count := report.used_in_count:
            message += " " + ngettext(
                "%(num)s reply may say it in other words; Changes links to it.",
                "%(num)s replies may say it in other words; Changes links to them.",
                use_count,
            )
    elif action in _ACTIONS:
        fields, cause, words = _ACTIONS[action]
        change_set_id = service.update_memories(user_id, ids, MemoryChanges(**fields), cause=cause)
        message = ngettext(*words, len(ids))
        undo = undo_in_notice(change_set_id)
    else:
        raise Invalid.field("action", "is not one of the choices offered")
    return commit_and_redirect(url_for("memories.page", view="rows"), message, undo)


@blueprint.post("/memories/review")
def review() -> ViewResult:
    """Keep the chosen memories in review, or say that they are wrong; those that contradict another are skipped."""
    ids, decision = _chosen_ids(), requested_decision()
    count, left, gone = decisions.decide_many(current_user_id(), ids, decision)
    sentence = decided_text(decision, count, left) if ids else _("Select at least one memory.")
    if gone:
        sentence += " " + _("%(num)s had been settled already.", num=gone)
    return commit_and_redirect(url_for("memory_activity.review"), sentence)


def requested_decision() -> Decision:
    """Return the decision about many in a form. Raises Invalid for one that is made about each by itself."""
    decision = request.form.get("decision", "")
    if decision not in (Decision.ACCEPT.value, Decision.REJECT.value):
        raise Invalid.field("decision", "is not one of the choices offered")
    return Decision(decision)


def decided_text(decision: Decision, count: int, left: int) -> str:
    """Return what a decision about many did, and how many contradict another and are left."""
    sentence = ngettext("%(num)s memory kept.", "%(num)s memories kept.", count)
    if decision is Decision.REJECT:
        sentence = _forgotten_text(count)
    if left:
        sentence += " " + _("%(left)s left as they were: they contradict another.", left=left)
    return sentence


def _chosen_ids() -> list[int]:
    """Return the chosen ids, which may be none. Raises Invalid for more than a page holds."""
    ids = sorted({number for text in request.form.getlist("ids") if (number := parse_id(text))})
    if len(ids) > MAX_DECISIONS:
        raise Invalid.field("ids", "choose between one and %(most)s", most=MAX_DECISIONS)
    return ids


def _forgotten_text(number: int) -> str:
    return ngettext("%(num)s memory forgotten.", "%(num)s memories forgotten.", number)


def proposals_under_reply(message: Any) -> list[proposals.Proposal]:
    """Return what a reply proposes to its reader and is still waiting."""
    return proposals.reply_proposals(current_user_id(), message) if current_identity() is not None else []


@blueprint.post("/turns/<int:message_id>/proposals")
def settle(message_id: int) -> ViewResult:
    """Carry out the answer to what a reply proposes: `accept` or `discard`, for the chosen ones."""
    user_id = current_user_id()
    reply = messages.get_message(user_id, message_id)
    decision = request.form.get("decision", "")
    answer = {"accept": proposals.accept, "discard": proposals.discard}.get(decision)
    if answer is None:
        raise Invalid.field("decision", "is not one of the choices offered")
    selection = [item for item in proposals.reply_proposals(user_id, reply) if item.key in request.form.getlist("ids")]
    results = []
    for item in selection:
        try:
            with db.session.begin_nested():
                results.append(answer(user_id, item.key))
        except (NotFound, Conflict):
            continue  # another page has settled it, or it went with one that says the same
    db.session.commit()
    if wants_partial():
        return fragment("chat/_proposals.html", message=reply, done=results, decision=decision, id=message_id)
    flash(_("Decided."), "message")
    location = url_for("conversations_pages.show", conversation_id=reply.conversation_id, _anchor=f"m-{message_id}")
    return redirect(location, 303)


blueprint.add_globals(proposed_under=proposals_under_reply)
