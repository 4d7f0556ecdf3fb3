"""Pages and fragments for what happens to memories: review, the change log, extraction, switches, health."""

from collections.abc import Sequence

from flask import flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts.auth import current_user_id, safe_next
from webapp.accounts.service import change_settings, user_settings
from webapp.conversations.messages import get_message
from webapp.conversations.pages import CHANGED as LIST_CHANGED, commit_and_notify
from webapp.conversations.service import get_conversation, hide_conversation
from webapp.db.base import db, now
from webapp.errors import Conflict, Invalid
from webapp.http.forms import sentences
from webapp.http.problems import field_errors
from webapp.http.validation import PageQuery, parse_id
from webapp.http.views import (
    PageBlueprint,
    ViewResult,
    commit_and_redirect,
    redirect_to,
    requested_cursor,
    wants_partial,
)
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, ngettext
from webapp.memories import service
from webapp.memories.history import change_sets, revisions
from webapp.memories.models import Memory, MemoryChangeSet
from webapp.memories.prompt import conversation_memory
from webapp.memories.review import decisions
from webapp.memories.review.decisions import groups_of
from webapp.memories.schemas import MemoryChanges, ReviewDecision
from webapp.memories.showing import cards, texts
from webapp.memories.showing.change_lines import ChangeLine
from webapp.memories.store import forgetting
from webapp.memories.store.reach import Uses, uses_of
from webapp.memories.web.decision_pages import decide_next, redirect_to_position, requested_position, show_queue
from webapp.memories.web.pages import CHANGED, fragment, undo_in_notice
from webapp.rendering import reader_zone

blueprint = PageBlueprint("memory_activity", __name__, access="user")


def uses_of_forgotten(row: MemoryChangeSet) -> Uses:
    """Return the replies that used what a change set forgot, as far as they still exist."""
    return uses_of()(current_user_id(), [change["memory_id"] for change in row.changes])


@blueprint.get("/memories/review")
def review() -> ViewResult:
    """Show what is waiting for a decision, one by one; what came together is a group with a queue of its own."""
    return _review()


@blueprint.post("/memories/<int:memory_id>/review")
def decide(memory_id: int) -> ViewResult:
    """Carry out a decision, and show what it did; in the queue, the next question."""
    if "queue" in request.form:
        try:
            return decide_next(memory_id, _decision())
        except (Invalid, Conflict) as error:
            db.session.rollback()
            return _review(_error_text(error)), 422
    result = decisions.decide_review(current_user_id(), memory_id, _decision(), reader_zone())
    db.session.commit()
    if not wants_partial():
        return commit_and_redirect(url_for(".review"), _("Decided."))
    return fragment(f"memories/{'_used' if isinstance(result, Memory) else '_queue_last'}.html", memory=result)


@blueprint.get("/memories/changes")
def changes() -> ViewResult:
    page = change_sets.list_change_sets(current_user_id(), PageQuery(limit=20, cursor=requested_cursor()))
    template = "memories/_changes.html" if wants_partial() else "memories/changes.html"
    return render_template(template, changes=page.items, next_cursor=page.next_cursor)


@blueprint.get("/memories/changes/<int:change_set_id>")
def change(change_set_id: int) -> ViewResult:
    view = change_sets.get_change_set(current_user_id(), change_set_id)
    if not wants_partial():
        return render_template("memories/changes.html", changes=[view], next_cursor=None, one=True)
    return render_template("memories/_change_body.html", view=view)


