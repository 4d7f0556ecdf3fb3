"""The form of a journey's editor: its fields as a definition, and a definition as its fields; pure."""

from collections.abc import Mapping
from typing import Any

HEAD = ("title", "description", "system_prompt", "front_page")
LINES = ("elicitation_goals", "completion_criteria", "example_questions", "suggested_questions", "semantic_keywords")
WORDS = ("slug", "title", "description", "curiosity_prompt", "system_message_template", "keeps")
MAX_POINTS = 100


def read(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the definition in a form; empty fields are left out, lists have one item per line."""
    count = min(int(form.get("count", "0")[:3] or 0) if form.get("count", "0").isdecimal() else 0, MAX_POINTS)
    values = {name: _clean(form.get(name, "")) for name in HEAD}
    points = []
    for number in range(count):
        point: dict[str, Any] = {name: _clean(form.get(f"p{number}.{name}", "")) for name in WORDS}
        point |= {name: _lines(form.get(f"p{number}.{name}", "")) for name in LINES}
        threshold = form.get(f"p{number}.confidence_threshold", "").strip()
        point["confidence_threshold"] = _number(threshold) if threshold else None
        points.append({name: value for name, value in point.items() if value not in (None, "", [])})
    return {**{name: value for name, value in values.items() if value}, "points": points}


def apply_button(definition: dict[str, Any], do: str) -> dict[str, Any]:
    """Return the definition after a button of the form: add, remove-2, up-2 or down-2; any other changes nothing."""
    points = list(definition["points"])
    action, _, place = do.partition("-")
    index = next((number for number in range(len(points)) if str(number) == place), None)
    if action == "add" and len(points) < MAX_POINTS:
        points.append({})
    elif action == "remove" and index is not None:
        del points[index]
    elif action in ("up", "down") and index is not None:
        other = index + (1 if action == "down" else -1)
        if 0 <= other < len(points):
            points[index], points[other] = points[other], points[index]
    return {**definition, "points": points}


def _clean(value: str) -> str:
    return value.replace("\r\n", "\n").strip()


def _lines(value: str) -> list[str]:
    return [line.strip() for line in value.splitlines() if line.strip()]


def _number(value: str) -> float | str:
    try:
        return float(value.replace(",", "."))
    except ValueError:
        return value
