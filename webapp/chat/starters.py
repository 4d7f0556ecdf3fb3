"""Suggestions for beginning a conversation; pure, and without a word of what is remembered."""

from dataclasses import dataclass

from webapp.tour import answers


@dataclass(frozen=True, slots=True)
class Starter:
    """A card: what it offers, what it is about, and the beginning that it puts into the composer."""

    title: str
    about: str
    draft: str


INTRODUCTION = Starter(
    "Tell me about yourself", "See and change what I learn", "Let me tell you a little about myself: "
)
MEMORY = Starter(
    "What do you know about me?",
    "A look at what is remembered",
    "What do you remember about me, and what follows from that?",
)
FOR_ANYONE = (
    Starter("Think something through", "A decision, a plan, a worry", "Help me think something through: "),
    Starter("Work on a text", "Shorten, translate, clarify", "Improve this text and say what you changed:\n\n"),
)
FOR_A_LEGACY = (
    Starter("Tell a story", "A moment you shared", "Let me tell you about a moment I remember: "),
    Starter("Describe them", "Their ways, voice, habits", "Let me describe what they were like: "),
    Starter(
        "Ask about their life", "From what is known so far", "Tell me about their life, from what is known so far."
    ),
    Starter("Find what is missing", "Questions still open", "What is still missing from their story? Ask me about it."),
)

FOR_THE_TOUR = (
    Starter("Show me", "What a reply looks like", answers.SHOW_ME),
    Starter("Introduce yourself", "These sentences are remembered, word for word", answers.INTRODUCTION),
)
"""While no model is connected there is nothing else to begin."""


def starters(*, is_legacy: bool, has_memory: bool) -> tuple[Starter, ...]:
    """Return the cards of a legacy, or three that stand beside the one for journeys."""
    if is_legacy:
        return FOR_A_LEGACY
    return (MEMORY if has_memory else INTRODUCTION, *FOR_ANYONE)
