"""The parts that later domains have in the extraction: questions about open points, and conversations of a legacy.

They come after memories, so they put their parts into the application.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webapp.conversations.models import Conversation
from webapp.extensions import Part
from webapp.memories.learning.journey_points import GroundedAssessment
from webapp.memories.learning.prompt import OpenPoint
from webapp.memories.learning.results import Result

PointKey = int


@dataclass(frozen=True)
class GuidePoints:
    """The open points of a conversation, each with the key by which its assessment is stored."""

    keys: tuple[PointKey, ...] = ()
    points: tuple[OpenPoint, ...] = ()


@dataclass(frozen=True)
class Guide:
    """Reports what is open in a conversation, and stores what was said about it.

    `store` gets the keys, the grounded assessments, and how many messages of the user were read; it says whether
    that completed the journey. Both run in the caller's transaction.
    """

    open_points: Callable[[Conversation], GuidePoints]
    store: Callable[[Conversation, Sequence[PointKey], Sequence[GroundedAssessment], int], bool]


guide: Part[Guide] = Part("guide")

OnStart = Callable[[], None] | None
Read = Callable[[int, int, OnStart], Result]
"""Reads a conversation after a message; `has_more` and `last_id` of the result say whether and where to continue."""

reader_of: Part[Callable[[Conversation], Read | None]] = Part("subject_reader")
"""Returns the reader of a conversation that is not about its user; None for one that is."""
