"""Recognises that two facts about a person disagree, or say the same in other words, without a key to tell. Pure.

The person cannot be asked. If two accounts disagree, neither replaces the other: the later one waits beside the first
for a decision.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from webapp.memories.rules.state import AddEvidence, Close, Effect, Insert
from webapp.memories.rules.working_copy import Plan
from webapp.text.words import stems, words

_YEAR = r"\b(1[5-9]\d\d|20\d\d)\b"
_LIKES = [
    "loved",
    "loves",
    "liked",
    "likes",
    "enjoyed",
    "enjoys",
    "adored",
    "adores",
    "fond",
    "keen",
    "devoted",
    "passionate",
    "delighted",
    "cherished",
    "treasured",
]
_DISLIKES = [
    "hated",
    "hates",
    "disliked",
    "dislikes",
    "detested",
    "detests",
    "loathed",
    "loathes",
    "despised",
    "avoided",
    "avoids",
]
_NOT = re.compile(r"\b(?:not|never|no|n['’]t|couldn['’]t|could not|can['’]t|cannot)\b", re.IGNORECASE)
_STAND = re.compile(r"\b(?:stand|bear|abide)\b", re.IGNORECASE)
_FEELING = re.compile(
    rf"\b({'|'.join((*_LIKES, *_DISLIKES, 'stand', 'bear'))})\b(?:\s+(?:of|on|about|by|to))?\s+(.+)", re.I
)
_WORKED = re.compile(
    r"\b(?:was|is|became|worked\s+(?:all\s+\w+\s+life\s+)?as|works\s+as|trained\s+as|employed\s+as)\s+an?\s+([^,.;]+)",
    re.I,
)
_COUNT = re.compile(r"\bhad\s+(\w+)\s+(children|sons|daughters|siblings|brothers|sisters|grandchildren)\b", re.I)
_MARGIN = frozenset(stems(words("great deal much very lot really always dearly greatly deeply all life her his whole")))


@dataclass(frozen=True, slots=True)
class Topic:
    """What a fact is about, if that can have only one answer, and the fact's answer."""

    name: str
    value: str


def topic_of(content: str, category: str | None = None) -> Topic | None:
    """A fact's topic, if it has one: birth, death, work, how many children and the like, what was liked or not."""
    folded = " ".join(content.split())
    for verb, name in ((r"\bborn\b", "birth"), (r"\bdied\b|\bpassed away\b", "death")):
        if re.search(verb, folded, re.I):
            if year := re.search(_YEAR, folded):
                return Topic(f"{name} year", year[1])
            if place := re.search(rf"(?:{verb})\s+in\s+([A-ZÀ-Þ][\w'’-]+)", folded):
                return Topic(f"{name} place", place[1].casefold())
            return None
    if found := _COUNT.search(folded):
        return Topic(f"number of {found[2].lower()}", found[1].lower())
    if found := _FEELING.search(folded):
        about = " ".join(sorted(set(stems(words(found[2]))) - _MARGIN)[:4])
        return Topic(f"feeling about {about}", "likes" if _likes(found[1], folded[: found.end(1)]) else "dislikes")
    if category == "occupation" and (found := _WORKED.search(folded)):
        return Topic("work", " ".join(sorted(set(stems(words(found[1]))) - _MARGIN)))
    return None


def _likes(verb: str, before: str) -> bool:
    denied = len(_NOT.findall(before)) % 2 == 1
    if _STAND.fullmatch(verb):
        return not denied
    return (verb.lower() in _LIKES) != denied


def side_by_side(plan: Plan, known: Mapping[int, str], categories: Mapping[int, str | None]) -> Plan:
    """The plan with nothing replaced: what disagrees with a known fact, or an earlier one of the plan, waits beside it;
    what says the same about the same topic becomes evidence for it.

    `known` are the facts in use by id, `categories` theirs.
    """
    closed = {effect.superseded_by: effect.ref for effect in plan.effects if isinstance(effect, Close)}
    topics = {ref: topic for ref, content in known.items() if (topic := topic_of(content, categories.get(ref)))}
    effects: list[Effect] = []
    for effect in plan.effects:
        if isinstance(effect, Close) and effect.superseded_by is not None:
            continue
        if not isinstance(effect, Insert) or effect.overruled_by is not None:
            effects.append(effect)
            continue
        topic = topic_of(effect.draft.content, effect.draft.category)
        same = [ref for ref, other in topics.items() if topic is not None and other == topic]
        against = [ref for ref, other in topics.items() if topic and other.name == topic.name and other != topic]
        disputed = closed.get(effect.ref) or (against[0] if against else None)
        if same and not disputed and _adds_nothing(effect.draft.content, known, same[0]):
            effects.append(AddEvidence(same[0], effect.evidence, effect.draft.confidence))
        elif disputed is not None:
            effects.append(replace(effect, needs_review=True, contradicts=disputed))
        else:
            effects.append(effect)
            if topic is not None:
                topics[effect.ref] = topic
    return replace(plan, effects=tuple(effects))


def _adds_nothing(content: str, known: Mapping[int, str], ref: int) -> bool:
    """Return whether a statement has no words that the known one lacks, apart from those that only put it more
    strongly.
    """
    if ref not in known:
        return False
    told = set(stems(words(content))) - _MARGIN - set(stems(_LIKES + _DISLIKES))
    return told <= set(stems(words(known[ref]))) | set(stems(_LIKES + _DISLIKES))


def as_known(contents: Sequence[str], most: int = 40) -> str:
    """Known facts, newest first, as the prompt for finding more lists them."""
    if not contents:
        return ""
    lines = "\n".join(f"- {' '.join(content.split())}" for content in contents[:most])
    return (
        "\n\nKnown already. Do not repeat them; where the user now says otherwise, give the new fact:\n"
        f"<known_facts>\n{lines.replace('<', '&lt;')}\n</known_facts>"
    )
