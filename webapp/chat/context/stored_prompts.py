"""Fills in, for a reader, what a stored prompt only names (see `segments`), with what they may read now."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import or_, select

from webapp.chat.context.segments import escape
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.memories.models import Memory, MemoryRevision
from webapp.memories.service import readable
from webapp.memories.store.copies import FORGOTTEN_MARK
from webapp.prompts.values import fill_for
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.lookup import scope_of
from webapp.summaries.service import chunks_of
from webapp.text.tokens import shorten

DELETED = "[deleted]"
_MARK = re.compile(
    r"\[\[(?:memory (?P<memory>\d{1,10}) revision (?P<revision>\d{1,10})"
    r"|summary (?P<summary>\d{1,10})"
    r"|(?P<kind>message|chunk|document) (?P<passage>\d{1,10})(?: from (?P<first>\d{1,10}) to (?P<last>\d{1,10}))?"
    r"|filled (?P<placeholder>\{\{[A-Za-z0-9_|]{1,200}\}\}))\]\]"
)


def fill_marks(user_id: int, conversation: Conversation, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages of a stored prompt with the text that its owner may read now; a typed mark stays as it is."""
    fill = _filler(user_id, conversation, [str(message.get("content") or "") for message in prompt])
    contents = _messages(conversation, [message["message_id"] for message in prompt if "message_id" in message])
    filled_messages = []
    for message in prompt:
        result = dict(message)
        limit = result.pop("shortened_to", None)
        if isinstance(result.get("content"), str):
            result["content"] = _MARK.sub(fill, result["content"])
        if "message_id" in result:
            text = contents.get(result["message_id"], DELETED)
            result["content"] = (result.get("content") or "") + (shorten(text, limit) if limit else text)
        filled_messages.append(result)
    return filled_messages


def _filler(user_id: int, conversation: Conversation, texts: Iterable[str]) -> Callable[[re.Match[str]], str]:
    """Return a function that returns the text for each mark found in some texts."""
    marks = [match for text in texts for match in _MARK.finditer(text)]
    memories = _memories(user_id, {int(match["memory"]) for match in marks if match["memory"]})
    keys = {(match["kind"], int(match["passage"])) for match in marks if match["kind"]}
    passages = load_passages(keys, scope_of(user_id)) if keys else {}
    chunks = chunks_of(conversation.conversation_id) if any(match["summary"] for match in marks) else ()
    summaries = {chunk.chunk_id: chunk.content for chunk in chunks}

    def fill(match: re.Match[str]) -> str:
        if match["memory"]:
            text = memories.get((int(match["memory"]), int(match["revision"])), FORGOTTEN_MARK)
            return escape(" ".join(text.split()))
        if match["summary"]:
            return escape(summaries.get(int(match["summary"]), DELETED).strip())
        if match["kind"]:
            passage = passages.get((match["kind"], int(match["passage"])))
            if passage is None:
                return DELETED
            first, last = (int(match["first"]), int(match["last"])) if match["first"] else (0, None)
            return escape(passage.content[first:last].strip())
        return fill_for(conversation, match["placeholder"])

    return fill


def _memories(user_id: int, memory_ids: Iterable[int]) -> dict[tuple[int, int], str]:
    """Return what memories said, by id and revision; of other people's only the revision they share now."""
    ids = list(memory_ids)
    if not ids:
        return {}
    rows = db.session.execute(
        readable(user_id)
        .join(MemoryRevision, MemoryRevision.memory_id == Memory.memory_id)
        .where(
            Memory.memory_id.in_(ids),
            or_(Memory.user_id == user_id, MemoryRevision.revision == Memory.revision),
        )
        .with_only_columns(MemoryRevision.memory_id, MemoryRevision.revision, MemoryRevision.snapshot)
    ).all()
    return {(memory_id, revision): fields.get("content") or FORGOTTEN_MARK for memory_id, revision, fields in rows}


def _messages(conversation: Conversation, message_ids: Iterable[int]) -> dict[int, str]:
    """Return what messages of the conversation say, by id."""
    rows = db.session.execute(
        select(Message.message_id, Message.content).where(
            Message.conversation_id == conversation.conversation_id, Message.message_id.in_(list(message_ids))
        )
    )
    return dict(rows.all())
