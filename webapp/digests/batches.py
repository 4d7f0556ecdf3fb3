"""Digests of many conversations: those that need one, made one by one so that a failure affects no other."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from webapp.accounts.service import get_user
from webapp.background.queues import enqueue_or_find
from webapp.db.base import db
from webapp.digests import generation, service
from webapp.errors import DomainError
from webapp.extensions import app_settings

log = logging.getLogger(__name__)

AT_ONCE = 10_000
"""The most conversations in one run; the next run continues with what is left."""


def choose(
    user_id: int | None, *, only_needing: bool = True, include_empty: bool = False, clamp: int = -1
) -> list[int]:
    """The conversations to digest, at most `clamp` unless that is -1. Raises NotFound for an unknown user."""
    idle = timedelta(minutes=app_settings().digest_idle_minutes)
    most = AT_ONCE if clamp < 0 else min(clamp, AT_ONCE)
    if user_id is None:
        return service.get_conversations_needing_memory(idle=idle, limit=most)
    get_user(user_id)
    return service.get_conversations_needing_memory_for_user(
        user_id, idle=idle, only_needing=only_needing, include_empty=include_empty, limit=most
    )


def queue_digests(user_id: int | None, **filters: Any) -> dict[str, list[int] | list[str]]:
    """Queue a job for each chosen conversation; returns their ids and those of the jobs."""
    chosen = choose(user_id, **filters)
    db.session.rollback()
    jobs = [enqueue_or_find("digest", conversation_id=conversation_id) for conversation_id in chosen]
    return {"conversation_ids": chosen, "job_ids": jobs}


def make_digests(user_id: int | None, **filters: Any) -> dict[str, list[int]]:
    """Make the digest of each chosen conversation now; returns those made and those that failed."""
    chosen = choose(user_id, **filters)
    made: list[int] = []
    failed: list[int] = []
    for conversation_id in chosen:
        try:
            generation.generate_now(conversation_id)
            made.append(conversation_id)
        except DomainError as error:
            log.warning("digest failed", extra={"conversation_id": conversation_id, "error": error.title})
            failed.append(conversation_id)
    return {"conversation_ids": made, "failed": failed}
