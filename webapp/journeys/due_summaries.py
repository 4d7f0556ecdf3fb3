"""Summaries that are due: a journey was completed, or what a stored summary says has changed."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.journeys.models import ConversationReport, JourneyGuide

AT_ONCE = 20


def owe_reports(user_id: int, journey_id: int, *, but: int | None = None) -> None:
    """Have the stored summaries of a user's journey made again, except one (`but`) that the caller requests itself."""
    ids = db.session.scalars(
        select(ConversationReport.conversation_id)
        .join(Conversation, Conversation.conversation_id == ConversationReport.conversation_id)
        .where(Conversation.user_id == user_id, Conversation.journey_id == journey_id)
        .order_by(ConversationReport.updated_at.desc())
        .limit(AT_ONCE)
    ).all()
    for conversation_id in ids:
        if conversation_id != but:
            owe_report(conversation_id)


def owe_report(conversation_id: int) -> None:
    """Note that a summary is due, and request it after the commit; the sweep does so again if that is lost."""
    guide = db.session.get(JourneyGuide, conversation_id)
    if guide is None:
        guide = JourneyGuide(conversation_id=conversation_id, is_paused=False)
        db.session.add(guide)
    guide.report_due = True
    db.session.flush()
    enqueue_after_commit("journey_report", conversation_id=conversation_id)


def conversations_awaiting_report(*, limit: int = 200) -> Sequence[int]:
    """Conversations waiting for their summary."""
    return db.session.scalars(
        select(JourneyGuide.conversation_id).where(JourneyGuide.report_due == db.true()).limit(limit)
    ).all()
