"""Pages of conversations: the workspace, the sidebar, titles, the archive."""

from datetime import datetime
from typing import Any, cast

from flask import Response, g, make_response, redirect, render_template, request, url_for

from webapp.accounts.auth import current_identity, current_user_id
from webapp.conversations import lists, message_views, service
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import ConversationChanges, ConversationQuery
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.http.forms import first_sentence, linked_draft, read_form, sentences
from webapp.http.validation import MAX_TEXT_BYTES, parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, requested_cursor, wants_partial
from webapp.i18n import date_texts
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.providers.model_choice import status
from webapp.rendering import reader_zone
from webapp.spaces.current_space import chosen_space, remember_choice

blueprint = PageBlueprint("conversations_pages", __name__, access="user")
TITLE_LABELS = N_({"title": "A title"})

CHANGED = "conversations:changed"
"""The browser event after which the list is fetched again."""
LIST_LENGTH = 30
OPEN_CONVERSATION_COOKIE = "left"
"""The cookie of an open temporary conversation, for its URL only: its id, and which page shows it."""
UNTITLED = "New conversation"


@blueprint.app_context_processor
def _open_conversation() -> dict[str, Any]:
    return {"current_conversation_id": (request.view_args or {}).get("conversation_id")}


def _has_model() -> bool:
    """Return whether a real model answers the reader; asked once for all parts of a page."""
    if "has_model" not in g:
        g.has_model = status().is_connected
    return cast(bool, g.has_model)


def _load_sidebar() -> message_views.Sidebar:
    """Return the first page of the list; loaded once for the sidebar and the start page."""
    if "sidebar" not in g:
        g.sidebar = message_views.sidebar(current_user_id(), count=LIST_LENGTH, space_id=_space_id())
    return cast(message_views.Sidebar, g.sidebar)


def render_conversation(conversation: Conversation, thread: message_views.Thread | None = None, **extra: Any) -> str:
    """Return a conversation as a page, or, for HTMX, as the part beside the sidebar."""
    message_id = parse_id(request.args.get("at"))
    thread = thread or message_views.thread(conversation.conversation_id, message_id=message_id)
    context: dict[str, Any] = {
        "conversation": conversation,
        "current_conversation_id": conversation.conversation_id,
        "messages": thread.messages,
        "earlier_cursor": thread.earlier_cursor,
        "has_later": thread.has_later,
        "at": message_id,
        "switched_to": None,
        "partial": wants_partial(),
        **linked_draft(),
    }
    return render_template("conversations/page.html", **{**context, **extra})


def render_new(**extra: Any) -> str:
    """Return the workspace before the first message of a new conversation."""
    identity = current_identity()
    context = {
        "greeting": date_texts.greeting(datetime.now(reader_zone()), identity.name if identity else ""),
        "partial": wants_partial(),
        **linked_draft(),
    }
    return render_template("conversations/new.html", **{**context, **extra})


@blueprint.get("/")
def new() -> ViewResult:
    """The empty workspace; `into` switches the browser to that space, or to all of them."""
    answer = make_response(render_new())
    return remember_choice(answer, _space_id()) if "into" in request.args else answer


@blueprint.get("/c/<int:conversation_id>")
def show(conversation_id: int) -> ViewResult:
    """A conversation; with `before`, the page of messages above that one; with `at`, opened at a message."""
    left, _dot, leaving = request.cookies.get(OPEN_CONVERSATION_COOKIE, "").partition(".")
    if left == str(conversation_id):
        # It is being reloaded: undo the leaving that its page reported before anybody sees it gone.
        service.return_to_temporary(current_user_id(), conversation_id, leaving)
        db.session.commit()
    conversation = service.get_conversation(current_user_id(), conversation_id)
    before = parse_id(request.args.get("before"))
    if before is None:
        return render_conversation(conversation)
    thread = message_views.thread(conversation_id, before=before)
    if wants_partial():
        return render_template(
            "chat/_messages.html",
            conversation=conversation,
            messages=thread.messages,
            earlier_cursor=thread.earlier_cursor,
        )
    return render_conversation(conversation, thread)


@blueprint.get("/c/<int:conversation_id>/title")
def title(conversation_id: int) -> ViewResult:
    """The title, being edited, or with `show` as it is."""
    conversation = service.get_conversation(current_user_id(), conversation_id)
    if not wants_partial():
        return render_conversation(conversation, editing=True)
    if request.args.get("place") == "sidebar":
        return render_template("conversations/_sidebar_title.html", conversation=conversation)
    return render_template("conversations/_title.html", conversation=conversation, editing="show" not in request.args)


@blueprint.post("/c/<int:conversation_id>/title")
def rename(conversation_id: int) -> ViewResult:
    """Save a title; from then on it is the user's."""
    in_sidebar = request.form.get("place") == "sidebar"
    try:
        changes = read_form(ConversationChanges)
        if not changes.title:
            raise Invalid.field("title", "must not be empty")
        conversation = service.update_conversation(
            current_user_id(), conversation_id, ConversationChanges(title=changes.title)
        )
    except Invalid as error:
        problem = first_sentence(sentences(error, TITLE_LABELS).values())
        if in_sidebar:
            raise Invalid(problem) from None
        conversation = service.get_conversation(current_user_id(), conversation_id)
        context: dict[str, Any] = {"editing": True, "error": problem}
        if wants_partial():
            return render_template("conversations/_title.html", conversation=conversation, **context), 422
        return render_conversation(conversation, **context), 422
    db.session.commit()
    if not wants_partial():
        return redirect(url_for(".show", conversation_id=conversation_id), 303)
    return render_template(
        "conversations/_renamed.html", conversation=conversation, in_sidebar=in_sidebar, viewing=_open_now()
    )


