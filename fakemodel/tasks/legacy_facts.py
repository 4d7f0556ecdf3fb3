"""The facts that the user tells about the person of a legacy, by rules."""

from __future__ import annotations

from typing import Any

from .conversation_summary import facts_of, person_in
from .request import TaskRequest

NAME = "legacy_facts"


def run(request: TaskRequest) -> dict[str, Any]:
    """`{"facts": […]}`."""
    name = person_in(request)
    return {"facts": facts_of(request.turns(), name) if name else []}
