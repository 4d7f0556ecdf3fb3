"""Follow-up of a stored reply: its jobs are queued, and the uses of the memories in its prompt counted."""

import logging

from redis.exceptions import RedisError

from webapp.background.queues import enqueue
from webapp.chat.turns import turnlog
from webapp.chat.turns.finish import FinishedTurn
from webapp.extensions import redis
from webapp.memories.prompt.conversation_memory import note_uses

log = logging.getLogger(__name__)


def queue_jobs(turn_id: int, turn: FinishedTurn) -> None:
    """Put the turn's jobs on their queues; without Redis they are left to the sweep."""
    client = redis()
    try:
        turnlog.owe(client, turn_id, [name for name, _ in turn.jobs])
        for name, ids in turn.jobs:
            enqueue(name, turn_id=turn_id, person=turn.user_id, **ids)
    except RedisError as error:
        log.warning("jobs left to the sweep", extra={"turn_id": turn_id, "error": type(error).__name__})
    note_uses(client, turn.memory_ids)
