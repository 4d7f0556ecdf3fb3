"""JSON endpoints of shared links."""

from typing import Any

from flask import url_for

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required
from webapp.conversations.schemas import ConversationPath
from webapp.conversations.service import get_conversation
from webapp.extensions import limiter
from webapp.http.answers import commit_empty
from webapp.http.views import ViewResult, absolute, api_blueprint
from webapp.sharing import service
from webapp.sharing.models import ConversationShare
from webapp.sharing.schemas import NewShare, ShareList, ShareOut, SharePath, ShareQuery

blueprint = api_blueprint("sharing_api", __name__, tag="Sharing")

limit_links = limiter.shared_limit("120 per hour", scope="shares", key_func=lambda: f"user:{current_user_id()}")


@blueprint.post("/conversations/<int:conversation_id>/shares", responses={201: ShareOut})
@login_required
@limit_links
@idempotency.idempotent
def create_share(path: ConversationPath, body: NewShare) -> tuple[Any, int]:
    """Share a conversation, or a range of it, by a link."""
    user_id = current_user_id()
    row = service.create_share(user_id, path.conversation_id, body)
    return idempotency.commit(_out(row, get_conversation(user_id, path.conversation_id).title), 201), 201


@blueprint.get("/shares", responses={200: ShareList})
@login_required
def list_shares(query: ShareQuery) -> dict[str, Any]:
    """All links you made, newest first."""
    page = service.list_shares(current_user_id(), query)
    return {"shares": [_out(row, title) for row, title in page.items], "next_cursor": page.next_cursor}


@blueprint.delete("/shares/<int:share_id>", responses={204: None})
@login_required
def revoke_share(path: SharePath) -> ViewResult:
    """End a link at once."""
    service.revoke_share(current_user_id(), path.share_id)
    return commit_empty()


def share_url(row: ConversationShare) -> str:
    """Return the URL of a link, as others open it."""
    return absolute(url_for("sharing_pages.shared", token=row.token))


def _out(row: ConversationShare, title: str | None) -> dict[str, Any]:
    return ShareOut.of(row, title=title, url=share_url(row)).model_dump(mode="json", by_alias=True)
