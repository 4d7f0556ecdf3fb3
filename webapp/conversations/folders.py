"""A user's folders: create, list, rename, delete. Deleting one leaves its conversations in the list."""

from sqlalchemy import Select, func, select, update

from webapp.conversations.models import Conversation, Folder
from webapp.conversations.schemas import FolderFields, FolderOut
from webapp.db.base import add_row, count_rows, db, delete_row, own_row
from webapp.errors import Conflict, require
from webapp.http.paging import read_page
from webapp.http.validation import Page, PageQuery

MAX_FOLDERS = 500


def get_folder(user_id: int, folder_id: int, *, lock: bool = False) -> Folder:
    """Return one of the user's folders; `lock` keeps it from being deleted during the transaction. Raises NotFound."""
    return require(own_row(Folder, user_id, folder_id, lock=lock), "There is no such folder.")


def create_folder(user_id: int, fields: FolderFields) -> Folder:
    """Return a new folder. Raises Conflict for the name of another one, and once there are too many."""
    if count_rows(Folder.user_id == user_id) >= MAX_FOLDERS:
        raise Conflict("You already have %(most_folders)s folders. Delete some first.", most_folders=MAX_FOLDERS)
    _require_free_name(user_id, fields.name)
    return add_row(Folder(user_id=user_id, name=fields.name))


def rename_folder(user_id: int, folder_id: int, fields: FolderFields) -> Folder:
    """Rename a folder. Raises NotFound, and Conflict for the name of another one."""
    row = get_folder(user_id, folder_id)
    _require_free_name(user_id, fields.name, but=folder_id)
    row.name = fields.name
    db.session.flush()
    return row


def _require_free_name(user_id: int, name: str, *, but: int = 0) -> None:
    names = db.session.scalars(select(Folder.name).where(Folder.user_id == user_id, Folder.folder_id != but))
    if name.casefold() in map(str.casefold, names):  # databases differ in what they take for the same
        raise Conflict("You already have a folder of this name.")


def delete_folder(user_id: int, folder_id: int) -> None:
    """Delete a folder; the conversations in it stay. Raises NotFound."""
    row = get_folder(user_id, folder_id, lock=True)
    db.session.execute(
        update(Conversation)
        .where(Conversation.folder_id == folder_id)
        .values(folder_id=None, updated_at=Conversation.updated_at)
    )
    delete_row(row)


def list_folders(user_id: int, query: PageQuery) -> Page[FolderOut]:
    """Return the user's folders by name, with their numbers of conversations. Raises Invalid for a foreign cursor."""
    statement, key = _count_conversations(user_id), (Folder.name, Folder.folder_id)
    page = read_page("folders", query, statement, *key, scope=user_id, newest_first=False)
    return page.map(lambda row: folder_response(row[0], row[1]))


def all_folders(user_id: int) -> list[FolderOut]:
    """Return all of the user's folders, as `list_folders` gives them; there are at most MAX_FOLDERS."""
    return [folder_response(row, count) for row, count in db.session.execute(_count_conversations(user_id))]


def _count_conversations(user_id: int) -> Select[Folder, int]:
    statement = (
        select(func.count())
        .where(Conversation.folder_id == Folder.folder_id, Conversation.deleted_at.is_(None))
        .correlate(Folder)
        .scalar_subquery()
    )
    return select(Folder, statement).where(Folder.user_id == user_id).order_by(Folder.name, Folder.folder_id)


def folder_response(row: Folder, count: int | None = None) -> FolderOut:
    """Return a folder for a response; `count` if it is already known."""
    if count is None:
        count = count_rows(Conversation.folder_id == row.folder_id, Conversation.deleted_at.is_(None))
    return FolderOut.from_row(row, conversation_count=count)
