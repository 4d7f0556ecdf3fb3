"""The facts of a legacy for the prompt that finds more, and what becomes of a new one against them. Pure.

The person cannot be asked: if two accounts disagree, the later one waits for a decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from webapp.memories.rules.evidence import find_quote
from webapp.memories.rules.kinds import canonical_category
from webapp.memories.rules.state import Close, Effect, Insert, SourceMessage
from webapp.memories.rules.working_copy import Plan
from webapp.text.provenance import blank_out
from webapp.text.sentences import sentences_of
from webapp.text.words import terms_of

SHARE = 0.6
"""The share of a fact's telling words that one of the user's sentences must contain."""


@dataclass(frozen=True, slots=True)
class FactEvidence:
    """The user's message that a fact rests on, and the words in it."""

    number: int
    quote: str


def ground(
    content: str, subject: str, messages: Sequence[SourceMessage], *, quote: str = "", number: int | None = None
) -> FactEvidence | None:
    """Return what a fact about somebody rests on; None if none of the user's messages says it.

    A verbatim quote counts, in the message that was named or else in another one. Without one, the sentence with the
    most of the fact's telling words counts. The person's name is not a telling word, since any sentence may contain it.
    """
    ordered = sorted(messages, key=lambda message: message.number != number)
    if quote.strip():
        for message in ordered:
            if find_quote(quote, message.content, message.others) and _shares(quote, content, subject):
                return FactEvidence(message.number, quote)
    terms = set(terms_of(content)).difference(terms_of(subject))
    if not terms:
        return None
    best: tuple[float, FactEvidence] | None = None
    for message in ordered:
        own_words = blank_out(message.content, message.others)
        for place in sentences_of(own_words):
            sentence = own_words[place.start : place.end]
            share = len(terms.intersection(terms_of(sentence))) / len(terms)
            if (
                share >= SHARE
                and (best is None or share > best[0])
                and find_quote(sentence, message.content, message.others)
            ):
                best = share, FactEvidence(message.number, sentence)
    return best[1] if best else None


def _shares(quote: str, content: str, subject: str) -> bool:
    """Return whether a quote has a telling word of the fact, or is long: a translation or a numeral may share none."""
    terms, quoted = set(terms_of(content)).difference(terms_of(subject)), set(terms_of(quote))
    return not terms or not terms.isdisjoint(quoted) or len(quoted) >= 3


MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """The prompt's list of facts in use, and their memory ids by the numbers that it gives them."""

    text: str = ""
    numbered: Mapping[int, int] = field(default_factory=dict)


def list_known(facts: Mapping[int, str]) -> KnownFacts:
    """Number the facts in use, by memory id, newest first, for the prompt."""
    if not facts:
        return KnownFacts()
    items = list(facts.items())[:MAX_SHOWN]
    lines = "\n".join(f"{number}. {' '.join(content.split())}" for number, (_, content) in enumerate(items, 1))
    return KnownFacts(
        "\n\nKnown already. Do not repeat them; where the user now says otherwise, give the new fact, and in "
        "`contradicts` the number of the one it cannot be true together with:\n"
        f"<known_facts>\n{lines.replace('<', '&lt;')}\n</known_facts>",
        {number: memory_id for number, (memory_id, _) in enumerate(items, 1)},
    )


def side_by_side(plan: Plan) -> Plan:
    """Return the plan with nothing replaced: what would replace a fact waits beside it."""
    refs = {effect.superseded_by: effect.ref for effect in plan.effects if isinstance(effect, Close)}
    effects: list[Effect] = [
        replace(effect, needs_review=True, contradicts=refs[effect.ref])
        if isinstance(effect, Insert) and effect.ref in refs
        else effect
        for effect in plan.effects
        if not (isinstance(effect, Close) and effect.superseded_by is not None)
    ]
    return replace(plan, effects=tuple(effects))


Category = Literal["personality", "hobby", "relationship", "milestone", "occupation", "preference", "habit", "other"]
CATEGORIES: tuple[Category, ...] = get_args(Category)


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact as a prompt contains it: its line in three pieces, the statement in the middle; `weight` (0 to above 2) is
    how telling it is."""

    id: int
    before: str
    statement: str
    after: str
    revision: int = 1
    content: str = ""
    is_others: bool = False
    weight: float = 0.5


def category_of(raw: str | None) -> str:
    """Return the documented category of something, or `other`."""
    category = canonical_category(raw)
    return category if category in CATEGORIES else "other"


def heading(name: str) -> str:
    """Return the line above the facts in a prompt."""
    return f"Known facts about {' '.join(name.split())} from conversations:"


def fact_line(category: str, content: str, visibility: str, author: str | None) -> tuple[str, str, str]:
    """Return a fact's line in a prompt: its category, the fact, and who may see it or which other member said it."""
    source = "(shared)" if visibility == "shared" else "(personal)"
    attribution = f", said by {' '.join(author.split())}" if author else ""
    return f"- [{category}] ", " ".join(content.split()), f" {source}{attribution}"
