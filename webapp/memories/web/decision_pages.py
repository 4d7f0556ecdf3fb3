"""Decisions about memories outside their list: many at once, and the proposals under a reply."""

from typing import Any

from flask import flash, redirect, render_template, request, url_for

from webapp.accounts.auth import current_identity, current_user_id
from webapp.conversations import messages
from webapp.db.base import db
from webapp.errors import Conflict, Invalid, NotFound
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.marks import NN_
from webapp.i18n.request_language import gettext as _, ngettext
from webapp.memories import service
from webapp.memories.models import Memory
from webapp.memories.review import decisions, proposals
from webapp.memories.rules.user_decisions import Decision
from webapp.memories.schemas import MemoryChanges
from webapp.memories.showing import cards
from webapp.memories.store import forgetting
from webapp.memories.web.pages import fragment, undo_in_notice

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
    if not ids:
        raise NotFound("There is no such memory.")
    undo = "message"
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
    user_id = current_user_id()
    try:
        decision = Decision(request.form.get("decision", ""))
    except ValueError:
        raise Invalid.field("decision", "is not one of the choices offered") from None
    if decision not in (Decision.ACCEPT, Decision.REJECT):
        raise Invalid.field("decision", "cannot be made for several at once")
    count, left, gone = decisions.decide_many(user_id, _chosen_ids(), decision)
    db.session.commit()
    sentence = ngettext("%(num)s memory kept.", "%(num)s memories kept.", count)
    if decision is Decision.REJECT:
        sentence = _forgotten_text(count)
    if left:
        sentence += " " + _("%(left)s left as they were: they contradict another.", left=left)
    if gone:
        sentence += " " + _("%(num)s had been settled already.", num=gone)
    flash(sentence, "message")
    return redirect(url_for("memory_activity.review"), 303)


def _chosen_ids() -> list[int]:
    """Return the chosen ids. Raises Invalid for none, or for more than a page holds."""
    ids = sorted({number for text in request.form.getlist("ids") if (number := parse_id(text))})
    if not 0 < len(ids) <= MAX_DECISIONS:
        raise Invalid.field("ids", "choose between one and %(most)s", most=MAX_DECISIONS)
    return ids


def _forgotten_text(number: int) -> str:
    return ngettext("%(num)s memory forgotten.", "%(num)s memories forgotten.", number)


@blueprint.app_context_processor
def _template_values() -> dict[str, Any]:
    return {"proposed_under": proposals_under_reply}


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
