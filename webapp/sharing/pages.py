"""Pages of shared links: what visitors see, creating a link, and the user's list."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from flask import Response, make_response, redirect, render_template, request, url_for

from webapp.accounts.auth import current_identity, current_user_id, public
from webapp.conversations.service import get_conversation
from webapp.db.base import now
from webapp.extensions import limiter
from webapp.http.forms import first_sentence, redisplay_form
from webapp.http.validation import MAX_ID, parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, requested_cursor
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.sharing import service
from webapp.sharing.api import limit_links, share_url
from webapp.sharing.schemas import NewShare, ShareQuery

blueprint = PageBlueprint("sharing_pages", __name__, access="user")

EXPIRY_DAYS = {"": None, "1": 1, "7": 7, "30": 30}
VISITS = "120 per minute"
LABELS = N_({"from": "The first message", "to": "The last message"})


@blueprint.get("/s/<token>")
@public
@limiter.limit(VISITS)
def shared(token: str) -> Any:
    """A conversation as its owner shared it; nothing but its messages."""
    after = request.args.get("after", 0, type=int)
    share = service.open_share(token, is_signed_in=current_identity() is not None, after=min(max(0, after), MAX_ID))
    if share is None:
        return redirect(url_for("accounts_pages.login", next=request.path), 303)
    response = make_response(render_template("sharing/shared.html", shared=share, token=token, is_first=after <= 0))
    response.headers["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@blueprint.get("/c/<int:conversation_id>/share")
def share(conversation_id: int) -> str:
    """The form for a new link to a conversation, with the existing ones."""
    return _share_page(conversation_id)


@blueprint.post("/c/<int:conversation_id>/share")
@limit_links
@redisplay_form(lambda errors, conversation_id: _share_page(conversation_id, errors.values()), LABELS)
def create(conversation_id: int) -> ViewResult:
    days = EXPIRY_DAYS.get(request.form.get("expires", ""))
    fields = NewShare(
        live=request.form.get("kind") == "live",
        first=_edge("from"),
        last=_edge("to"),
        audience="accounts" if request.form.get("audience") == "accounts" else "anyone",
        expires_at=None if days is None else now() + timedelta(days=days),
    )
    service.create_share(current_user_id(), conversation_id, fields)
    return commit_and_redirect(
        url_for(".share", conversation_id=conversation_id, _anchor="links-title"), _("Your link is ready.")
    )


@blueprint.get("/shares")
def index() -> str:
    page = service.list_shares(current_user_id(), ShareQuery(cursor=requested_cursor()))
    return render_template("sharing/index.html", shares=page.items, share_url=share_url, next_cursor=page.next_cursor)


@blueprint.post("/shares/<int:share_id>/revoke")
def revoke(share_id: int) -> Response:
    row = service.get_share(current_user_id(), share_id)
    location = url_for(".share", conversation_id=row.conversation_id) if "here" in request.form else url_for(".index")
    service.revoke_share(current_user_id(), share_id)
    return commit_and_redirect(location, _("The link no longer works."))


def _edge(name: str) -> int | None:
    """Return where the range begins or ends; anything but an id becomes one that no message has, to be refused."""
    text = request.form.get(name)
    return (parse_id(text) or MAX_ID) if text else None


def _share_page(conversation_id: int, errors: Iterable[str] = ()) -> str:
    conversation = get_conversation(current_user_id(), conversation_id)
    return render_template(
        "sharing/share.html",
        conversation=conversation,
        shares=service.list_shares(current_user_id(), ShareQuery(conversation_id=conversation_id, limit=100)).items,
        share_url=share_url,
        exchanges=service.list_exchanges(current_user_id(), conversation_id),
        error=first_sentence(errors),
        at=now(),
    )
