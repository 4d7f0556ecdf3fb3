"""Writing what readers found to an account: each part only once, whatever was there before."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select, update

from webapp.conversations.current_messages import current
from webapp.conversations.folders import create_folder
from webapp.conversations.messages import add_past_messages, supersede_from
from webapp.conversations.models import Conversation, Folder, Message, MessageReasoning
from webapp.conversations.schemas import MAX_TAGS, FolderFields
from webapp.conversations.signals import messages_changed
from webapp.db.base import add_row, db
from webapp.http.validation import MAX_TEXT_BYTES
from webapp.i18n.dates import UNDATED, is_dated
from webapp.i18n.marks import N_
from webapp.spaces.documents import add_document
from webapp.spaces.models import Space, SpaceDocument
from webapp.spaces.schemas import MAX_INSTRUCTIONS, NewDocument, NewSpace
from webapp.spaces.service import create_space
from webapp.transfer import assets
from webapp.transfer.content import ReadConversation, ReadMessage, ReadProject
from webapp.transfer.models import ImportedMessage, ImportSource

TRUNCATION_MARK = "\n\n[… the rest was too long to import]"
TITLE_WORDS = 60


@dataclass(frozen=True)
class WriteResult:
    """The result for a part: an outcome, the reason, the row it became, and how many messages were added."""

    outcome: str
    reason: str = ""
    target_id: int | None = None
    messages: int = 0


def write_conversation(
    user_id: int,
    source: str,
    import_id: int,
    part: ReadConversation,
    *,
    space_id: int | None,
    files: Mapping[str, dict[int, str]] | None = None,
) -> WriteResult:
    """Import a conversation, or what is new in one that was imported before."""
    if not part.messages:
        return WriteResult("skipped", "It has no messages that can be shown.")
    origin = origin_of(source, "conversation", part.source_id)
    stored = db.session.get(ImportSource, (user_id, origin))
    row = _conversation(user_id, stored.target_id) if stored else None
    if row is not None:
        return _continue(row, import_id, part, files or {})
    period = _span(part)
    row = Conversation(
        user_id=user_id,
        title=(part.title or _first_words(part))[:255],
        title_source="auto",  # of most programs they are a model's; forgetting replaces one that tells something
        created_at=part.created_at or period[0],
        updated_at=period[1],
        is_archived=part.is_archived,
        is_pinned=part.is_pinned,
        uses_memory=part.may_remember,
        space_id=space_id,
        folder_id=_folder(user_id, part.folder),
        tags=_tags(part.tags),
        message_count=0,
    )
    add_row(row)
    _note_source(user_id, origin, row.conversation_id)
    _append(row, import_id, part.messages, period[0], parent_id=None, files=files or {})
    reason = "" if is_dated(period[1]) else N_("It has no date in the export.")
    return WriteResult("imported", reason, row.conversation_id, len(part.messages))


def write_project(user_id: int, source: str, part: ReadProject) -> WriteResult:
    """Import a project as a space with its documents, or what is new in one that was imported before: documents under
    other names. One that was deleted here stays away."""
    space_id = space_of_project(user_id, source, part.source_id)
    is_new = space_id is None
    if space_id is None:
        about = NewSpace(
            kind="project",
            name=part.name[:200],
            description=part.description[:4_000],
            instructions=part.instructions[:MAX_INSTRUCTIONS],
        )
        space_id = create_space(user_id, about).space_id
        _note_source(user_id, origin_of(source, "project", part.source_id), space_id)
    titles = {*db.session.scalars(select(SpaceDocument.title).where(SpaceDocument.space_id == space_id))}
    count = 0
    for title, text in part.documents:
        fields = NewDocument(title=clean(title)[:255] or "Document", content=clean(text))
        origin = origin_of(source, "document", f"{part.source_id}/{fields.title}/{digest_of(text)}")
        # In a new space nothing was deleted; the sources are of one that is gone.
        if is_new or (fields.title not in titles and db.session.get(ImportSource, (user_id, origin)) is None):
            _note_source(user_id, origin, add_document(user_id, space_id, fields.title, fields.content).document_id)
            count += 1
    db.session.flush()
    return WriteResult("imported" if is_new else "updated" if count else "unchanged", target_id=space_id)


def _note_source(user_id: int, origin: str, target_id: int) -> None:
    """Record what a part of another program's export became."""
    db.session.merge(ImportSource(user_id=user_id, origin=origin, target_id=target_id))


