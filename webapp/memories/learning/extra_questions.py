"""Questions that a later domain adds to the extraction call: the open points of a guided conversation.

Journeys come after memories, so the application says who answers (`init_guide`); otherwise there are no points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flask import Flask, current_app

from webapp.conversations.models import Conversation
from webapp.extensions import Part
from webapp.memories.learning.journey_points import GroundedAssessment
from webapp.memories.learning.prompt import OpenPoint

PointKey = int


@dataclass(frozen=True)
class GuidePoints:
    """The open points of a conversation, each with the key by which its assessment is stored."""

    keys: tuple[PointKey, ...] = ()
    points: tuple[OpenPoint, ...] = ()


OpenPoints = Callable[[Conversation], GuidePoints]
StoreAssessments = Callable[[Conversation, Sequence[PointKey], Sequence[GroundedAssessment], int], bool]


@dataclass(frozen=True)
class Guide:
    """Reports what is open in a conversation, and stores what was said about it.

    `store` gets the keys, the grounded assessments, and how many messages of the user were read; it says whether
    that completed the journey. Both run in the caller's transaction.
    """

    open_points: OpenPoints
    store: StoreAssessments


_guide: Part[Guide] = Part("guide")


def init_guide(app: Flask, guide: Guide) -> None:
    """Let `guide` take part in every extraction of the application."""
    _guide.put(app, guide)


def guide() -> Guide | None:
    """Return the guide that takes part in extractions, if there is one."""
    return _guide() if "guide" in current_app.extensions else None