@blueprint.post("/c/<int:conversation_id>/archive")
def archive(conversation_id: int) -> ViewResult:
    """Take a conversation out of the list; it stays readable and findable."""
    row = service.update_conversation(current_user_id(), conversation_id, ConversationChanges(is_archived=True))
    notice = _("Archived %(title)s.", title=_quoted_title(row))
    return commit_and_notify(notice, url_for(".new"), undo=url_for(".unarchive", conversation_id=conversation_id))


@blueprint.post("/c/<int:conversation_id>/unarchive")
def unarchive(conversation_id: int) -> ViewResult:
    """Put an archived conversation back into the list."""
    row = service.update_conversation(current_user_id(), conversation_id, ConversationChanges(is_archived=False))
    notice = _("Unarchived %(title)s.", title=_quoted_title(row))
    return commit_and_notify(notice, url_for(".show", conversation_id=conversation_id))


@blueprint.post("/c/<int:conversation_id>/delete")
def delete(conversation_id: int) -> ViewResult:
    """Delete a conversation; for a short while it can be restored. A `leaving` that a reload has undone is ignored."""
    hidden = service.hide_conversation(current_user_id(), conversation_id)
    if service.was_reloaded(current_user_id(), conversation_id, request.form.get("leaving", "")):
        db.session.rollback()
        return "", 204
    notice = _("Deleted %(title)s.", title=_quoted_title(hidden))
    return commit_and_notify(notice, url_for(".new"), undo=url_for(".undelete", conversation_id=conversation_id))


@blueprint.post("/c/<int:conversation_id>/undelete")
def undelete(conversation_id: int) -> ViewResult:
    row = service.unhide_conversation(current_user_id(), conversation_id)
    notice = _("Restored %(title)s.", title=_quoted_title(row))
    return commit_and_notify(notice, url_for(".show", conversation_id=conversation_id))


@blueprint.get("/sidebar")
def sidebar() -> ViewResult:
    """A page of the list; `count` is how many are shown, `after` is the last heading shown."""
    view = message_views.sidebar(
        current_user_id(),
        cursor=requested_cursor(),
        count=min(100, max(1, request.args.get("count", LIST_LENGTH, type=int))),
        after=request.args.get("after"),
        space_id=_space_id(),
    )
    if not wants_partial():
        return redirect(url_for(".new"), 303)
    return render_template("conversations/_sidebar_items.html", sidebar=view, current_conversation_id=_open_now())


@blueprint.get("/c/<int:conversation_id>/item")
def sidebar_item(conversation_id: int) -> ViewResult:
    conversation = service.get_conversation(current_user_id(), conversation_id)
    return render_template(
        "conversations/_sidebar_item.html", conversation=conversation, current_conversation_id=_open_now()
    )


@blueprint.post("/c/<int:conversation_id>/seen")
def mark_seen(conversation_id: int) -> Any:
    service.mark_seen(current_user_id(), conversation_id)
    db.session.commit()
    return "", 204


@blueprint.get("/archive")
def archived() -> ViewResult:
    cursor = requested_cursor()
    page = lists.list_conversations(current_user_id(), ConversationQuery(archived=True, cursor=cursor))
    template = "conversations/_archive_rows.html" if wants_partial() and cursor else "conversations/archive.html"
    return render_template(template, conversations=page.items, next_cursor=page.next_cursor)


def _space_id() -> int | None:
    space = chosen_space(current_user_id())
    return space.space_id if space else None


def _quoted_title(conversation: Conversation) -> str:
    return f"“{(conversation.title or _(UNTITLED))[:80]}”"


def commit_and_notify(
    notice: str, location: str, *, undo: str | None = None, undo_label: str = "", trigger: str = CHANGED
) -> ViewResult:
    """Commit, and tell what happened in a notice with an undo: at once for HTMX, else on the next page."""
    if not wants_partial():
        return commit_and_redirect(location, notice, undo or "message")
    db.session.commit()
    action = {"action": (undo_label or _("Undo"), undo), "seconds": 10} if undo else {}
    response = Response(render_template("errors/_toast.html", detail=notice, **action))
    response.headers.update({"HX-Retarget": "#toasts", "HX-Reswap": "beforeend", "HX-Trigger": trigger})
    return response


def _open_now() -> int | None:
    """Return the conversation shown on the page an HTMX request comes from."""
    path = request.headers.get("HX-Current-URL", "").partition("?")[0].partition("#")[0]
    return parse_id(path.rpartition("/c/")[2]) if "/c/" in path else None


blueprint.add_globals(load_sidebar=_load_sidebar, message_limit=MAX_TEXT_BYTES, has_model=_has_model)
