"""Pages and fragments of memories: the panel, the list, one memory and what can be done with it."""

import re
from collections.abc import Sequence
from typing import Any

from flask import current_app, g, redirect, render_template, request, url_for
from sqlalchemy import select

from webapp.accounts.auth import current_identity, current_user_id
from webapp.background.queues import background_failure
from webapp.conversations.message_views import MESSAGES_SHOWN
from webapp.conversations.models import Message
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.errors import Conflict, Invalid, NotFound
from webapp.extensions import redis
from webapp.http.forms import read_form, sentences
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.memories import service
from webapp.memories.history import change_sets
from webapp.memories.history.revisions import restore_revision, revisions_of
from webapp.memories.prompt.conversation_memory import switches
from webapp.memories.schemas import MemoryChanges, MemoryFields, RestoreRevision
from webapp.memories.showing import cards, facets, texts
from webapp.memories.store import forgetting
from webapp.memories.web.panel import read_filters

blueprint = PageBlueprint("memories", __name__, access="user")

CHANGED = "memories:changed"
"""The browser event after which the panel is fetched again."""
CORRECTED = f"{CHANGED}, memories:corrected"
"""The events after the person changed memory by hand: what replies show as remembered is fetched again, too."""
_SHOWN_STATES = re.compile(r"(\d{1,18}) ?([\w. ]*)", re.ASCII)
_KEY_TAKEN = N_("There is already a memory for this. Change that one, or archive it first.")
LABELS = N_({"content": "The memory", "category": "The category", "memory_type": "The kind", "until": "The last day"})


def review_count() -> int:
    """Return how many memories are waiting for a decision; queried once per page."""
    if "review_count" not in g:
        g.review_count = cards.counts(current_user_id()).review
    return int(g.review_count)


def changes_under_reply(message: Any) -> list[change_sets.ChangeSetView]:
    """Return what was remembered from the turn of a reply; one query for all later messages on the page."""
    if current_identity() is None:
        return []
    cache: dict[int, list[change_sets.ChangeSetView]] = g.setdefault("remembered", {})
    if message.message_id not in cache:
        note_messages([message])
    return cache[message.message_id]


def changes_since(conversation_id: int, shown: Sequence[str]) -> dict[int, list[change_sets.ChangeSetView]]:
    """Return, by reply, what is remembered where it differs from `shown`: an id and its states, with spaces."""
    states = {int(match[1]): match[2] for match in map(_SHOWN_STATES.fullmatch, shown[:MESSAGES_SHOWN]) if match}
    statement = select(Message).where(Message.message_id.in_(states), Message.conversation_id == conversation_id)
    replies = list(db.session.scalars(statement)) if states else []
    note_messages(replies)
    found = {row.message_id: changes_under_reply(row) for row in replies}
    return {key: views for key, views in found.items() if " ".join(view.state for view in views) != states[key]}


def note_messages(messages: list[Any]) -> None:
    """Load what `remembered_under` will need, for all of these messages at once."""
    ids = list({key for message in messages for key in (message.reply_to_id, message.message_id) if key})
    changes = cards.changes_by_message(current_user_id(), ids) if ids else {}
    cache = g.setdefault("remembered", {})
    for message in messages:
        keys = (message.reply_to_id, message.message_id)
        cache[message.message_id] = [view for key in keys if key for view in changes.get(key, ())]


@blueprint.get("/memory")
def page() -> ViewResult:
    user_id, filters = current_user_id(), read_filters()
    filters.limit = 100
    context = cards.panel(user_id, None, filters, is_beside=False)
    g.review_count = context.counts.review
    return render_template("memories/page.html", panel=context)