@blueprint.post("/memories/changes/<int:change_set_id>/undo")
def undo(change_set_id: int) -> ViewResult:
    """Undo a change as a whole, or say what prevents it."""
    user_id = current_user_id()
    obstacles: list[tuple[str, str, int | None]] = []
    lines: Sequence[ChangeLine] = change_sets.get_change_set(user_id, change_set_id).lines
    try:
        change_sets.undo(user_id, change_set_id)
    except Conflict as error:
        db.session.rollback()
        if "queue" in request.form or "notice" in request.args:
            raise
        obstacles, lines = _obstacles(user_id, error), ()
    db.session.commit()
    if "notice" in request.args:
        flash(_("Undone."), "message")
        return redirect_to(url_for("memories.page"))
    if "queue" in request.form:
        return redirect_to_position(requested_position(safe_next(request.form["queue"])))
    view = change_sets.get_change_set(user_id, change_set_id)
    context = {"view": view, "refused": obstacles, "opened": True, "undone": lines}
    if not wants_partial():
        if not obstacles:
            flash(_("Undone."), "message")
        return render_template(
            "memories/changes.html", changes=[view], next_cursor=None, one=True, refused=obstacles, undone=lines
        )
    if reply_id := parse_id(request.form.get("reply")):
        reply = get_message(user_id, reply_id)
        return fragment("memories/_undone.html", **context, views=[view], message=reply, id=reply_id, turn_id=reply_id)
    return fragment("memories/_change.html", **context)


@blueprint.post("/c/<int:conversation_id>/memory")
def switch_here(conversation_id: int) -> ViewResult:
    """Switch memory on or off in one conversation."""
    conversation_memory.switch_conversation(current_user_id(), conversation_id, request.form.get("on") == "1")
    db.session.commit()
    return _show_switch(url_for("conversations_pages.show", conversation_id=conversation_id), conversation_id)


@blueprint.post("/memories/switch")
def switch_everywhere() -> ViewResult:
    change_settings(current_user_id(), memory_enabled=request.form.get("on") == "1")
    db.session.commit()
    return _show_switch(url_for("memories.page"), request.form.get("conversation", type=int))


@blueprint.get("/memories/health")
def health() -> ViewResult:
    return render_template(
        "memories/health.html", findings=cards.health(current_user_id()), counts=cards.counts(current_user_id())
    )


@blueprint.post("/memories/health/keep/<int:memory_id>")
def keep_one(memory_id: int) -> ViewResult:
    """Archive the other memories of a group of duplicates; or keep them all, which are none then."""
    user_id = current_user_id()
    service.get_memory(user_id, memory_id)
    other_ids = {number for text in request.form.getlist("others") if (number := parse_id(text))} - {memory_id}
    if request.form.get("all"):
        decisions.mark_as_distinct(user_id, {memory_id, *other_ids})
        return commit_and_redirect(url_for(".health"), _("Kept. They are not shown as duplicates again."))
    changes = MemoryChanges(is_archived=True)
    change_set_id = service.update_memories(user_id, sorted(other_ids), changes, cause="archived", kept_id=memory_id)
    undo_at = undo_in_notice(change_set_id)
    words = ngettext("Kept one; %(num)s other archived.", "Kept one; %(num)s others archived.", len(other_ids))
    return commit_and_redirect(url_for(".health"), words, undo_at)


@blueprint.post("/memories/<int:memory_id>/still-true")
def still_true(memory_id: int) -> ViewResult:
    """Record the answer to whether a memory is still true: yes confirms it as of now, no ends it."""
    user_id = current_user_id()
    if request.form.get("answer") == "no":
        service.update_memory(user_id, memory_id, MemoryChanges(valid_to=now()), cause="outdated")
    else:
        decisions.confirm_memory(user_id, memory_id)
    db.session.commit()
    if not wants_partial():
        return commit_and_redirect(url_for(".health"), _("Noted."))
    note = _("No longer true") if request.form.get("answer") == "no" else _("Still true")
    return fragment("memories/_card.html", card=cards.card(user_id, memory_id), note=note)


@blueprint.get("/c/<int:conversation_id>/delete")
def ask_to_delete(conversation_id: int) -> ViewResult:
    """Return what rests on a conversation that is to be deleted."""
    user_id = current_user_id()
    conversation = get_conversation(user_id, conversation_id)
    dependent = revisions.conversation_dependents(user_id, conversation_id)
    context = {"conversation": conversation, "resting": dependent, "cards": cards.cards_of(user_id, dependent.memories)}
    if wants_partial():
        return render_template("memories/_delete.html", **context) if context["cards"] else ("", 204)
    return render_template("memories/delete.html", **context)


