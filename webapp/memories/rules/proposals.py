"""Limits of a plan for somebody who was not speaking just now: propose, and change its own proposals."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from webapp.memories.rules.state import AddEvidence, Close, Effect, Flag, Insert, MemoryRef, Origin, Revise


def for_review(
    effects: Iterable[Effect], proposed_refs: Collection[MemoryRef] = (), origin: Origin = "import"
) -> list[Effect]:
    """Return the effects as proposals: new memories wait in review; memories in use are not touched, whatever was said.

    `proposed_refs` are memories that wait in review themselves: later statements may reword, confirm or close them.
    Anything weaker than what is known is dropped.
    """
    effects = list(effects)
    proposals: list[Effect] = []
    refs = set(proposed_refs)
    # A memory in use would wait from here on beside the new one: it stays, and the new one waits beside it.
    contradictions = {
        effect.contradicts: effect.ref for effect in effects if isinstance(effect, Flag) and effect.ref > 0
    }
    for effect in effects:
        if isinstance(effect, Insert):
            if effect.overruled_by is None:
                is_known = effect.contradicts in refs or (effect.contradicts or 0) > 0
                contradicts = effect.contradicts if is_known else contradictions.get(effect.ref)
                draft = replace(effect.draft, origin=origin)
                proposals.append(replace(effect, draft=draft, needs_review=True, contradicts=contradicts))
                refs.add(effect.ref)
        elif effect.ref not in refs:
            continue
        elif isinstance(effect, AddEvidence):
            proposals.append(replace(effect, clears_review=False))
        elif isinstance(effect, Revise) or _is_closed_by(effect, refs):
            proposals.append(effect)
    return proposals


def _is_closed_by(effect: Effect, refs: Collection[MemoryRef]) -> bool:
    return isinstance(effect, Close) and (effect.superseded_by is None or effect.superseded_by in refs)
