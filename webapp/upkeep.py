"""Keeps promises after something was killed or unavailable: works from the tables alone, safe to run at any time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete

from webapp.accounts import closing, mails, sessions
from webapp.accounts.models import IdempotencyKey
from webapp.audit import service as audit
from webapp.chat.turns.recovery import recover_all
from webapp.conversations import service as conversations
from webapp.database import db, now, rows_changed, write_transaction
from webapp.extensions import app_settings, redis
from webapp.journeys.owing import owed_reports
from webapp.journeys.reports import purge_reports
from webapp.memories import dependents, history
from webapp.memories.known import flush_uses
from webapp.memories.learning.requests import owed_extractions
from webapp.models.catalogue import has_worker
from webapp.models.grades import models_to_examine
from webapp.oauth import service as oauth
from webapp.prompts import service as prompts
from webapp.queueing import enqueue_owed
from webapp.retrieval.owing import notice_model, owed_users
from webapp.spaces.documents import owed_documents
from webapp.summaries.service import owed as owed_summaries
from webapp.transfer import exporting, importing, learning, undoing
from webapp.webhooks import delivering
from webapp.webhooks import service as webhooks

OWED_DAYS = 7
IDEMPOTENCY_HOURS = 24
TEMPORARY_HOURS = 24
READ_BY_A_MODEL = ("extract", "summary", "learn")
"""Work that stays owed while no model is connected; a title is then the first words."""


def sweep() -> dict[str, int]:
    """Finish turns whose process died, queue what is owed, write counted uses and shipped prompts."""
    recovered = recover_all()
    with write_transaction():
        notice_model()
    owed: dict[str, Sequence[int | str]] = {
        "title": conversations.owed_titles(since=now() - timedelta(days=OWED_DAYS)),
        "extract": owed_extractions(),
        "summary": owed_summaries(),
        "index": owed_users(),
        "index_document": owed_documents(),
        "journey_report": owed_reports(),
        "look_at_import": importing.owed("reading"),
        "import": importing.owed("running"),
        "undo_import": undoing.owed(),
        "export": exporting.owed(),
        "learn": learning.owed(),
        "delete_account": closing.owed(),
        "mail": mails.owed(),
        "deliver": delivering.owed(),
        "exam": models_to_examine(),
    }
    if not has_worker():
        owed |= dict.fromkeys(READ_BY_A_MODEL, ())
    db.session.rollback()
    queued = {name: sum(enqueue_owed(name, of) for of in ids) for name, ids in owed.items()}
    with write_transaction():
        used = flush_uses(redis())
    if not prompts.defaults_are_stored():
        with write_transaction():
            prompts.store_defaults()
    return {"recovered": recovered, "titles": queued["title"], "extractions": queued["extract"], "memories_used": used}


def purge() -> dict[str, int]:
    """Delete hidden and temporary conversations and idempotency keys that are past their time."""
    at = now()
    resting: list[int] = []
    with write_transaction():
        gone = conversations.purge_conversations(
            deleted_before=at - timedelta(seconds=conversations.UNDO_SECONDS),
            temporary_before=at - timedelta(hours=TEMPORARY_HOURS),
            before=lambda ids: resting.extend(dependents.resting_in(ids)),
        )
        history.recount(resting)
        reports = purge_reports()
        exporting.purge(at)
        closing.purge(at)
        sessions.purge()
        mails.purge()
        oauth.purge(at)
        webhooks.purge()
        audit.purge(app_settings().audit_days)
        keys = rows_changed(
            delete(IdempotencyKey).where(IdempotencyKey.created_at < at - timedelta(hours=IDEMPOTENCY_HOURS))
        )
    return {"conversations": gone, "idempotency_keys": keys, "reports": reports}
