"""Typesets the summary of a journey's conversation as a PDF, in a worker, and tells which are due."""

import logging
from collections.abc import Sequence

from sqlalchemy import delete, insert, literal, select
from sqlalchemy.exc import IntegrityError

from webapp.background import events
from webapp.background.events import Kind
from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation
from webapp.db.base import add_row, db, now, write_transaction
from webapp.extensions import redis
from webapp.journeys.guides import ensure_guide
from webapp.journeys.models import ConversationReport, JourneyGuide, PointEvidence, PointMemory, ReportEvidence
from webapp.journeys.reports import Source, report_lock_key, report_texts, source_of, stored_row

log = logging.getLogger(__name__)

TRIES = 3
LOCK_SECONDS = 300


def make_report(conversation_id: int) -> bool:
    """Make the summary unless the stored one is up to date; return whether there is one now."""
    redis().set(report_lock_key(conversation_id), b"1", ex=LOCK_SECONDS)
    try:
        report = _make(conversation_id)
        with write_transaction():
            _settle(conversation_id)
        return report
    finally:
        redis().delete(report_lock_key(conversation_id))


def _settle(conversation_id: int) -> None:
    """Clear `report_due` unless the sources changed; whoever changes them updates the guide's row, locked here."""
    guide = db.session.get(JourneyGuide, conversation_id, with_for_update=True)
    if guide is None:
        return
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    source = source_of(conversation) if conversation is not None and conversation.journey_id is not None else None
    guide.report_due = bool(source and source.evidence_ids and stored_row(conversation_id, source.digest) is None)


def _make(conversation_id: int) -> bool:
    from webapp.journeys.report_pdf import make_pdf

    for _ in range(TRIES):
        conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
        if conversation is None or conversation.deleted_at is not None or conversation.journey_id is None:
            return False
        source = source_of(conversation)
        current = stored_row(conversation_id, source.digest) is not None
        db.session.remove()
        if current:
            return True
        if not source.evidence_ids:
            return False
        pdf = make_pdf(source.report, now().date(), report_texts(source.report.language))
        if _store(conversation_id, source, pdf):
            return True
    log.warning("summary given up: it changes while it is made", extra={"conversation_id": conversation_id})
    return False


def _store(conversation_id: int, source: Source, pdf: bytes) -> bool:
    """Store the pages, unless what they were made from has changed; False then, or if another job was faster."""
    try:
        with write_transaction():
            conversation = db.session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
            if conversation is None or conversation.journey_id is None:
                return False
            if source_of(conversation).digest != source.digest:
                return False
            db.session.execute(delete(ConversationReport).where(ConversationReport.conversation_id == conversation_id))
            row = ConversationReport(
                conversation_id=conversation_id,
                source_hash=source.digest,
                pdf=pdf,
                evidence_count=len(source.evidence_ids),
            )
            add_row(row)
            events.note(conversation.user_id, Kind.JOURNEY_SUMMARISED, {"conversation_id": conversation_id})
            left = (
                select(literal(row.report_id), PointEvidence.evidence_id)
                .join(PointMemory, PointMemory.point_memory_id == PointEvidence.point_memory_id)
                .where(PointMemory.user_id == conversation.user_id, PointEvidence.evidence_id.in_(source.evidence_ids))
            )
            db.session.execute(insert(ReportEvidence).from_select(["report_id", "evidence_id"], left))
    except IntegrityError:
        return False
    return True


BATCH_SIZE = 20


def request_reports(user_id: int, journey_id: int, *, but: int | None = None) -> None:
    """Request new summaries of a user's journey for the stored ones, except one (`but`) that the caller requests."""
    ids = db.session.scalars(
        select(ConversationReport.conversation_id)
        .join(Conversation, Conversation.conversation_id == ConversationReport.conversation_id)
        .where(Conversation.user_id == user_id, Conversation.journey_id == journey_id)
        .order_by(ConversationReport.updated_at.desc())
        .limit(BATCH_SIZE)
    ).all()
    for conversation_id in ids:
        if conversation_id != but:
            request_report(conversation_id)


def request_report(conversation_id: int) -> None:
    """Record that a summary is due, and request it after the commit; the sweep does so again if that is lost."""
    ensure_guide(conversation_id).report_due = True
    db.session.flush()
    enqueue_after_commit("journey_report", conversation_id=conversation_id)


def conversations_awaiting_report() -> Sequence[int]:
    """Return conversations waiting for their summary."""
    return db.session.scalars(select(JourneyGuide.conversation_id).where(JourneyGuide.report_due == db.true())).all()
