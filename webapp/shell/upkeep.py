"""Keeps promises after something was killed or unavailable: works from the tables alone, safe to run at any time."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypeVar

from sqlalchemy import delete

from webapp.accounts import deletion, mails, sessions, site
from webapp.accounts.models import IdempotencyKey
from webapp.audit import service as audit
from webapp.background.job_specs import JOBS
from webapp.background.queues import enqueue, enqueue_owed
from webapp.chat.turns.recovery import recover_all
from webapp.chat.turns.runtime import drop_streams_in
from webapp.conversations import service as conversations
from webapp.db.base import db, now, rows_changed, write_transaction
from webapp.db.conflicts import run_each
from webapp.db.engine import empty_log
from webapp.extensions import app_settings, redis
from webapp.files.scans import files_to_scan
from webapp.journeys.relevance import journeys_awaiting_vectors
from webapp.journeys.report_job import conversations_awaiting_report
from webapp.journeys.reports import purge_reports
from webapp.memories.history import revisions
from webapp.memories.learning.requests import due_extractions
from webapp.memories.prompt.conversation_memory import flush_uses
from webapp.oauth import service as oauth
from webapp.prompts import service as prompts
from webapp.providers.catalogue import has_background_model
from webapp.providers.grades import models_to_examine
from webapp.retrieval.stored_vectors import notice_model, users_awaiting_vectors
from webapp.schedules.mails import due_mails
from webapp.schedules.runs import claim_due, correct_times, runs_to_resume
from webapp.spaces.documents import documents_awaiting_index
from webapp.summaries.service import conversations_awaiting_summary as owed_summaries
from webapp.transfer import export_jobs
from webapp.transfer.service import stalled_jobs
from webapp.usage.sums import sum_records
from webapp.webhooks import delivery, service as webhooks

T = TypeVar("T")

MAX_DELAY_DAYS = 7
IDEMPOTENCY_HOURS = 24
TEMPORARY_HOURS = 24
NIGHT_HOUR = 3
"""Local time: from then on the night's work is due."""
MODEL_JOBS = ("extract", "summary", "learn")
"""Work that stays owed while no model is connected; a title is then the first words."""


def sweep() -> dict[str, int]:
    """Finish turns whose process died, queue what is due or owed, write counted uses and shipped prompts.

    What fails of it holds up nothing else. Returns how many of each.
    """
    owed: dict[str, Callable[[], Sequence[int | str]]] = {
        "title": partial(conversations.conversations_without_title, since=now() - timedelta(days=MAX_DELAY_DAYS)),
        "extract": due_extractions,
        "summary": owed_summaries,
        "index": users_awaiting_vectors,
        "index_document": documents_awaiting_index,
        "journey_report": conversations_awaiting_report,
        "point_vectors": journeys_awaiting_vectors,
        "read_scans": files_to_scan,
        "delete_account": deletion.due_deletions,
        "mail": mails.overdue_mails,
        "deliver": delivery.due_webhooks,
        "scheduled_turn": runs_to_resume,
        "schedule_mail": due_mails,
        "exam": models_to_examine,
    }
    steps: dict[str, Callable[[], int]] = {
        "recovered": recover_all,
        "claimed": claim_due,
        "model": partial(_store, notice_model),
        **{name: partial(_queue, name, find) for name, find in owed.items()},
        "stalled": lambda: sum(_queue(name, partial(list, ids)) for name, ids in stalled_jobs().items()),
        "nightly": _queue_nightly,
        "used": partial(_store, partial(flush_uses, redis())),
        "prompts": _store_prompts,
    }
    return run_each(steps)


def _queue(name: str, find: Callable[[], Sequence[int | str]]) -> int:
    ids = find() if name not in MODEL_JOBS or has_background_model() else ()
    db.session.rollback()
    return enqueue_owed(name, ids)


def _queue_nightly() -> int:
    """Queue the night's work once a night, or, if nothing ran then, when something next does; return how many jobs."""
    moment = now()
    nights = site.get_setting(site.NIGHTS)
    last = datetime.fromisoformat(nights[1]) if nights else moment
    if nights and _night_of(last) == _night_of(moment):
        return 0
    names = [name for name, spec in JOBS.items() if spec.is_nightly and last < moment]
    for name in names:
        enqueue(name)
    with write_transaction():
        site.set_setting(site.NIGHTS, [min(last, moment).isoformat(), moment.isoformat()])
    return len(names)


def _night_of(moment: datetime) -> date:
    """Return the day that begins with the night whose work is due at a moment, by the local clock."""
    return (moment.astimezone() - timedelta(hours=NIGHT_HOUR)).date()


def _store(work: Callable[[], T]) -> T:
    with write_transaction():
        return work()


def _store_prompts() -> int:
    if prompts.defaults_are_stored():
        return 0
    with write_transaction():
        prompts.store_defaults()
    return 1


def purge() -> dict[str, int]:
    """Delete hidden and temporary conversations, and whatever else is past its time; correct times, add up usage.

    What fails of it holds up nothing else.
    """
    moment = now()
    steps: dict[str, Callable[[], int | None]] = {
        "conversations": partial(_purge_conversations, moment),
        "reports": purge_reports,
        "exports": partial(export_jobs.purge, moment),
        "accounts": partial(deletion.purge, moment),
        "sessions": sessions.purge,
        "mails": mails.purge,
        "grants": partial(oauth.purge, moment),
        "deliveries": webhooks.purge,
        "audit": partial(audit.purge, app_settings().audit_days),
        "idempotency_keys": partial(_purge_keys, moment),
        "schedules": correct_times,
    }
    alone: dict[str, Callable[[], int | None]] = {"usage": sum_records, "log": partial(empty_log, db.engine)}
    counts = run_each({name: partial(_store, work) for name, work in steps.items()} | alone)
    return {name: counts[name] or 0 for name in ("conversations", "idempotency_keys", "reports")}


def _purge_conversations(moment: datetime) -> int:
    ids = conversations.conversations_to_purge(
        deleted_before=moment - timedelta(seconds=conversations.UNDO_SECONDS),
        temporary_before=moment - timedelta(hours=TEMPORARY_HOURS),
    )
    if ids:
        dependent_ids = revisions.dependent_ids(ids)
        drop_streams_in(ids)
        conversations.purge(ids)
        revisions.recount(dependent_ids)
    return len(ids)


def _purge_keys(moment: datetime) -> int:
    past = IdempotencyKey.created_at < moment - timedelta(hours=IDEMPOTENCY_HOURS)
    return rows_changed(delete(IdempotencyKey).where(past))
