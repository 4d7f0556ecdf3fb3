"""Serves the summary: the stored one if it is up to date, else one that a worker makes while the request waits."""

from __future__ import annotations

import time

from webapp.background.queues import enqueue
from webapp.db.base import db
from webapp.journeys.reports import stored_report

WAIT_SECONDS = 20.0
_PAUSE = 0.3


def wait_for_report(user_id: int, conversation_id: int, patience: float = WAIT_SECONDS) -> tuple[bytes, str] | None:
    """The summary and a name for its file; None if it is not ready within `patience` seconds.

    No connection is held while waiting. Raises NotFound, Conflict, and redis.RedisError if no work can be queued.
    """
    end = time.monotonic() + patience
    found = stored_report(user_id, conversation_id)
    if found is None:
        enqueue("journey_report", conversation_id=conversation_id)
    while found is None and time.monotonic() < end:
        db.session.remove()
        time.sleep(_PAUSE)
        found = stored_report(user_id, conversation_id)
    return found
