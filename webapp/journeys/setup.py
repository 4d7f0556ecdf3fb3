"""Journeys take part in what other domains do: the extraction call, prompts, forgetting."""

from collections.abc import Collection, Sequence
from typing import Any

from flask import Flask
from jinja2 import pass_environment
from sqlalchemy import and_, delete, or_, select

from webapp.db.base import rows_changed
from webapp.journeys import guides  # noqa: F401  (says what {{JOURNEY}} stands for)
from webapp.journeys.assessment import open_points, store_assessments
from webapp.journeys.definitions import translate_journey_text
from webapp.journeys.models import Journey, PointEvidence, PointMemory
from webapp.journeys.reports import drop_reports_of
from webapp.memories.learning.later_domains import Guide, guide
from webapp.memories.models import MemoryEvidence
from webapp.memories.store.forgetting import pre_forget
from webapp.templating import Environment

BATCH = 200


def init_journeys(app: Flask) -> None:
    """Wire journeys into an application."""
    guide.put(app, Guide(open_points, store_assessments))
    app.jinja_env.filters["of_journey"] = _of_journey


@pass_environment
def _of_journey(environment: Environment, text: str, journey: Journey) -> str:
    """Return a text of that journey in the language of the page."""
    return translate_journey_text(journey, text, environment.language)


@pre_forget.connect
def _forget(
    _sender: Any, *, user_id: int, memory_ids: Collection[int], evidence: Sequence[MemoryEvidence], **_: Any
) -> None:
    """Forget, with a memory, the answers with its words: the points that rest on them are reopened."""
    memories = select(PointMemory.point_memory_id).where(PointMemory.user_id == user_id)
    statement = delete(PointEvidence).where(PointEvidence.point_memory_id.in_(memories))
    count = rows_changed(statement.where(PointEvidence.memory_id.in_(memory_ids)))
    spans = sorted({(row.message_id, row.start, row.end) for row in evidence})
    for index in range(0, len(spans), BATCH):
        overlapping = or_(
            *(
                and_(PointEvidence.message_id == message_id, PointEvidence.start < end, PointEvidence.end > start)
                for message_id, start, end in spans[index : index + BATCH]
            )
        )
        count += rows_changed(statement.where(overlapping))
    if count:
        drop_reports_of(user_id)
