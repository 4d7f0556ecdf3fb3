"""A user's imports: upload, examine, start, cancel, undo, list. Other people's are treated as unknown."""

from collections.abc import Collection
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any, get_args

from sqlalchemy import Select, select
from werkzeug.datastructures import FileStorage

from webapp.accounts.service import get_user
from webapp.accounts.signals import account_deleted
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation
from webapp.db.base import add_row, after_commit, db, now
from webapp.errors import Conflict, Invalid, TooLarge, require
from webapp.extensions import app_settings
from webapp.http.paging import read_page, read_rows
from webapp.http.validation import MAX_ID, Page, PageQuery
from webapp.memories.store.copies import redact_value
from webapp.memories.store.forgetting import pre_forget
from webapp.spaces.service import require_member
from webapp.transfer import import_undo, storage
from webapp.transfer.models import Export, Import, ImportItem
from webapp.transfer.readers import READERS
from webapp.transfer.restore import job as restoring
from webapp.transfer.schemas import ImportedKind, ItemQuery, PastedImport, StartImport

PASTED_NAME = "Pasted text.txt"
"""The name of an import that was pasted."""
MAX_CONCURRENT = 3
"""The most imports of one user that are examined or run at the same time."""
STALLED_FOR, LEARNING_STALLED_FOR = timedelta(minutes=3), timedelta(minutes=5)
"""How long nothing has happened to what has stalled; learning waits for a model."""
MAX_READY = 10
"""The most imports of one user that have been examined and wait to be started."""


