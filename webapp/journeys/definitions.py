"""A journey as its author writes it: what may be left out, and how it becomes the form of a file."""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import Field

from webapp.errors import Invalid
from webapp.http.validation import Amount
from webapp.i18n import SOURCE
from webapp.journeys.journey_files import Item, JourneyFixture, PointFixture, Slug, Text, load_yaml
from webapp.journeys.models import ConversationPoint, Journey

Format = Literal["json", "yaml"]
MAX_TEXT = 1_000_000
MAX_SLUG = 90  # characters, before the number of a variant


class PointBody(PointFixture):
    """A point as an author gives it; what is left out is derived from the title."""

    slug: Slug | None = None  # type: ignore[assignment]  # here and below: a file has what an author may leave out
    description: Text | None = None  # type: ignore[assignment]
    curiosity_prompt: Text | None = None  # type: ignore[assignment]
    system_message_template: Text | None = None  # type: ignore[assignment]
    example_questions: list[Item] = Field(default_factory=list, max_length=50)
    semantic_keywords: list[Item] = Field(default_factory=list, max_length=50)
    confidence_threshold: Amount = Field(0.7, ge=0.1, le=1.0, strict=False)

    def complete(self) -> dict[str, Any]:
        """Return the point in the form of a file, except for a slug if it has none."""
        return {
            **self.model_dump(),
            "description": self.description or self.title,
            "curiosity_prompt": self.curiosity_prompt or f"I'd like to hear about this: {self.title}.",
            "system_message_template": self.system_message_template
            or "Find out what the goals say, in their own words.",
            "example_questions": self.example_questions or [f"What would you like to say about “{self.title}”?"],
            "semantic_keywords": self.semantic_keywords or [self.title.lower()],
        }


class JourneyBody(JourneyFixture):
    """A journey as an author gives it."""

    slug: Slug | None = None  # type: ignore[assignment]
    points: list[PointBody] = Field(min_length=1, max_length=100)  # type: ignore[assignment]

    def complete(self) -> JourneyFixture:
        """Return the journey in the form of a file. Raises ValidationError, which names the field."""
        taken = {point.slug for point in self.points if point.slug}
        points = []
        for point in self.points:
            slug = point.slug or unused_slug(slug_from(point.title), taken)
            taken.add(slug)
            points.append({**point.complete(), "slug": slug})
        return JourneyFixture.model_validate(
            {**self.model_dump(), "slug": self.slug or slug_from(self.title), "points": points}
        )


def slug_from(text: str) -> str:
    """Return a slug made of a text's letters."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))[:MAX_SLUG].strip("-") or "journey"


def unused_slug(slug: str, taken: Collection[str]) -> str:
    """Return the slug, with a number if it is taken."""
    variants = (f"{slug[:MAX_SLUG]}-{number}" for number in count(2))
    return next(each for each in chain([slug], variants) if each not in taken)


def read_definition(text: str) -> JourneyBody:
    """Return a journey from the text of a file, JSON or YAML. Raises Invalid for `text`, ValidationError for fields."""
    if len(text) > MAX_TEXT:
        raise Invalid.field("text", "is too large")
    try:
        data = json.loads(text) if text.lstrip().startswith("{") else load_yaml(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise Invalid.field("text", "cannot be read: %(reason)s", reason=" ".join(str(error).split())[:200]) from None
    if not isinstance(data, Mapping):
        raise Invalid.field("text", "is not a journey")
    return JourneyBody.model_validate(data)


def write_definition(fixture: Mapping[str, Any], form: Format) -> str:
    """Return a journey as the text of a file."""
    if form == "yaml":
        return str(yaml.safe_dump(dict(fixture), allow_unicode=True, sort_keys=False, width=100))
    return json.dumps(fixture, ensure_ascii=False, indent=2) + "\n"


def definition_of(fixture: JourneyFixture) -> dict[str, Any]:
    """Return a journey in the form of a file, without defaults."""
    return fixture.model_dump(exclude_none=True)


def fixture_of(journey: Journey, points: Iterable[ConversationPoint]) -> JourneyFixture:
    """Return the stored rows in the form of a file."""
    return JourneyFixture.model_construct(
        **{name: getattr(journey, name) for name in JourneyFixture.model_fields if name != "points"},
        points=[
            PointFixture.model_construct(**{name: getattr(point, name) for name in PointFixture.model_fields})
            for point in points
        ],
    )


FOLDER = Path(__file__).resolve().parent / "fixtures" / "languages"
EARLIER_TEXTS = "former"
"""Not a language: earlier words of shipped journeys, with those that replaced them."""
POINT_READ = ("title", "description", "curiosity_prompt", "suggested_questions", "completion_criteria")
"""The fields of a point that people read."""

DEFAULT_QUESTIONS = (
    "Can you tell me more about...",
    "What other options haven't we mentioned yet?",
    "Help me decide between these options...",
)
"""The questions that “Ask a question” offers if a point has no questions of its own."""


def translate_text(text: str, code: str) -> str:
    """Return a text of a journey in a language of the interface; unchanged if it has no translation."""
    # A journey that was loaded before its words were changed reads like one that is loaded now.
    text = texts_in(EARLIER_TEXTS).get(text, text)
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
    result = dict(part)
    for name in names:
        if isinstance(value := part.get(name), str):
            result[name] = translate_text(value, code)
        elif value:
            result[name] = [translate_text(item, code) for item in value]
    return result


@lru_cache(maxsize=16)
def texts_in(code: str) -> dict[str, str]:
    """Return the translations into a language by the English text; empty for a language without any."""
    place = FOLDER / f"{code}.json"
    return cast(dict[str, str], json.loads(place.read_text("utf-8"))) if place.exists() else {}
