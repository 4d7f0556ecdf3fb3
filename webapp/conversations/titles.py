"""Titles of conversations: from the first words, then by the model after the first exchange, never over a user's."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, Field
from sqlalchemy import select, update

from webapp.conversations.current_messages import current
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, rows_changed, write_transaction
from webapp.llm.errors import MalformedOutput, ModelError
from webapp.llm.structured import Part
from webapp.markdown.rendering import strip_markdown
from webapp.providers.clients import completions
from webapp.text.provenance import blank_out, forgotten_in
from webapp.text.words import ENGLISH, STOP_WORDS, language_of, words

log = logging.getLogger(__name__)

EXCERPT = 2_000
TRIES = 2


@dataclass(frozen=True, slots=True)
class Exchange:
    """The source of a title, and whether it may still be used."""

    question: str
    answer: str
    still_holds: Callable[[], bool]


class ConversationTitle(BaseModel):
    """The model's answer."""

    title: str = Field(min_length=1, max_length=500)


def part(instructions: str) -> Part:
    """Return the title as part of another call about the conversation."""
    return Part("title", {"type": "string"}, f"The conversation has no title yet. Put one into `title`. {instructions}")


Watch = Callable[[int], Callable[[], bool]]
"""Given a user's id before anything is read, returns a function that tells, in the transaction that stores the result,
whether it may be stored."""


def title_conversation(conversation_id: int, instructions: str, watch: Watch) -> str | None:
    """Title an answered, untitled conversation by one model call; return the title, None when there is nothing to do.

    Raises a ModelError that a later try may cure; after others, and unreadable output, it takes the first words.
    """
    for _ in range(TRIES):
        exchange = _first_exchange(conversation_id, watch)
        db.session.remove()
        if exchange is None:
            return None
        title = _title_of(exchange, instructions)
        if not title:
            return None
        with write_transaction():
            db.session.get(Conversation, conversation_id, with_for_update=True)
            if exchange.still_holds():
                return title if set_automatic_title(conversation_id, title) else None
    return None


def _title_of(exchange: Exchange, instructions: str) -> str:
    question, reply = exchange.question, exchange.answer
    messages = [
        {"role": "system", "content": instructions},
        {"role": "user", "content": f"User:\n{question[:EXCERPT]}\n\nAssistant:\n{reply[:EXCERPT]}"},
    ]
    try:
        answer, _ = completions().complete_structured(
            messages, ConversationTitle, "conversation_title", max_tokens=60, temperature=0.2
        )
        title = clean_model_title(answer.title, question, reply)
    except ModelError as error:
        if error.retryable and not isinstance(error, MalformedOutput):
            raise
        log.warning("title from the first words", extra={"code": error.code})
        title = ""
    return title or title_from_words(question)


def _first_exchange(conversation_id: int, watch: Watch) -> Exchange | None:
    conversation = db.session.get(Conversation, conversation_id)
    if conversation is None or conversation.title_source != "none" or conversation.deleted_at is not None:
        return None
    still_holds = watch(conversation.user_id)
    rows = db.session.execute(
        select(Message.role, Message.content, Message.spans)
        .where(current(conversation_id), Message.status.in_(("complete", "stopped")))
        .order_by(Message.message_id)
        .limit(4)
    ).all()
    question = next((blank_out(content, forgotten_in(spans)) for role, content, spans in rows if role == "user"), None)
    reply = next((content for role, content, _ in rows if role == "assistant" and content), None)
    return Exchange(question, reply, still_holds) if question and reply else None


def set_automatic_title(conversation_id: int, title: str) -> bool:
    """Title a conversation that has none; False when its user, or another job, got there first."""
    count = rows_changed(
        update(Conversation)
        .where(Conversation.conversation_id == conversation_id, Conversation.title_source == "none")
        .values(title=title[:255], title_source="auto", updated_at=Conversation.updated_at)
    )
    return count == 1


MAX_WORDS = 12
FIRST_WORDS = 6
FIRST_CHARACTERS = 60


def clean_model_title(suggestion: str | None, question: str, reply: str) -> str:
    """Return a model's title, tidied; empty if it gives none, titles something else, or asks back."""
    title = tidy(suggestion or "")
    asks_back = title.endswith(("?", "？", "؟")) and title in reply and title not in question
    return title if not asks_back and fits_source(title, f"{question} {reply}") else ""


def fits_source(title: str, source: str) -> bool:
    """Return whether a title has only numbers that were mentioned, and no English where another language is spoken."""
    if not all(number in source for number in re.findall(r"\d+", title)):
        return False
    source_words = words(source)
    stop_words = STOP_WORDS[ENGLISH].intersection(words(title)).difference(source_words)
    return len(stop_words) < 2 or language_of(source_words) == ENGLISH


def tidy(title: str) -> str:
    """Return one line without quotation marks, a label or a full stop, short enough for the sidebar."""
    line = " ".join(title.split())
    if line.lower().startswith("title:"):
        line = line[6:].strip()
    line = line.strip("\"'“”‘’«»*#` ").removesuffix(".").strip()
    words = line.split(" ")
    if len(words) > MAX_WORDS:  # a long one is cut where a clause ends
        words = re.split(r"(?<=\w)[,;:!?–—]\s|(?<=[^\W\d])\.\s|\s-\s", line, maxsplit=1)[0].split(" ")
    return " ".join(words[:MAX_WORDS])[:120].strip()


def title_from_words(text: str) -> str:
    """Return a title from the first words of a message, as they read."""
    words = " ".join((strip_markdown(text[:400]) or text).split())[:200].split(" ")
    title = " ".join(words[:FIRST_WORDS])
    is_cut = len(words) > FIRST_WORDS or len(title) > FIRST_CHARACTERS
    return (title[:FIRST_CHARACTERS].rstrip() + "…") if is_cut else title