def space_of_project(user_id: int, source: str, project: str) -> int | None:
    """Return the space that a project was imported as."""
    row = db.session.get(ImportSource, (user_id, origin_of(source, "project", project)))
    return row.target_id if row and db.session.get(Space, row.target_id) else None


def origin_of(source: str, kind: str, source_id: str) -> str:
    """Return a stable name for a part of another program's export."""
    return f"{source}:{kind}:{_key(source_id)}"


def clean(text: str) -> str:
    """Return text that a column accepts: no NUL, no lone surrogates, no more than fits."""
    encoded = text.replace("\x00", "").encode("utf-8", "replace")
    if len(encoded) <= MAX_TEXT_BYTES:
        return encoded.decode()
    return encoded[: MAX_TEXT_BYTES - len(TRUNCATION_MARK.encode())].decode("utf-8", "ignore") + TRUNCATION_MARK


def _continue(
    row: Conversation, import_id: int, part: ReadConversation, files: Mapping[str, dict[int, str]]
) -> WriteResult:
    """Append what is new to a conversation that was imported before; an edit supersedes what it replaced."""
    rows = db.session.execute(
        select(Message.message_id, ImportedMessage.source_id, ImportedMessage.digest)
        .outerjoin(ImportedMessage, ImportedMessage.message_id == Message.message_id)
        .where(current(row.conversation_id))
        .order_by(Message.message_id)
    ).all()
    keys = [_key(message.source_id) for message in part.messages]
    count = 0
    while count < min(len(rows), len(keys)) and rows[count].source_id == keys[count]:
        count += 1
    pairs = zip(rows[:count], part.messages[:count], strict=True)
    completed = _complete(row, {entry.message_id: (entry.digest, read) for entry, read in pairs}, files)
    if any(entry.source_id is None for entry in rows):
        return WriteResult("updated" if completed else "skipped", "You have continued it here.", row.conversation_id)
    if count == len(keys):
        if completed:
            return WriteResult("updated", "Files or words that were missing are there now.", row.conversation_id)
        return WriteResult("unchanged", target_id=row.conversation_id)
    parent = rows[count - 1].message_id if count else None
    new = _append(row, import_id, part.messages[count:], _span(part)[0], parent_id=parent, files=files)
    if count < len(rows):
        supersede_from(row, rows[count].message_id, new[0], keep=[message.message_id for message in new])
    row.updated_at = _span(part)[1]
    db.session.flush()
    return WriteResult("updated", target_id=row.conversation_id, messages=len(new))


def _complete(
    row: Conversation,
    messages: Mapping[int, tuple[str | None, ReadMessage]],
    files: Mapping[str, dict[int, str]],
) -> bool:
    """Add to messages that were imported before what their export had not then: files, and words that differ from those
    imported unless they were changed here; returns whether there was any. Files that were deleted here stay away."""
    due = [
        message_id
        for message_id, (digest, read) in messages.items()
        if read.source_id in files or (digest and digest != digest_of(read.content))
    ]
    rows = []
    for message in db.session.scalars(select(Message).where(Message.message_id.in_(due)).order_by(Message.message_id)):
        digest, read = messages[message.message_id]
        names = {file.get("name") for file in (message.custom_payload or {}).get("files") or ()}
        missing = assets.without(files.get(read.source_id, {}), names)
        if missing:
            assets.attach(row, message, missing)
        is_new = digest == digest_of(message.content) and digest != digest_of(read.content)
        if is_new:
            message.content, message.spans = clean(read.content), [*read.spans] or None
            db.session.execute(
                update(ImportedMessage)
                .where(ImportedMessage.message_id == message.message_id)
                .values(digest=digest_of(read.content))
            )
        if missing or is_new:
            rows.append(message.message_id)
    if rows:
        messages_changed.send(None, conversation=row, first_id=rows[0])
        row.extraction_due = row.summary_due = False
        db.session.flush()
    return bool(rows)


