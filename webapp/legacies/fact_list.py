"""The facts of a legacy as the prompt for finding more lists them, and what becomes of a new one against them. Pure.

The person cannot be asked. If two accounts disagree, neither replaces the other: the later one waits beside the first
for a decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webapp.memories.rules.state import Close, Effect, Insert
from webapp.memories.rules.working_copy import Plan

SHOWN = 40


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """The prompt's list of facts in use, and their memory ids by the numbers that it gives them."""

    text: str = ""
    numbered: Mapping[int, int] = field(default_factory=dict)


def list_known(facts: Mapping[int, str]) -> KnownFacts:
    """Number the facts in use, by memory id, newest first, for the prompt."""
    if not facts:
        return KnownFacts()
    shown = list(facts.items())[:SHOWN]
    lines = "\n".join(f"{number}. {' '.join(content.split())}" for number, (_, content) in enumerate(shown, 1))
    return KnownFacts(
        "\n\nKnown already. Do not repeat them; where the user now says otherwise, give the new fact, and in "
        "`contradicts` the number of the one it cannot be true together with:\n"
        f"<known_facts>\n{lines.replace('<', '&lt;')}\n</known_facts>",
        {number: memory_id for number, (memory_id, _) in enumerate(shown, 1)},
    )


def side_by_side(plan: Plan) -> Plan:
    """Return the plan with nothing replaced: what would replace a fact waits beside it."""
    closed = {effect.superseded_by: effect.ref for effect in plan.effects if isinstance(effect, Close)}
    effects: list[Effect] = [
        replace(effect, needs_review=True, contradicts=closed[effect.ref])
        if isinstance(effect, Insert) and effect.ref in closed
        else effect
        for effect in plan.effects
        if not (isinstance(effect, Close) and effect.superseded_by is not None)
    ]
    return replace(plan, effects=tuple(effects))