@blueprint.get("/memories/panel")
def panel() -> ViewResult:
    """The updated panel, as fragments; of a `part`, only what is below its switches (`rest`) or was `moved`."""
    number = request.args.get("conversation", type=int)
    if not wants_partial():
        return redirect(url_for(".page"), 303)
    try:
        conversation = get_conversation(current_user_id(), number) if number else None
    except NotFound:  # just deleted, and still on the page that asks
        conversation = None
    part = request.args.get("part")
    if part == "moved":
        context = {"conversation": conversation, "switches": switches(current_user_id(), conversation)}
        return render_template("memories/_panel_moved.html", **context)
    filters = read_filters(conversation, arrives=part == "rest" or "moved" in request.args)
    view = cards.panel(current_user_id(), conversation, filters)
    return render_template(f"memories/{'_panel_rest' if part == 'rest' else '_refresh'}.html", panel=view)


@blueprint.get("/memories/list")
def list_memories() -> ViewResult:
    filters = read_filters()
    if not wants_partial():
        arguments: dict[str, Any] = filters.as_args()
        return redirect(url_for(".page", **arguments), 303)
    return render_template("memories/_list.html", filters=filters, cards=cards.cards(current_user_id(), filters))


@blueprint.get("/memories/new")
def new() -> ViewResult:
    return _render_form(errors={}, values=request.args, is_open="closed" not in request.args)


def _render_form(**context: Any) -> str:
    return render_template("memories/_add.html" if wants_partial() else "memories/add.html", **context)


@blueprint.post("/memories")
def create() -> ViewResult:
    """Store what the user wrote; it replaces a memory that says the same."""
    try:
        row = service.create_memory(current_user_id(), read_form(MemoryFields))
    except Invalid as error:
        return _render_form(errors=sentences(error, LABELS), values=request.form, is_open=True), 422
    db.session.commit()
    if not wants_partial():
        return commit_and_redirect(url_for(".page", space=row.space_id), _("Remembered."))
    return fragment("memories/_added.html", card=cards.card(current_user_id(), row.memory_id), note="Remembered")


@blueprint.get("/memories/<int:memory_id>")
def show(memory_id: int) -> ViewResult:
    """One memory: its card, or a page with its quotes and history."""
    card = cards.card(current_user_id(), memory_id)
    if wants_partial():
        template = "_card_body" if request.args.get("part") == "body" else "_card"
        return render_template(f"memories/{template}.html", card=card, opened=True)
    return _render_memory(card)


@blueprint.get("/memories/<int:memory_id>/edit")
def edit(memory_id: int) -> ViewResult:
    card = _own_card(memory_id)
    if wants_partial():
        return render_template("memories/_edit.html", card=card, errors={}, values={})
    return _render_memory(card, editing=True)


@blueprint.post("/memories/<int:memory_id>/edit")
def save(memory_id: int) -> ViewResult:
    """Save an edit as a new revision; one based on an older wording is refused, with both shown."""
    card = _own_card(memory_id)
    seen = request.form.get("revision", type=int)
    try:
        if seen is not None and seen != card.memory.revision:
            raise Conflict("This memory was changed in the meantime. It now says what is shown above.")
        row = service.update_memory(current_user_id(), memory_id, read_form(MemoryChanges))
    except (Invalid, Conflict) as error:
        db.session.rollback()
        card = cards.card(current_user_id(), memory_id)
        problems = {"": _KEY_TAKEN if error.errors else error.detail}
        if isinstance(error, Invalid):
            problems = sentences(error, LABELS)
        context = {"errors": problems, "values": request.form, "clash": isinstance(error, Conflict)}
        if wants_partial():
            return render_template("memories/_edit.html", card=card, **context), 422
        return _render_memory(card, editing=True, **context), 422
    return _show_card(memory_id, _("Saved as revision %(revision)s", revision=row.revision))


@blueprint.post("/memories/<int:memory_id>/pin")
def pin(memory_id: int) -> ViewResult:
    """Put a memory into every prompt, or stop doing so."""
    pinned = request.form.get("on") != "0"
    changes, cause = MemoryChanges(is_pinned=pinned), "pinned" if pinned else "unpinned"
    service.update_memory(current_user_id(), memory_id, changes, cause=cause)
    return _show_card(memory_id, _("Pinned: included in every reply") if pinned else _("No longer pinned"))