def digest_of(text: str) -> str:
    """Return the digest of a message's words as they are stored."""
    return hashlib.sha256(clean(text).encode()).hexdigest()


def _append(
    row: Conversation,
    import_id: int,
    messages: Sequence[ReadMessage],
    fallback: datetime,
    *,
    parent_id: int | None,
    files: Mapping[str, dict[int, str]],
) -> list[Message]:
    """Append messages after one. No background work is due for them: no title, no memories."""
    rows: list[Message] = []
    moment = fallback
    for message in messages:
        moment = message.at or moment
        rows.append(
            Message(
                role=message.role,
                content=clean(message.content),
                created_at=moment,
                model=message.model[:200] if message.model else None,
                spans=[*message.spans] or None,
                is_tainted=message.role == "assistant",  # nobody knows what its prompt held there
            )
        )
    add_past_messages(row, rows, parent_id=parent_id)
    sources = [
        {
            "message_id": new.message_id,
            "conversation_id": row.conversation_id,
            "import_id": import_id,
            "source_id": _key(read.source_id),
            "digest": digest_of(read.content),
        }
        for new, read in zip(rows, messages, strict=True)
    ]
    db.session.execute(insert(ImportedMessage), sources)
    for new, read in zip(rows, messages, strict=True):
        if read.thought:
            db.session.add(MessageReasoning(message_id=new.message_id, content=clean(read.thought)))
            new.custom_payload = {"reasoning": {"duration_ms": 0}}
        if read.source_id in files:
            assets.attach(row, new, files[read.source_id])
    row.extraction_due = row.summary_due = False
    db.session.flush()
    return rows


def _conversation(user_id: int, conversation_id: int) -> Conversation | None:
    return db.session.scalar(
        select(Conversation)
        .where(
            Conversation.conversation_id == conversation_id,
            Conversation.user_id == user_id,
            Conversation.deleted_at.is_(None),
        )
        .with_for_update()
    )


def _folder(user_id: int, name: str | None) -> int | None:
    if not name:
        return None
    fields = FolderFields(name=name[:100])  # stripped where it is cut
    query = select(Folder.folder_id).where(Folder.user_id == user_id, Folder.name == fields.name)
    return db.session.scalar(query.limit(1)) or create_folder(user_id, fields).folder_id


def _tags(names: list[str]) -> list[str]:
    """Return valid tags for a conversation: one line each, no duplicates, no more than allowed."""
    lines = [" ".join(clean(name).split())[:50] for name in names]
    return list({line.casefold(): line for line in lines if line.isprintable() and line}.values())[:MAX_TAGS]


def _span(part: ReadConversation) -> tuple[datetime, datetime]:
    """Return when the conversation began and when its last message was written, as far as the export tells."""
    times = [message.at for message in part.messages if message.at]
    begin = times[0] if times else part.created_at or part.updated_at or UNDATED
    return begin, max([*times, *([part.updated_at] if part.updated_at and not times else [])], default=begin)


def _first_words(part: ReadConversation) -> str:
    text = next((message.content for message in part.messages if message.role == "user"), part.messages[0].content)
    line = " ".join(clean(text).split())
    return line if len(line) <= TITLE_WORDS else line[:TITLE_WORDS].rsplit(" ", 1)[0] + "…"


def _key(source_id: str) -> str:
    """Return an id of any length and script in a form that fits into a key."""
    return source_id if len(source_id) <= 64 and source_id.isascii() else hashlib.sha256(source_id.encode()).hexdigest()
