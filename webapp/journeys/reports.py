"""The summary of a journey's conversation: its sources, and whether the stored one, typeset by a worker, is current."""

import time
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from redis.exceptions import RedisError
from sqlalchemy import delete, func, select

from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.background.job_specs import JobRequest, pending_job_id
from webapp.background.queues import enqueue
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, get_or_raise, rows_changed
from webapp.errors import Conflict, require
from webapp.extensions import redis
from webapp.i18n import LANGUAGES
from webapp.i18n.date_texts import full_date
from webapp.i18n.request_language import gettext as _, use_language
from webapp.journeys.assessment_merge import merge_texts
from webapp.journeys.definitions import translate_journey_text
from webapp.journeys.models import ConversationReport, Journey, ReportEvidence
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view
from webapp.journeys.report_content import Answer, Quotation, Report, ReportTexts, file_name, fingerprint, label
from webapp.memories.prompt.profile import get_profile

WAIT_SECONDS = 20.0
_PAUSE = 0.3


@dataclass(frozen=True, slots=True)
class ReportState:
    """The state of a conversation's summary, and of its journey; `created_at` is of one that is up to date."""

    status: str
    view: JourneyView
    has_content: bool
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a summary; `digest` changes with it."""

    report: Report
    evidence_ids: list[int]
    digest: str
    view: JourneyView


def report_state(user_id: int, conversation_id: int) -> ReportState:
    """Return the state of the summary: ready, pending, stale or none. Raises NotFound.

    Requests one that a complete journey lacks, so that nobody waits for it in vain.
    """
    conversation = _guided_conversation(user_id, conversation_id)
    source = source_of(conversation)
    row = stored_row(conversation_id)
    fresh = row is not None and row.source_hash == source.digest
    is_complete = source.view.is_complete
    making = not fresh and (is_in_progress(conversation_id) or (is_complete and _ask_for(conversation_id)))
    if fresh:
        status = "ready"
    elif row is not None and not is_complete:
        status = "stale"
    else:
        status = "pending" if making else "stale" if row is not None else "none"
    return ReportState(status, source.view, bool(source.evidence_ids), row.updated_at if row and fresh else None)


def is_in_progress(conversation_id: int) -> bool:
    """Return whether a job for the summary is waiting or running; False while Redis is unavailable."""
    try:
        waits = pending_job_id(redis(), JobRequest("journey_report", {"conversation_id": conversation_id}))
        return waits is not None or bool(redis().exists(report_lock_key(conversation_id)))
    except RedisError:
        return False


def report_lock_key(conversation_id: int) -> str:
    """Return the Redis key that is set while a worker makes a summary."""
    return f"journey:report:{conversation_id}"


def _ask_for(conversation_id: int) -> bool:
    try:
        enqueue("journey_report", conversation_id=conversation_id)
    except RedisError:
        return False
    return True


def report_due(conversation: Conversation) -> bool:
    """Return whether the journey is complete and there is no summary, or one that is out of date."""
    source = source_of(conversation)
    return source.view.is_complete and stored_row(conversation.conversation_id, source.digest) is None


def stored_report(user_id: int, conversation_id: int) -> tuple[bytes, str] | None:
    """Return the current summary with a name for the file. Raises NotFound, Conflict while nothing can be summed up."""
    _, source = _source_with_content(user_id, conversation_id)
    row = stored_row(conversation_id, source.digest)
    return (row.pdf, file_name(source.report, row.updated_at.date())) if row is not None else None


def current_report(user_id: int, conversation_id: int) -> tuple[Conversation, Report]:
    """Return what the summary would say now. Raises NotFound, and Conflict while there is nothing to sum up."""
    conversation, source = _source_with_content(user_id, conversation_id)
    return conversation, source.report


def _source_with_content(user_id: int, conversation_id: int) -> tuple[Conversation, Source]:
    conversation = _guided_conversation(user_id, conversation_id)
    source = source_of(conversation)
    if not source.evidence_ids:
        raise Conflict("There is nothing to sum up yet. Talk about one of the topics first.")
    return conversation, source


def drop_reports_of(user_id: int) -> int:
    """Delete a user's stored summaries, because something they might quote is being forgotten; they are made again."""
    statement = select(Conversation.conversation_id).where(Conversation.user_id == user_id)
    return rows_changed(delete(ConversationReport).where(ConversationReport.conversation_id.in_(statement)))