@blueprint.post("/memories/<int:memory_id>/archive")
def archive(memory_id: int) -> ViewResult:
    """Archive a memory, or restore it."""
    archived = request.form.get("on") != "0"
    service.archive_memory(current_user_id(), memory_id, archived)
    return _show_card(memory_id, _("Archived: replies no longer use it") if archived else _("Back in use"))


@blueprint.get("/memories/<int:memory_id>/forget")
def ask_to_forget(memory_id: int) -> ViewResult:
    """Return what forgetting will remove, with one confirmation."""
    card = _own_card(memory_id)
    wordings = len(revisions_of(current_user_id(), memory_id)) - 1
    if wants_partial():
        return render_template("memories/_forget.html", card=card, wordings=wordings)
    return _render_memory(card, forgetting=True, wordings=wordings)


@blueprint.post("/memories/<int:memory_id>/forget")
def forget(memory_id: int) -> ViewResult:
    """Forget for good, and report what was removed."""
    report = forgetting.forget_one(current_user_id(), memory_id, whole_key="whole_key" in request.form)
    db.session.commit()
    context = {"memory_id": memory_id, "report": report}
    if not wants_partial():
        return render_template("memories/forgotten.html", **context)
    return fragment("memories/_forgotten.html", **context)


@blueprint.get("/memories/<int:memory_id>/history")
def revisions(memory_id: int) -> ViewResult:
    """Every wording a memory has had, newest first."""
    if not wants_partial():
        return redirect(url_for(".show", memory_id=memory_id), 303)
    return render_template("memories/_history.html", **cards.earlier_values(current_user_id(), memory_id))


@blueprint.post("/memories/<int:memory_id>/restore")
def restore(memory_id: int) -> ViewResult:
    row = restore_revision(current_user_id(), memory_id, read_form(RestoreRevision).revision)
    return _show_card(memory_id, _("Restored as revision %(revision)s", revision=row.revision))


def _own_card(memory_id: int) -> cards.Card:
    """Return a memory of the user's own; memories that others share can be read, not changed."""
    return cards.cards_of(current_user_id(), [service.get_memory(current_user_id(), memory_id)])[0]


def _render_memory(card: cards.Card, **context: Any) -> str:
    return render_template(
        "memories/memory.html",
        **({"card": card, "opened": True, **cards.earlier_values(current_user_id(), card.memory.memory_id)} | context),
    )


def _show_card(memory_id: int, note: str) -> ViewResult:
    """Commit, and render the card with a note about what just happened; without HTMX, redirect to its page."""
    db.session.commit()
    if not wants_partial():
        return commit_and_redirect(url_for(".show", memory_id=memory_id), f"{note}.")
    return fragment("memories/_card.html", card=cards.card(current_user_id(), memory_id), note=note, opened=True)


def undo_in_notice(change_set_id: int | None) -> str:
    """Return where a notice undoes a change; without one it is a message alone."""
    return url_for("memory_activity.undo", change_set_id=change_set_id, notice=1) if change_set_id else "message"


def fragment(template: str, **context: Any) -> ViewResult:
    """Render part of a page, with an event that tells the other parts that memory has changed."""
    response = current_app.make_response(render_template(template, **context))
    response.headers["HX-Trigger"] = CORRECTED
    return response


blueprint.add_globals(
    load_switches=lambda conversation=None: switches(current_user_id(), conversation),
    remembered_under=changes_under_reply,
    load_facets=lambda filters, spaces: facets.facets(current_user_id(), filters, spaces),
    other_lists=lambda: cards.other_lists(current_user_id()),
    review_count=review_count,
    memories_wait=lambda: bool(background_failure(redis())),
    note_messages=note_messages,
    memory_words=texts,
)
