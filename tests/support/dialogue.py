"""Past conversations, written through the services at dates of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from webapp.background.job_specs import push_all
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations import messages
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import after_commit, db, write_transaction
from webapp.extensions import redis

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Dialogue:
    """A conversation and its messages, in order."""

    conversation_id: int
    ids: list[int]


def write_dialogue(
    user_id: int, lines: Sequence[tuple[str, str]], at: datetime, *, title: str = "A talk", is_temporary: bool = False
) -> Dialogue:
    """A conversation of (role, text) lines, a minute apart; each reply is finished as a turn's is."""
    with write_transaction():
        conversation = create_conversation(user_id, NewConversation(title=title, is_temporary=is_temporary))
        conversation_id = conversation.conversation_id
    ids: list[int] = []
    for number in range(0, len(lines), 2):
        asked, answered = lines[number][1], lines[number + 1][1] if number + 1 < len(lines) else "Noted."
        ids += add_turn(user_id, conversation_id, asked, answered, at + timedelta(minutes=number))
    return Dialogue(conversation_id, ids[: len(lines)])


def add_turn(user_id: int, conversation_id: int, asked: str, answered: str, at: datetime | None = None) -> list[int]:
    """One exchange, through the services that a turn uses."""
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id)
        first, reply = messages.add_exchange(conversation, asked, parent_id=messages.last_message_id(conversation_id))
        if at is not None:
            first.created_at = reply.created_at = at
        db.session.flush()
        done = finish_turn(reply.message_id, Outcome("complete", answered))
        after_commit(partial(push_all, redis(), [job for job in done.jobs if job.name == "index"]))
        return [first.message_id, reply.message_id]
