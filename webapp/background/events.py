"""Events of somebody's conversations, memories, journeys and schedules, for others to pass on; ids, never text."""

from collections.abc import Mapping
from enum import StrEnum

from blinker import Signal


class Kind(StrEnum):
    """The kinds of events."""

    CONVERSATION_STARTED = "conversation.started"
    CONVERSATION_DELETED = "conversation.deleted"
    REPLY_FINISHED = "reply.finished"
    MEMORY_CHANGED = "memory.changed"
    MEMORY_FORGOTTEN = "memory.forgotten"
    JOURNEY_SUMMARISED = "journey.summarised"
    SCHEDULE_FINISHED = "schedule.finished"
    SCHEDULE_FAILED = "schedule.failed"
    SCHEDULE_PAUSED = "schedule.paused"


event_recorded = Signal()
"""`user_id=, kind=, data=, hooked=`: sent inside the transaction in which it happens."""


def note(user_id: int, kind: Kind, data: Mapping[str, int | str], *, hooked: bool | None = None) -> None:
    """Report an event in its transaction; `data` are ids and states, `hooked`: the user has webhooks, if known."""
    event_recorded.send(None, user_id=user_id, kind=kind, data=dict(data), hooked=hooked)
