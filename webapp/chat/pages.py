"""Pages and fragments of turns: send, watch, stop, retry, edit, earlier versions."""

from typing import Any

from flask import Response, make_response, redirect, render_template, request, stream_with_context, url_for
from redis.exceptions import RedisError

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, require_identity
from webapp.accounts.identity import is_admin
from webapp.accounts.pages import learn_from_browser
from webapp.chat import service, sse
from webapp.chat.api import limit_turns
from webapp.chat.composer_form import read_message, read_origins
from webapp.chat.livehtml import MEMORIES_CHANGED, html_events
from webapp.chat.schemas import EditedMessage
from webapp.chat.turns import turnlog
from webapp.chat.turns.follow import follow, stored_entries, watch
from webapp.chat.turns.runtime import runtime
from webapp.conversations import message_views, messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.pages import CHANGED, render_conversation, render_new
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.errors import Invalid, NotFound
from webapp.extensions import redis, this_app
from webapp.http.forms import read_form, sentences
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.llm.errors import MissingKey, ModelNotFound, Unauthorized, split_reason
from webapp.memories.web.pages import changes_since
from webapp.providers.model_choice import check_choice, remember_choice, remembered_parameters

blueprint = PageBlueprint("chat_pages", __name__, access="user")

SET_UP_ERRORS = frozenset({MissingKey.code, Unauthorized.code, ModelNotFound.code})
LABELS = N_({"content": "The message"})
WAIT_SECONDS = 25.0
"""How long a page without scripts waits for the reply before it is shown unfinished."""


def failure_of(message: Message) -> str:
    """Return why a reply failed, in words for its reader: only an administrator is told what they alone can fix."""
    if message.error_code in SET_UP_ERRORS and not is_admin():
        return _("The assistant is not set up correctly. Please tell your administrator.")
    detail, reason = split_reason(message.error_detail or N_("The model did not answer."))
    return f"{_(detail)} {_('The model server says: “%(reason)s”.', reason=reason)}" if reason else _(detail)


def is_settling(message: Any) -> bool:
    """Return whether a finished reply's title or memories are still to be announced; False while Redis is away."""
    if message.role != "assistant" or message.status not in ("complete", "stopped"):
        return False
    try:
        return turnlog.is_settling(redis(), message.message_id)
    except RedisError:
        return False


def _repeated_answer(answer: dict[str, Any], _status: int) -> ViewResult:
    """Answer a message that had already arrived with the turn that it started then."""
    return _show_sent(get_conversation(current_user_id(), answer["conversation_id"]), answer)


@blueprint.post("/conversations")
@limit_turns
@idempotency.idempotent(replay=_repeated_answer)
def start() -> ViewResult:
    """Send the first message of a new conversation."""
    try:
        message = read_message()
    except Invalid as error:
        return _show_problem(error, render_new)
    model = message.pop("model")  # the conversation's from now on
    check_choice(model)
    learn_from_browser()
    new = NewConversation(
        is_temporary="is_temporary" in request.form,
        space_id=request.form.get("space_id", type=int),
        persona=request.form.get("persona") or None,
        model=model,
        parameters=remembered_parameters(),
        uses_web="uses_web" in request.form,
    )
    turn = service.start_turn(current_user_id(), new=new, **message)
    remember_choice(model)
    return launch_turn(turn, is_new=True)


@blueprint.post("/c/<int:conversation_id>/messages")
@limit_turns
@idempotency.idempotent(replay=_repeated_answer)
def send(conversation_id: int) -> ViewResult:
    try:
        message = read_message()
    except Invalid as error:
        conversation = get_conversation(current_user_id(), conversation_id)
        return _show_problem(error, lambda **context: render_conversation(conversation, **context))
    learn_from_browser()
    return launch_turn(service.start_turn(current_user_id(), conversation_id=conversation_id, **message))


@blueprint.get("/c/<int:conversation_id>/news")
def news(conversation_id: int) -> ViewResult:
    """Return what was said elsewhere, or `remembered`, since a page that ends in `shown`; 204 if nothing."""
    if not wants_partial():
        return redirect(conversation_url(conversation_id), 303)
    conversation = get_conversation(current_user_id(), conversation_id)
    context = _newer_messages(conversation, parse_id(request.args.get("shown")))
    is_same = not context["messages"] and not context["redraw"]
    remembered = changes_since(conversation_id, request.args.getlist("remembered")) if is_same else {}
    new_title = conversation.title if request.args.get("title", conversation.title) != conversation.title else None
    if is_same and not remembered and not new_title:
        return "", 204
    context |= {"title": new_title, "remembered": remembered}
    response = make_response(render_template("chat/_news.html", conversation=conversation, **context))
    if context["messages"] or remembered:
        response.headers["HX-Trigger"] = f"{CHANGED}, {MEMORIES_CHANGED}"
    return response


@blueprint.get("/turns/<int:message_id>/events")
def events(message_id: int) -> ViewResult:
    """Stream a reply's HTML to the end of its jobs; with `settling`, to a page that shows the finished reply."""
    conversation_id = service.get_reply(current_user_id(), message_id).conversation_id
    db.session.remove()
    app, hub = this_app(), runtime().hub
    backlog = turnlog.read(redis(), message_id) or stored_entries(app, message_id) or []
    db.session.remove()
    live = follow(app, hub, message_id, after=backlog[-1].id if backlog else "", jobs=True)
    if backlog and backlog[-1].id.startswith("0-"):
        live = iter(())  # read from the tables: the stream is gone
    identity = require_identity()
    watched = watch(app, identity, live)
    stream = html_events(message_id, conversation_id, backlog, watched, has_reply="settling" in request.args)
    return sse.response(sse.viewer_stream(identity.user_id, stream_with_context(stream)))


