"""JSON endpoints of folders."""

from typing import Any

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required
from webapp.conversations import folders
from webapp.conversations.schemas import FolderFields, FolderList, FolderOut, FolderPath
from webapp.http.answers import commit_empty, commit_json
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, api_blueprint

blueprint = api_blueprint("folders_api", __name__, tag="Conversations")


@blueprint.get("/folders", responses={200: FolderList})
@login_required
def list_folders(query: PageQuery) -> dict[str, Any]:
    """List your folders by name."""
    page = folders.list_folders(current_user_id(), query)
    return FolderList(folders=page.items, next_cursor=page.next_cursor).model_dump(mode="json")


@blueprint.post("/folders", responses={201: FolderOut})
@login_required
@idempotency.idempotent
def create_folder(body: FolderFields) -> tuple[Any, int]:
    """Create a folder."""
    row = folders.create_folder(current_user_id(), body)
    return idempotency.commit_json(folders.folder_response(row, 0), 201)


@blueprint.patch("/folders/<int:folder_id>", responses={200: FolderOut})
@login_required
def rename_folder(path: FolderPath, body: FolderFields) -> ViewResult:
    """Rename a folder."""
    return commit_json(folders.folder_response(folders.rename_folder(current_user_id(), path.folder_id, body)))


@blueprint.delete("/folders/<int:folder_id>", responses={204: None})
@login_required
def delete_folder(path: FolderPath) -> ViewResult:
    """Delete a folder; the conversations in it stay."""
    folders.delete_folder(current_user_id(), path.folder_id)
    return commit_empty()
