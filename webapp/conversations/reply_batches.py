"""All replies to one person, a portion at a time.

A single statement that looks into hundreds of thousands of texts takes longer than the web waits for the database.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from sqlalchemy import select

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db

PORTION = 900
"""Messages; MariaDB looks up longer lists of ids (from 1,000 on) by way of a table that it makes of them."""
IDS_AT_ONCE = 10_000


def replies_of(user_id: int) -> Iterator[Sequence[int]]:
    """The ids of all replies in a user's conversations, each once, in ascending order."""
    statement = (
        select(Message.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(Conversation.user_id == user_id, Message.role == "assistant")
        .execution_options(yield_per=IDS_AT_ONCE)
    )
    found = array("q")
    for some in db.session.scalars(statement).partitions():
        found.extend(some)
    ids = array("q", sorted(found))
    for first in range(0, len(ids), PORTION):
        yield ids[first : first + PORTION].tolist()
