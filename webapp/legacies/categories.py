"""The documented categories of facts, and the documented form in which a prompt lists them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.memories.rules.kinds import canonical_category

CATEGORIES = ("personality", "hobby", "relationship", "milestone", "occupation", "preference", "habit", "other")


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact as a prompt contains it; `author` names the member who shares it, empty for the reader's own.

    `weight`, from 0 to a little above 2, says how telling it is.
    """

    memory_id: int
    revision: int
    category: str
    content: str
    visibility: str
    author: str = ""
    weight: float = 0.5


def category_of(raw: str | None) -> str:
    """Return the documented category of something, or `other`."""
    category = canonical_category(raw)
    return category if category in CATEGORIES else "other"


def heading(name: str) -> str:
    """Return the line above the facts in a prompt."""
    return f"Known facts about {' '.join(name.split())} from conversations:"


def fact_line(fact: KnownFact) -> tuple[str, str, str]:
    """Return a fact's line in a prompt: its category, the fact, and who may see it or which other member said it."""
    source = "(shared)" if fact.visibility == "shared" else "(personal)"
    attribution = f", said by {' '.join(fact.author.split())}" if fact.author else ""
    return f"- [{fact.category}] ", " ".join(fact.content.split()), f" {source}{attribution}"


def order(facts: Sequence[KnownFact]) -> list[KnownFact]:
    """Facts in order of extraction, that is, by id; stable, so that a prompt changes only where a fact does."""
    return sorted(facts, key=lambda fact: fact.memory_id)
