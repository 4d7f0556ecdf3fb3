"""JSON endpoints of folders."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.conversations import folders
from webapp.conversations.schemas import FolderFields, FolderList, FolderOut, FolderPath
from webapp.db.base import db
from webapp.http.answers import commit
from webapp.http.json_api import api_blueprint
from webapp.http.paging import PageQuery

blueprint = api_blueprint("folders_api", __name__, tag="Conversations", access="user")


@blueprint.get("/folders")
def list_folders(query: PageQuery) -> FolderList:
    """List your folders by name."""
    page = folders.list_folders(current_user_id(), query)
    return FolderList(folders=page.items, next_cursor=page.next_cursor)


@blueprint.post("/folders", status=201)
@idempotency.idempotent
def create_folder(body: FolderFields) -> FolderOut:
    """Create a folder."""
    row = folders.create_folder(current_user_id(), body)
    return idempotency.commit(folders.folder_response(row, 0))


@blueprint.patch("/folders/<int:folder_id>")
def rename_folder(path: FolderPath, body: FolderFields) -> FolderOut:
    """Rename a folder."""
    return commit(folders.folder_response(folders.rename_folder(current_user_id(), path.folder_id, body)))


@blueprint.delete("/folders/<int:folder_id>")
def delete_folder(path: FolderPath) -> None:
    """Delete a folder; the conversations in it stay."""
    folders.delete_folder(current_user_id(), path.folder_id)
    db.session.commit()