@blueprint.post("/c/<int:conversation_id>/stop")
def stop(conversation_id: int) -> ViewResult:
    """Stop the reply that is being written; what has arrived is kept."""
    reply_id = service.stop_current(current_user_id(), conversation_id)
    if wants_partial():
        return "", 204
    if reply_id is not None:
        _wait(reply_id)
    return redirect(conversation_url(conversation_id, reply_id), 303)


@blueprint.post("/turns/<int:message_id>/retry")
@limit_turns
def retry(message_id: int) -> ViewResult:
    """Answer again where a reply was not finished."""
    return launch_turn(service.retry_turn(current_user_id(), message_id), redraw=True)


@blueprint.post("/turns/<int:message_id>/regenerate")
@limit_turns
def regenerate(message_id: int) -> ViewResult:
    """Write another version of a reply, with an `instruction` and by a `model` if they are given."""
    instruction = request.form.get("instruction", "").replace("\x00", "").strip()[:500]
    model = request.form.get("model", "").strip()[:220] or None
    turn = service.regenerate(current_user_id(), message_id, instruction=instruction, model=model)
    return launch_turn(turn, redraw=True)


@blueprint.get("/messages/<int:message_id>")
def message(message_id: int) -> ViewResult:
    """Show a message in its place in the conversation."""
    row = messages.get_message(current_user_id(), message_id)
    if not wants_partial():
        return redirect(url_for("conversations_pages.show", conversation_id=row.conversation_id, at=message_id), 303)
    return render_template("chat/_message.html", view=message_views.view_of(row))


@blueprint.get("/messages/<int:message_id>/edit")
def edit(message_id: int) -> ViewResult:
    row = messages.get_message(current_user_id(), message_id)
    if row.role != "user":
        raise NotFound("There is no such message of yours.")
    return render_template("chat/_edit.html" if wants_partial() else "chat/edit.html", message=row, errors={})


@blueprint.post("/messages/<int:message_id>/edit")
@limit_turns
def resend(message_id: int) -> ViewResult:
    """Send an edited message; what followed is superseded, not lost."""
    before = messages.get_message(current_user_id(), message_id)
    try:
        body = read_form(EditedMessage)
        spans = read_origins(body.content)
    except Invalid as error:
        context = {"message": before, "content": request.form.get("content", ""), "errors": sentences(error, LABELS)}
        return render_template("chat/_edit.html" if wants_partial() else "chat/edit.html", **context), 422
    return launch_turn(service.edit_message(current_user_id(), message_id, body.content, spans), redraw=True)


def launch_turn(turn: service.StartedTurn, *, is_new: bool = False, redraw: bool = False) -> ViewResult:
    answer = {**turn.header, "is_new": is_new, "redraw": redraw}
    idempotency.commit(answer)
    service.launch(turn)
    if not wants_partial():
        _wait(answer["assistant_message_id"])
        return redirect(conversation_url(answer["conversation_id"], answer["user_message_id"]), 303)
    return _show_sent(turn.conversation, answer)


def _show_sent(conversation: Conversation, answer: dict[str, Any]) -> Response:
    if answer["is_new"] or answer["redraw"]:
        response = make_response(render_conversation(conversation))
        response.headers["HX-Push-Url" if answer["is_new"] else "HX-Replace-Url"] = conversation_url(
            conversation.conversation_id
        )
    else:
        # Include what was said elsewhere in the meantime, so that nothing is missing before it.
        response = make_response(
            render_template(
                "chat/_news.html",
                conversation=conversation,
                is_sent=True,
                remembered={},
                **_newer_messages(conversation, parse_id(request.headers.get("Last-Message"))),
            )
        )
    response.headers["HX-Trigger"] = CHANGED
    return response


def _newer_messages(conversation: Conversation, last_id: int | None) -> dict[str, Any]:
    """Return what to append to a thread after the last message it shows: what came after, or all of it again."""
    views = message_views.messages_since(conversation.conversation_id, last_id)
    if views is None:
        thread = message_views.thread(conversation.conversation_id)
        return {"redraw": True, "messages": thread.messages, "earlier_cursor": thread.earlier_cursor}
    return {"redraw": False, "messages": views}


def _show_problem(error: Invalid, render_page: Any) -> ViewResult:
    """Show why a message cannot be sent, beside the composer, which keeps the text."""
    errors = sentences(error, LABELS)
    if wants_partial():
        return render_template("chat/_composer_error.html", errors=errors), 422
    return render_page(errors=errors, content=request.form.get("content", "")), 422


def _wait(reply_id: int) -> None:
    """Wait for a reply on behalf of a page that cannot watch it; no database connection is held while waiting."""
    app = this_app()
    db.session.remove()
    for _entry in follow(app, runtime().hub, reply_id, patience=WAIT_SECONDS):
        pass


def conversation_url(conversation_id: int, message_id: int | None = None) -> str:
    """Return the URL of a conversation's page, at a message if one is given."""
    anchor = f"m-{message_id}" if message_id else None
    return url_for("conversations_pages.show", conversation_id=conversation_id, _anchor=anchor)


blueprint.add_globals(is_settling=is_settling, failure_of=failure_of)
