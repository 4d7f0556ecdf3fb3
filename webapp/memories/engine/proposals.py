"""What a plan may do on somebody's behalf who did not speak just now: propose, and change its own proposals."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from webapp.memories.engine.state import AddEvidence, Close, Effect, Insert, MemoryRef, Revise


def for_review(effects: Iterable[Effect], proposed: Collection[MemoryRef]) -> list[Effect]:
    """The effects as proposals: what is new waits in review; memories in use are not touched, whatever was said.

    `proposed` are memories that wait in review themselves: they may be reworded, confirmed and closed by what was said
    later. What was heard and is weaker than what is known is dropped.
    """
    found: list[Effect] = []
    mine = set(proposed)
    for effect in effects:
        if isinstance(effect, Insert):
            if effect.overruled_by is None:
                is_known = effect.contradicts in mine or (effect.contradicts or 0) > 0
                contradicts = effect.contradicts if is_known else None
                draft = replace(effect.draft, origin="import")
                found.append(replace(effect, draft=draft, needs_review=True, contradicts=contradicts))
                mine.add(effect.ref)
        elif effect.ref not in mine:
            continue
        elif isinstance(effect, AddEvidence):
            found.append(replace(effect, clears_review=False))
        elif isinstance(effect, Revise) or _closes(effect, mine):
            found.append(effect)
    return found


def _closes(effect: Effect, mine: Collection[MemoryRef]) -> bool:
    return isinstance(effect, Close) and (effect.superseded_by is None or effect.superseded_by in mine)