@blueprint.post("/c/<int:conversation_id>/delete-with-memories")
def delete_conversation(conversation_id: int) -> ViewResult:
    """Delete a conversation and forget what rests on it alone; the conversation can be restored for a while,
    the memories cannot."""
    user_id = current_user_id()
    dependent = revisions.conversation_dependents(user_id, conversation_id)
    report = forgetting.forget(user_id, dependent.only_here, cause="conversation_deleted")
    hide_conversation(user_id, conversation_id)
    sentence = ngettext(
        "Deleted, and %(num)s memory forgotten.", "Deleted, and %(num)s memories forgotten.", len(report.memory_ids)
    )
    return commit_and_notify(
        sentence,
        url_for("conversations_pages.new"),
        undo=url_for("conversations_pages.undelete", conversation_id=conversation_id),
        undo_label=_("Restore the conversation"),
        trigger=f"{LIST_CHANGED}, {CHANGED}",
    )


def _review(error: str = "") -> str:
    groups = groups_of(current_user_id())
    place = request.form.get("queue")
    for group in groups:
        if group.place == place:
            condition = Memory.memory_id.in_(group.statement)
            return show_queue(place, group.count, condition, part=place, error=error, group=group)
    count = cards.counts(current_user_id()).review - sum(group.count for group in groups)
    ungrouped = [Memory.memory_id.not_in(group.statement) for group in groups]
    return show_queue(url_for(".review"), count, *ungrouped, error=error, groups=groups)


def _decision() -> ReviewDecision:
    fields = {name: request.form.get(name) or None for name in ReviewDecision.model_fields}
    if fields["decision"] != "until":
        del fields["until"]  # the day stands in the form whatever is answered
    try:
        return ReviewDecision.model_validate(fields)
    except ValidationError as error:
        found = Invalid("", errors=field_errors(error, fields))
        wrong_day = sentences(found, {"until": N_("The last day")}).get("until")
        raise Invalid(wrong_day or "Choose one of the answers.") from None


def _error_text(error: Invalid | Conflict) -> str:
    if isinstance(error, Invalid) and error.errors and error.errors[0]["loc"] == ["until"]:
        return N_("Say until when it was true.")
    return error.detail or N_("That no longer applies to these memories.")


def _obstacles(user_id: int, error: Conflict) -> list[tuple[str, str, int | None]]:
    """Return each memory that prevents the undo: its text, the reason, and its id if it still exists."""
    obstacles: list[tuple[str, str, int | None]] = []
    for item in error.errors or []:
        row = db.session.scalar(service.visible(user_id).where(Memory.memory_id == item["memory_id"]))
        words = texts.OBSTACLES.get(item.get("reason", ""), N_("prevents this"))
        obstacles.append((row.content if row else _("A memory"), words, row.memory_id if row else None))
    is_undone = isinstance(error, change_sets.AlreadyUndone)
    return obstacles or [
        (_("This"), N_("has already been undone") if is_undone else N_("can no longer be undone"), None)
    ]


def _show_switch(then: str, conversation_id: int | None) -> ViewResult:
    if not wants_partial():
        return redirect(then, 303)
    conversation = get_conversation(current_user_id(), conversation_id) if conversation_id else None
    state = conversation_memory.switches(current_user_id(), conversation)
    return fragment("memories/_here.html", switches=state, conversation=conversation)


@blueprint.post("/memories/space-documents")
def switch_space_documents() -> ViewResult:
    """Let replies in personal conversations look into documents of the user's spaces, or not."""
    change_settings(current_user_id(), space_documents_enabled=request.form.get("on") == "1")
    db.session.commit()
    if not wants_partial():
        return redirect(url_for("memories.page"), 303)
    return render_template("memories/_space_documents.html")


blueprint.add_globals(
    uses_of_forgotten=uses_of_forgotten,
    space_documents_on=lambda: user_settings(current_user_id()).space_documents_enabled,
)
