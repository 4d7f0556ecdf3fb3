"""Files imported with conversations: taken in like uploads, within the same limits, and attached to messages."""

import hashlib
import mimetypes
from collections.abc import Collection
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import PurePosixPath

from sqlalchemy import select

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, write_transaction
from webapp.errors import DomainError
from webapp.files import service as files
from webapp.files.kinds import picture_kind, safe_name
from webapp.files.models import File, MessageFile
from webapp.files.uploads import store_upload
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import ReadConversation, ReadFile
from webapp.transfer.models import RestoredRow
from webapp.transfer.sources import Upload

FILE_KIND = "file"
WHOLE_TOKENS = 2_000
"""A longer document is searched for each question instead of being put into prompts whole."""


@dataclass
class ConversationFiles:
    """A conversation's files with how they are used, by the source id of their message; and what was left out."""

    by_message: dict[str, dict[int, str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """Return the first file that could not be taken in, and why; empty if all could."""
        return self.left_out[0][:255] if self.left_out else ""


def store_files(import_id: int, user_id: int, upload: Upload, part: ReadConversation) -> ConversationFiles:
    """Store the files of a conversation, each in a transaction; one that exists is used again."""
    result = ConversationFiles()
    for message in part.messages:
        for file in message.files[: files.MAX_ATTACHED]:
            try:
                file_id, mode = _import_file(import_id, user_id, upload, file)
            except DomainError as error:
                result.left_out.append(f"“{file.name}” was left out: {error.problem}")
                continue
            except (ImportRefused, OSError, KeyError) as error:
                result.left_out.append(f"“{file.name}” was left out: {error}")
                continue
            result.by_message.setdefault(message.source_id, {})[file_id] = mode
    return result


def attach(conversation: Conversation, message: Message, file_names: dict[int, str]) -> None:
    """Attach files to a message that has just been written."""
    names = files.attach(conversation.user_id, conversation.conversation_id, message.message_id, file_names)
    before = message.custom_payload or {}
    message.custom_payload = {**before, "files": [*before.get("files", []), *names]}
    conversation.has_files = True


def without(file_names: dict[int, str], names: Collection[str]) -> dict[int, str]:
    """Return the files of `file_names` whose names a message never had."""
    rows = db.session.execute(select(File.file_id, File.name).where(File.file_id.in_(file_names)))
    return {file_id: file_names[file_id] for file_id, name in rows if name not in names}


def delete_unused_files(user_id: int, import_id: int) -> None:
    """Delete the imported files that no message uses any more."""
    statement = select(RestoredRow.new_id).where(RestoredRow.import_id == import_id, RestoredRow.kind == FILE_KIND)
    unused = select(File.file_id).where(
        File.user_id == user_id, File.file_id.in_(statement), File.file_id.not_in(select(MessageFile.file_id))
    )
    for file_id in db.session.scalars(unused).all():
        files.delete_file(user_id, file_id)


def _import_file(import_id: int, user_id: int, upload: Upload, file: ReadFile) -> tuple[int, str]:
    """Return a file's id, and whether it goes into prompts whole or is searched. Raises DomainError, ImportRefused."""
    data = upload.read(file.member or "") if file.data is None else file.data
    name = _file_name(file.name, data)
    with write_transaction():
        existing = db.session.scalar(
            select(File)
            .where(File.user_id == user_id, File.digest == hashlib.sha256(data).hexdigest(), File.name == name)
            .limit(1)
        )
        row = existing or store_upload(user_id, name, BytesIO(data))
        if existing is None:
            db.session.add(RestoredRow(import_id=import_id, kind=FILE_KIND, old_id=row.file_id, new_id=row.file_id))
        return row.file_id, "whole" if row.tokens <= WHOLE_TOKENS else "search"


def _file_name(name: str, data: bytes) -> str:
    """Return a valid name for a file, with the right extension: ChatGPT names some pictures .dat."""
    safe = safe_name(name)
    if PurePosixPath(safe).suffix.lower() in ("", ".dat"):
        ending = mimetypes.guess_extension(picture_kind(data)) or ""
        return safe.removesuffix(PurePosixPath(safe).suffix) + ending if ending else safe
    return safe
