"""The shipped journeys in the languages of the interface: `fixtures/languages`, by the English text.

Prompts and the API use the text of the file; one that was changed, or is a person's, stays as written.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from webapp.i18n import SOURCE
from webapp.journeys.models import ConversationPoint, Journey

FOLDER = Path(__file__).resolve().parent / "fixtures" / "languages"
FORMER = "former"
"""Not a language: earlier words of shipped journeys, with those that replaced them."""
POINT_READ = ("title", "description", "curiosity_prompt", "suggested_questions", "completion_criteria")
"""The fields of a point that people read."""

DEFAULT_QUESTIONS = (
    "Can you tell me more about...",
    "What other options haven't we mentioned yet?",
    "Help me decide between these options...",
)
"""What “Ask a question” offers if a point has no questions of its own."""


def translate_text(text: str, code: str) -> str:
    """Return a text of a journey in a language of the interface; unchanged if it has no translation."""
    # A journey that was loaded before its words were changed reads like one that is loaded now.
    text = texts_in(FORMER).get(text, text)
    return text if code == SOURCE else texts_in(code).get(text, text)


def translate_journey_text(journey: Journey | None, text: str, code: str) -> str:
    """Return a text of that journey in a language of the interface; unchanged if a person wrote the journey."""
    return translate_text(text, code) if journey is not None and journey.source == "file" else text


def questions_of(journey: Journey | None, point: ConversationPoint | None, code: str) -> list[str]:
    """Return questions to offer for that point, in a language of the interface: its own, or else the default ones."""
    if point is not None and point.suggested_questions:
        return [translate_journey_text(journey, text, code) for text in point.suggested_questions]
    return [translate_text(text, code) for text in DEFAULT_QUESTIONS]


def definition_in(definition: dict[str, Any], code: str) -> dict[str, Any]:
    """Return a shipped journey's definition with the texts people read translated; the rest is for the assistant."""
    return {
        **_read_in(definition, ("title", "description", "front_page"), code),
        "points": [_read_in(point, POINT_READ, code) for point in definition["points"]],
    }


def _read_in(part: dict[str, Any], names: tuple[str, ...], code: str) -> dict[str, Any]:
    changes = {name: part[name] for name in names if part.get(name)}
    return {
        **part,
        **{
            name: translate_text(value, code)
            if isinstance(value, str)
            else [translate_text(item, code) for item in value]
            for name, value in changes.items()
        },
    }


@lru_cache(maxsize=16)
def texts_in(code: str) -> dict[str, str]:
    """Return the translations into a language by the English text; empty for a language without any."""
    place = FOLDER / f"{code}.json"
    return cast(dict[str, str], json.loads(place.read_text("utf-8"))) if place.exists() else {}
