"""Trying a journey before it is published: what the model would ask first. Nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.extensions import app_settings
from webapp.journeys.guidance import PointGuide, directive
from webapp.llm.errors import ModelError
from webapp.providers.clients import completions

MAX_TOKENS = 400


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The request for the first point, and the answer, or an `error`."""

    prompt: str
    question: str
    model: str
    error: str = ""


def preview_opening(definition: Mapping[str, Any]) -> TrialResult:
    """Have the model open the first point of a definition. The caller must not hold a database connection."""
    point = definition["points"][0]
    task = directive(
        PointGuide(
            point["title"],
            point["description"],
            point["system_message_template"],
            point["elicitation_goals"],
            point["example_questions"],
            point["completion_criteria"],
        )
    )
    model = app_settings().chat_model or None
    messages = [{"role": "system", "content": definition["system_prompt"]}, {"role": "user", "content": task}]
    try:
        answer = completions().complete_text(messages, model=model, max_tokens=MAX_TOKENS)
    except ModelError as error:
        return TrialResult(task, "", model or "", error.detail)
    return TrialResult(task, answer.text, answer.model)