def purge_reports() -> int:
    """Delete stored summaries that quote something that is gone; returns how many."""
    left = (
        select(func.count())
        .select_from(ReportEvidence)
        .where(ReportEvidence.report_id == ConversationReport.report_id)
        .scalar_subquery()
    )
    losing = select(ConversationReport.report_id).where(ConversationReport.evidence_count > left)
    ids = db.session.scalars(losing).all()
    if ids:
        db.session.execute(delete(ConversationReport).where(ConversationReport.report_id.in_(ids)))
    return len(ids)


def _guided_conversation(user_id: int, conversation_id: int) -> Conversation:
    conversation = get_conversation(user_id, conversation_id)
    require(conversation.journey_id, "This conversation follows no journey.")
    return conversation


def stored_row(conversation_id: int, digest: str | None = None) -> ConversationReport | None:
    """Return the stored summary; with a `digest`, only if it was made from these sources."""
    rows = select(ConversationReport).where(ConversationReport.conversation_id == conversation_id)
    return db.session.scalar(rows if digest is None else rows.where(ConversationReport.source_hash == digest))


def source_of(conversation: Conversation) -> Source:
    """Return what the summary of a conversation would be made from now."""
    view = journey_view(conversation.user_id, conversation.journey_id, conversation, prefill=False)
    owner = get_or_raise(User, conversation.user_id)
    profile = get_profile(conversation.user_id)
    person = profile.name or profile.preferred_name or owner.name or ""
    journey = view.journey
    language = UserSettings.of(owner.settings).document_language
    answers = [_answer(item, journey, language) for item in view.points]
    report = Report(
        translate_journey_text(journey, journey.title, language),
        translate_journey_text(journey, journey.description, language),
        person,
        conversation.title or "",
        answers,
        translate_journey_text(journey, journey.front_page or "", language),
        language,
    )
    ids = [quote.evidence_id for item in view.points for quote in item.evidence]
    return Source(report, ids, fingerprint(report), view)


def _answer(item: PointView, journey: Journey, language: str) -> Answer:
    quotes: dict[str, Quotation] = {}
    for quote in item.evidence:
        if quote.memory_id is not None and quote.message_id is None:
            continue  # a memory's text is not what the person said: it is among the statements
        quotes.setdefault(quote.quote, Quotation(quote.quote, quote.said_at))
    values = [(label(str(name)), _value(value)) for name, value in item.structured_data.items()]
    return Answer(
        translate_journey_text(journey, item.point.title, language),
        translate_journey_text(journey, item.point.description, language),
        # Without what the quotes that are shown say already.
        merge_texts(quotes, item.extracted_points)[len(merge_texts((), quotes)) :],
        list(quotes.values()),
        [(name, value) for name, value in values if value],
        item.is_settled,
        is_skipped=item.is_skipped,
        unclear=[f"{label(pair.name)}: {pair.one_says} / {pair.other_says}" for pair in item.conflicts],
    )


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value) if not isinstance(value, dict) else "; ".join(f"{name}: {part}" for name, part in value.items())


def report_texts(code: str) -> ReportTexts:
    """Return the texts of a summary in a language, and how its dates are written."""
    language = LANGUAGES[code]
    with use_language(code):
        return ReportTexts(
            language.tag,
            language.direction == "rtl",
            _("Summary of a conversation"),
            _("%(addressed)s of %(total)s topics covered", addressed="{addressed}", total="{total}"),
            _("Not covered yet."),
            _("Set aside, as you asked."),
            _("Two answers disagree: %(text)s", text="{text}"),
            _("You, %(said_at)s", said_at="{said_at}"),
            _("Made from what you said in Commonplace. Quotations are your own words."),
            partial(full_date, code=code),
        )


def wait_for_report(user_id: int, conversation_id: int) -> tuple[bytes, str] | None:
    """Return the summary and a file name; None if not ready in time. Raises NotFound, Conflict, RedisError."""
    end = time.monotonic() + WAIT_SECONDS
    report = stored_report(user_id, conversation_id)
    if report is None:
        enqueue("journey_report", conversation_id=conversation_id)
    while report is None and time.monotonic() < end:
        db.session.remove()
        time.sleep(_PAUSE)
        report = stored_report(user_id, conversation_id)
    return report
