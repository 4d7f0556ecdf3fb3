"""JSON endpoints of shared links."""

from flask import url_for

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.conversations.service import get_conversation
from webapp.extensions import limiter
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id
from webapp.http.views import absolute_url
from webapp.sharing import service
from webapp.sharing.models import ConversationShare
from webapp.sharing.schemas import NewShare, ShareList, ShareOut, ShareQuery

blueprint = api_blueprint("sharing_api", __name__, tag="Sharing", access="user")

limit_links = limiter.shared_limit("120 per hour", scope="shares", key_func=lambda: f"user:{current_user_id()}")


@blueprint.post("/conversations/<int:conversation_id>/shares", status=201)
@limit_links
@idempotency.idempotent
def create_share(conversation_id: Id, body: NewShare) -> ShareOut:
    """Share a conversation, or a range of it, by a link."""
    user_id = current_user_id()
    row = service.create_share(user_id, conversation_id, body)
    return _out(row, get_conversation(user_id, conversation_id).title)


@blueprint.get("/shares")
def list_shares(query: ShareQuery) -> ShareList:
    """All links you made, newest first."""
    return ShareList.of(service.list_shares(current_user_id(), query).map(lambda share: _out(*share)))


@blueprint.delete("/shares/<int:share_id>")
def revoke_share(share_id: Id) -> None:
    """End a link at once."""
    service.revoke_share(current_user_id(), share_id)


def share_url(row: ConversationShare) -> str:
    """Return the URL of a link, as others open it."""
    return absolute_url(url_for("sharing_pages.shared", token=row.token))


def _out(row: ConversationShare, title: str | None) -> ShareOut:
    return ShareOut.of(row, title=title, url=share_url(row))
