"""Pages and fragments that show what replies used, and search over everything."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from flask import Response, flash, g, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts.auth import current_identity, current_user_id
from webapp.conversations import messages
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.errors import Conflict, Invalid
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.memories.web.pages import CORRECTED
from webapp.retrieval import receipt_views, receipts
from webapp.retrieval.schemas import Verdict

blueprint = PageBlueprint("retrieval", __name__, access="user")


def used_under(message: Any) -> receipt_views.UsedCounts:
    """Return how much a reply used."""
    if current_identity() is None:
        return receipt_views.UsedCounts()
    cache: dict[int, receipt_views.UsedCounts] = g.setdefault("used", {})
    if message.message_id not in cache:
        note_replies([message])
    return cache.get(message.message_id, receipt_views.UsedCounts())


def note_replies(messages: Iterable[Any]) -> None:
    """Load what `used_under` will be asked for, for all of these messages at once."""
    ids = [message.message_id for message in messages]
    counts = receipt_views.used_counts(ids) if ids else {}
    g.setdefault("used", {}).update({key: counts.get(key, receipt_views.UsedCounts()) for key in ids})


@blueprint.get("/messages/<int:message_id>/used")
def used(message_id: int) -> ViewResult:
    lines = receipts.receipt_of(current_user_id(), message_id)
    receipt = receipt_views.receipt(current_user_id(), lines)
    if wants_partial():
        return render_template("retrieval/_receipt.html", message_id=message_id, receipt=receipt)
    message = messages.get_message(current_user_id(), message_id)
    return render_template("retrieval/receipt.html", message=message, message_id=message_id, receipt=receipt)


@blueprint.post("/messages/<int:message_id>/used")
def judge(message_id: int) -> ViewResult:
    """Say that something is wrong, outdated, not relevant here, or to be forgotten; its line says what was done."""
    try:
        body = Verdict(kind=request.form.get("kind"), id=request.form.get("id"), verdict=request.form.get("verdict"))
    except ValidationError:
        raise Invalid("Choose one of the answers.") from None
    user_id = current_user_id()
    problem = ""
    try:
        receipts.judge(user_id, message_id, body)
        db.session.commit()
    except Conflict as error:
        db.session.rollback()
        problem = error.detail
    if not wants_partial():
        flash(problem or receipt_views.DONE[body.verdict], "message")
        return redirect(url_for(".used", message_id=message_id), 303)
    lines = [line for line in receipts.receipt_of(user_id, message_id) if (line.kind, line.id) == (body.kind, body.id)]
    view = receipt_views.receipt(user_id, lines[:1])
    line = (view.relevant + view.documents + view.always + view.passed_over)[0]
    html = render_template("retrieval/_line.html", message_id=message_id, item=line, refused=problem)
    return Response(html, headers={"HX-Trigger": CORRECTED})


@blueprint.get("/c/<int:conversation_id>/used")
def used_here(conversation_id: int) -> ViewResult:
    """Return what the newest reply of a conversation used."""
    conversation = get_conversation(current_user_id(), conversation_id)
    if not wants_partial():
        return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)
    return render_template("retrieval/_used_tab.html", conversation=conversation)


def day_in(text: str) -> date | None:
    """Return the day a form names; None if it names none."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


@blueprint.get("/search")
def search() -> ViewResult:
    """The URL of search from the time when it found only conversations."""
    return redirect(url_for(".find", q=request.args.get("q") or None), 301)


@blueprint.get("/find")
def find() -> ViewResult:
    """Everything of the user's, or of one conversation, that matches the words: a page, or the palette's results."""
    q = request.args.get("q", "")[:200].strip()
    kind = request.args.get("kind", "")
    narrowed: dict[str, Any] = {name: day_in(request.args.get(name, "")) for name in ("since", "until")}
    speaker = request.args.get("speaker", "")
    narrowed["speaker"] = (speaker in receipt_views.SPEAKERS and speaker) or None
    narrowed["conversation_id"] = number = parse_id(request.args.get("conversation_id"))
    conversation = get_conversation(current_user_id(), number) if number else None
    kind = kind if kind in receipt_views.FILTERS and not conversation else ""
    results = receipt_views.search(current_user_id(), q, kind, **narrowed)
    template = "retrieval/_results.html" if wants_partial() else "retrieval/search.html"
    names = {"filters": receipt_views.FILTERS, "speakers": receipt_views.SPEAKERS, "conversation": conversation}
    return render_template(template, q=q, kind=kind, results=results, narrowed=narrowed, **names)


blueprint.add_globals(
    used_under=used_under,
    note_replies=note_replies,
    load_used=lambda conversation: receipt_views.newest_receipt(current_user_id(), conversation),
    search_kinds=receipt_views.FILTERS,
)
