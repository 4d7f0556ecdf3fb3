"""The assistant's guidance when it opens a point, and during a journey; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TASK = "Ask ONE clear question that helps achieve your goals."
MAX_KNOWN, MAX_QUOTES = 20, 8
_PROFILE = {"name": "Name", "preferred_name": "Prefers to be called", "birthday": "Birthday"}


@dataclass(frozen=True, slots=True)
class PointGuide:
    """A point as its fixture describes it, with what is known about it; `to_check` came from elsewhere."""

    title: str
    description: str
    instruction: str = ""
    goals: Sequence[str] = ()
    questions: Sequence[str] = ()
    criteria: Sequence[str] = ()
    known: Sequence[str] = ()
    quotes: Sequence[str] = ()
    to_check: Sequence[str] = ()


def directive(point: PointGuide, profile: Mapping[str, str | None] | None = None) -> str:
    """Return the task of a turn in which the assistant opens a point, in the documented form without empty sections."""
    blocks = [_profile(profile or {}), f"## Conversation Point: {_line(point.title)}\n{point.description}"]
    if point.instruction:
        blocks[-1] += f"\n\n{point.instruction}"
    blocks.append(_section("Your Goals for This Discussion", point.goals))
    blocks.append(_section("This Point Is Complete When", point.criteria))
    blocks.append(_section("Example Questions You Could Adapt", point.questions))
    blocks.append(_facts_so_far(point))
    blocks.append(f"## Your Task\n{TASK}")
    return "\n\n".join(block for block in blocks if block)


def _profile(profile: Mapping[str, str | None]) -> str:
    lines = [f"{label}: {_line(value)}" for key, label in _PROFILE.items() if (value := profile.get(key))]
    return _section("The Person You Talk With", lines)


def _facts_so_far(point: PointGuide) -> str:
    parts = []
    if point.known:
        parts.append(_bullet_list("Key points already discussed:", point.known[:MAX_KNOWN]))
    if point.to_check:
        parts.append(
            _bullet_list("Known from other conversations; check that it still holds:", point.to_check[:MAX_KNOWN])
        )
    if point.quotes:
        quotes = [f'"{_line(quote)}"' for quote in point.quotes[:MAX_QUOTES]]
        parts.append(_bullet_list("Relevant things the person has said:", quotes))
    if not parts:
        return "## What You Already Know About This Topic\nNothing yet."
    parts.append("Build on this knowledge. Don't repeat questions.")
    return "## What You Already Know About This Topic\n" + "\n\n".join(parts)


def _section(title: str, items: Sequence[str]) -> str:
    return _bullet_list(f"## {title}", items) if items else ""


def _bullet_list(head: str, items: Sequence[str]) -> str:
    return "\n".join([head, *(f"- {_line(item)}" for item in items)])


def _line(text: str) -> str:
    """Return a text as one line, so that a user's words cannot become a heading of the task."""
    return " ".join(str(text).split())
