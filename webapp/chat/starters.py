"""What a new conversation could begin with, from what is known and unfinished; pure, and without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.languages.marks import say
from webapp.tour.answers import INTRODUCTION, SHOW_ME

MOST = 4
LONGEST = 90
"""How many characters of a memory or title fit on a card."""


@dataclass(frozen=True, slots=True)
class Starter:
    """A card: what it offers, what it is about, and the message that it puts into the composer or the page it opens."""

    title: str
    about: str
    draft: str = ""
    conversation_id: int | None = None


FOR_NEWCOMERS = (
    Starter("Tell me about yourself", "You can see and change what I learn", "Let me tell you a little about myself: "),
    Starter("Think something through", "A decision, a plan, a worry", "Help me think something through: "),
    Starter("Work on a text", "Shorten, translate, make it clearer", "Improve this text and say what you changed:\n\n"),
    Starter("Explain something", "At whatever depth you like", "Explain to me, step by step: "),
)

FOR_THE_TOUR = (
    Starter("Show me", "What a reply looks like", SHOW_ME),
    Starter("Introduce yourself", "These sentences are remembered, word for word", INTRODUCTION),
)
"""While no model is connected there is nothing else to begin."""


def starters(plans: Sequence[str], memories: Sequence[str], talks: Sequence[tuple[int, str]]) -> list[Starter]:
    """Up to four cards: where the user left off, a next step in a plan, what is known, then what anyone can begin with.

    `plans` are memories of what the user wants or is doing, `memories` all others, `talks` ids and titles.
    """
    cards = [
        Starter("Pick up where you left off", short(title), conversation_id=conversation_id)
        for conversation_id, title in talks[:1]
    ]
    cards += [
        Starter(
            "Plan the next step",
            short(plan),
            say("You remember this about me: “%(plan)s” What is a good next step?", plan=plan),
        )
        for plan in plans[:1]
    ]
    if plans or memories:
        about = short((memories or plans)[0])
        cards.append(
            Starter("What do you know about me?", about, "What do you remember about me, and what follows from that?")
        )
    return [*cards, *FOR_NEWCOMERS[1 if cards else 0 :]][:MOST]


def short(text: str) -> str:
    """One line that fits a card."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST].rstrip() + "…"
