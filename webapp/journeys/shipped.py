"""What the shipped journeys say, in the languages of the interface: `fixtures/languages`, by the English text.

A journey is stored as its file says, and prompts and the API give it so; people read it in their language. A text that
is not of a shipped journey, or was changed, has no translation there and stays as it was written; so does every text of
a journey that a person wrote, whatever it reads like.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from webapp.journeys.models import ConversationPoint, Journey
from webapp.languages import SOURCE

FOLDER = Path(__file__).resolve().parent / "fixtures" / "languages"
POINT_READ = ("title", "description", "curiosity_prompt", "suggested_questions", "completion_criteria")
"""What people read of a point."""

DEFAULT_QUESTIONS = (
    "Can you tell me more about...",
    "What other options haven't we mentioned yet?",
    "Help me decide between these options...",
)
"""What “Ask a question” offers when a point has no questions of its own."""


def in_language(text: str, code: str) -> str:
    """A text of a journey in a language of the interface; as it is where it has no translation."""
    return text if code == SOURCE else texts_in(code).get(text, text)


def of_journey(journey: Journey | None, text: str, code: str) -> str:
    """A text of that journey in a language of the interface; as it is where a person wrote the journey."""
    return in_language(text, code) if journey is not None and journey.source == "file" else text


def questions_of(journey: Journey | None, point: ConversationPoint | None, code: str) -> list[str]:
    """What to offer when that point is open, in a language of the interface: its own questions, else those of any."""
    if point is not None and point.suggested_questions:
        return [of_journey(journey, text, code) for text in point.suggested_questions]
    return [in_language(text, code) for text in DEFAULT_QUESTIONS]


def definition_in(definition: dict[str, Any], code: str) -> dict[str, Any]:
    """A shipped journey's definition with what people read of it in a language; the rest is for the assistant."""
    return {
        **_read_in(definition, ("title", "description", "front_page"), code),
        "points": [_read_in(point, POINT_READ, code) for point in definition["points"]],
    }


def _read_in(part: dict[str, Any], names: tuple[str, ...], code: str) -> dict[str, Any]:
    changed = {name: part[name] for name in names if part.get(name)}
    return {
        **part,
        **{
            name: in_language(value, code) if isinstance(value, str) else [in_language(item, code) for item in value]
            for name, value in changed.items()
        },
    }


@lru_cache(maxsize=16)
def texts_in(code: str) -> dict[str, str]:
    """The translations into a language by the English text; none for a language that is not there."""
    place = FOLDER / f"{code}.json"
    return cast(dict[str, str], json.loads(place.read_text("utf-8"))) if place.exists() else {}
