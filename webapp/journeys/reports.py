"""The summary of a journey's conversation: what it is made from, and whether the stored one is up to date.

The pages are set by a worker (report_making.py): the web process does not load what sets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select

from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.database import db, get_or_raise, rows_changed
from webapp.errors import Conflict, NotFound
from webapp.journeys.models import ConversationReport, ReportEvidence
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view
from webapp.journeys.report_content import Answer, Quotation, Report, file_name, fingerprint, label
from webapp.memories.profile import get_profile

QUOTES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class ReportState:
    """How the summary of a conversation stands; `ready`: one is stored that is up to date."""

    ready: bool
    status: str
    addressed: int
    total: int
    is_complete: bool
    has_content: bool
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Source:
    """What a summary is made from; `digest` changes with it."""

    report: Report
    evidence_ids: list[int]
    digest: str
    view: JourneyView


def report_state(user_id: int, conversation_id: int) -> ReportState:
    """How the summary stands. Raises NotFound without a journey.

    `status` is ready, pending (all points are addressed: it is being made), stale (what was made says something else
    by now) or none.
    """
    conversation = _guided(user_id, conversation_id)
    source = source_of(conversation)
    row = stored_row(conversation_id)
    fresh = row is not None and row.source_hash == source.digest
    status = "ready" if fresh else "pending" if source.view.is_complete else "stale" if row is not None else "none"
    return ReportState(
        fresh,
        status,
        source.view.addressed,
        len(source.view.points),
        source.view.is_complete,
        bool(source.evidence_ids),
        row.updated_at if row is not None and fresh else None,
    )


def report_due(conversation: Conversation) -> bool:
    """Whether every point is addressed and the stored summary, if any, says something else."""
    source = source_of(conversation)
    if not source.view.is_complete:
        return False
    row = stored_row(conversation.conversation_id)
    return row is None or row.source_hash != source.digest


def stored_report(user_id: int, conversation_id: int) -> tuple[bytes, str] | None:
    """The summary with a name for the file, if the stored one is up to date.

    Raises NotFound, and Conflict while nothing is known that could be summed up.
    """
    conversation = _guided(user_id, conversation_id)
    source = source_of(conversation)
    if not source.evidence_ids:
        raise Conflict("There is nothing to sum up yet. Talk about one of the points first.")
    row = stored_row(conversation_id)
    if row is None or row.source_hash != source.digest or row.pdf is None:
        return None
    return row.pdf, file_name(source.report, row.updated_at.date())


def drop_reports_of(user_id: int) -> int:
    """Delete a user's stored summaries: something they might quote is being forgotten; they are made anew."""
    mine = select(Conversation.conversation_id).where(Conversation.user_id == user_id)
    return rows_changed(delete(ConversationReport).where(ConversationReport.conversation_id.in_(mine)))


def purge_reports() -> int:
    """Delete stored summaries that quote what is gone; how many."""
    left = (
        select(func.count())
        .select_from(ReportEvidence)
        .where(ReportEvidence.report_id == ConversationReport.report_id)
        .scalar_subquery()
    )
    losing = select(ConversationReport.report_id).where(ConversationReport.evidence_count > left)
    lost = db.session.scalars(losing).all()
    if lost:
        db.session.execute(delete(ConversationReport).where(ConversationReport.report_id.in_(lost)))
    return len(lost)


def _guided(user_id: int, conversation_id: int) -> Conversation:
    conversation = get_conversation(user_id, conversation_id)
    if conversation.journey_id is None:
        raise NotFound("This conversation follows no journey.")
    return conversation


def stored_row(conversation_id: int) -> ConversationReport | None:
    """The stored summary, whatever its state."""
    return db.session.scalar(select(ConversationReport).where(ConversationReport.conversation_id == conversation_id))


def source_of(conversation: Conversation) -> Source:
    """What the summary of a conversation is made from, as things stand."""
    view = journey_view(conversation.user_id, conversation.journey_id, conversation, prefill=False)
    owner = get_or_raise(User, conversation.user_id)
    profile = get_profile(conversation.user_id)
    person = profile.name or profile.preferred_name or owner.name or ""
    journey = view.journey
    answers = [_answer(item) for item in view.points]
    report = Report(journey.title, journey.description, person, conversation.title or "", answers)
    ids = [quote.evidence_id for item in view.points for quote in item.evidence]
    return Source(report, ids, fingerprint(report), view)


def _answer(item: PointView) -> Answer:
    quotes: dict[str, Quotation] = {}
    for quote in item.evidence:
        quotes.setdefault(quote.quote, Quotation(quote.quote, quote.said_at))
    values = [(label(str(name)), _value(value)) for name, value in item.structured_data.items()]
    return Answer(
        item.point.title,
        item.point.description,
        item.statements,
        list(quotes.values())[-QUOTES_SHOWN:],
        [(name, value) for name, value in values if value],
        item.is_settled,
    )


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value) if not isinstance(value, dict) else "; ".join(f"{name}: {part}" for name, part in value.items())