def upload(user_id: int, file: FileStorage, reader: str | None) -> Import:
    """Store an uploaded export and have it examined. Raises Invalid, TooLarge, Conflict."""
    _check(user_id, reader)
    stored_as, size = storage.store(file)
    if size > app_settings().max_import_bytes:
        storage.drop(stored_as)
        raise TooLarge("The file is larger than %(size)s MB.", size=app_settings().max_import_bytes // 1024**2)
    if not size:
        storage.drop(stored_as)
        raise Invalid.field("file", "The file is empty.")
    return add_stored(user_id, file.filename or "export", stored_as, size, reader)


def paste(user_id: int, fields: PastedImport) -> Import:
    """Store pasted memories and have them examined. Raises Invalid, Conflict."""
    _check(user_id, fields.format)
    stored_as, size = storage.store(fields.text)
    return add_stored(user_id, PASTED_NAME, stored_as, size, fields.format or "list")


def add_stored(
    user_id: int, filename: str, stored_as: str, size: int, reader: str | None, *, by_job: bool = True
) -> Import:
    """Add an import of a stored file, which a job examines or, without one, the caller."""
    row = Import(
        user_id=user_id,
        filename=filename.replace("\x00", "")[-255:] or "export",
        stored_as=stored_as,
        size=min(size, MAX_ID),
        format=reader,
        counts={},
        change_set_ids=[],
    )
    add_row(row)
    if by_job:
        enqueue_after_commit("look_at_import", import_id=row.import_id)
    return row


def get_import(user_id: int, import_id: int, *, lock: bool = False) -> Import:
    """Return one of the user's imports. Raises NotFound."""
    query = _imports_of(user_id).where(Import.import_id == import_id)
    return require(db.session.scalar(query.with_for_update() if lock else query), "There is no such import.")


def list_imports(user_id: int, query: PageQuery) -> Page[Import]:
    """Return the user's imports, newest first. Raises Invalid for a foreign cursor."""
    return read_rows("imports", query, _imports_of(user_id), Import.import_id, scope=user_id)


def list_items(user_id: int, import_id: int, query: ItemQuery) -> Page[ImportItem]:
    """Return an import's outcomes in order; a deleted conversation has no target. Raises NotFound, Invalid."""
    get_import(user_id, import_id)
    is_titled = (ImportItem.kind == "conversation") & (Conversation.conversation_id == ImportItem.target_id)
    statement = (
        select(ImportItem, Conversation.title, Conversation.conversation_id)
        .outerjoin(Conversation, is_titled & (Conversation.user_id == user_id) & Conversation.deleted_at.is_(None))
        .where(ImportItem.import_id == import_id)
    )
    if query.outcome == "incomplete":
        statement = statement.where(ImportItem.left_out.is_not(None))
    elif query.outcome:
        statement = statement.where(ImportItem.outcome == query.outcome)
    key = ImportItem.item_id
    page = read_page("parts of an import", query, statement, key, scope=import_id, newest_first=False)
    for item, title, conversation_id, _ in page.items:
        db.session.expunge(item)
        if item.kind == "conversation" and item.target_id and conversation_id is None:
            item.target_id = None
        else:
            item.title = item.title or title or "Untitled"
    return page.map(lambda row: row.ImportItem)


def stalled_jobs() -> dict[str, list[int]]:
    """Return the imports and exports that should be making progress but are not, by the job that continues them."""
    before, before_learning = now() - STALLED_FOR, now() - LEARNING_STALLED_FOR
    imports = select(Import.import_id)
    statements = {
        "look_at_import": imports.where(Import.status == "reading", Import.updated_at < before),
        "import": imports.where(Import.status == "running", Import.updated_at < before),
        "undo_import": imports.where(Import.undo_status == "running", Import.updated_at < before),
        "export": select(Export.export_id).where(Export.status == "waiting", Export.created_at < before),
        "learn": imports.where(Import.learn_status == "running", Import.updated_at < before_learning),
    }
    return {job: list(db.session.scalars(statement)) for job, statement in statements.items()}


def start(user_id: int, import_id: int, fields: StartImport) -> Import:
    """Start importing a file that has been examined. Raises NotFound, Conflict."""
    row = get_import(user_id, import_id, lock=True)
    if row.status != "ready":
        raise Conflict("This import is still being checked." if row.status == "reading" else "This import has ended.")
    if fields.space_id is not None:
        require_member(user_id, fields.space_id)
    options: dict[str, Any] = fields.model_dump(mode="json")
    if _restores(row, fields):
        user = get_user(user_id)
        options |= {"restore": True, "before": {"name": user.name, "settings": user.settings}}
        row.preview = {**(row.preview or {}), "total": (row.preview or {})["restore"]["total"]}
    row.options, row.status, row.updated_at = options, "running", now()
    db.session.flush()
    audit.record(user_id, Action.IMPORT_MADE, row.filename)
    enqueue_after_commit("import", import_id=row.import_id)
    return row


def is_restorable(row: Import) -> bool:
    """Return whether an examined file is a whole account that can be restored to the user's account now."""
    return bool((row.preview or {}).get("restore")) and restoring.is_possible(row.user_id)


def _restores(row: Import, fields: StartImport) -> bool:
    """Return whether to restore a Commonplace export as it was. Raises Conflict if that is asked for but impossible."""
    can = is_restorable(row)
    if fields.restore and not can:
        raise Conflict("Only a full Commonplace export can be restored, and only into an empty account.")
    is_whole = set(fields.take) == set(get_args(ImportedKind)) and fields.between is None and fields.space_id is None
    return can and is_whole if fields.restore is None else fields.restore


def cancel(user_id: int, import_id: int) -> Import:
    """Stop an import; what it has imported so far stays, and can be undone. Raises NotFound, Conflict."""
    row = get_import(user_id, import_id, lock=True)
    if row.status not in ("reading", "ready", "running"):
        raise Conflict("This import has ended.")
    row.status, row.updated_at = "cancelled", now()
    row.preview = {**(row.preview or {}), "sample": []}
    storage.drop_file_of(row)
    db.session.flush()
    return row


def undo(user_id: int, import_id: int) -> Import:
    """Undo an import, a large one by a job, but not spaces or what was changed since. Raises NotFound, Conflict."""
    row = get_import(user_id, import_id, lock=True)
    if row.status in ("reading", "ready", "running"):
        raise Conflict("Cancel the import first.")
    if row.status == "undone":
        raise Conflict("This import has already been undone.")
    if row.undo_status == "running":
        raise Conflict("This import is being undone.")
    return import_undo.begin(row)


def _check(user_id: int, reader: str | None) -> None:
    if reader and reader not in READERS:
        raise Invalid.field("format", "is not one of %(names)s", names=", ".join(READERS))
    for statuses, limit in ((("reading", "running"), MAX_CONCURRENT), (("ready",), MAX_READY)):
        statement = select(Import.import_id).where(Import.user_id == user_id, Import.status.in_(statuses)).limit(limit)
        if len(db.session.scalars(statement).all()) >= limit:
            raise Conflict(
                "%(at_once)s imports are already waiting or running. Finish or cancel one first.", at_once=limit
            )


@account_deleted.connect
def _account_deleted(_sender: object, *, user_id: int) -> None:
    """Delete the files with the account, like their rows."""
    for name in stored_files(user_id):
        after_commit(partial(storage.drop, name))


def stored_files(user_id: int) -> list[str]:
    """Return the names of the files that are stored for the user's imports and exports."""
    names = [
        db.session.scalars(select(model.stored_as).where(model.user_id == user_id)).all() for model in (Import, Export)
    ]
    return [name for name in chain(*names) if name]


def _imports_of(user_id: int) -> Select[Import]:
    return select(Import).where(Import.user_id == user_id)


@pre_forget.connect
def _strip_previews(_sender: Any, *, user_id: int, texts: Collection[str], **_: Any) -> None:
    """Remove the texts from the previews of imports that have not begun."""
    waiting = select(Import.import_id).where(Import.user_id == user_id, Import.status.in_(("reading", "ready")))
    for import_id in db.session.scalars(waiting).all():
        row = db.session.get(Import, import_id, with_for_update=True, populate_existing=True)
        if row is not None:  # one that is being examined asks for the tombstones when it is stored
            row.preview = redact_value(row.preview, (), texts)
