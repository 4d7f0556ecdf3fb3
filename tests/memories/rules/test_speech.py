"""How a quote is meant, in several languages; and that plain statements are left alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.memories.rules.evidence import find_quote
from webapp.memories.rules.speech import Speech, about_somebody_close, is_one_off, pasted_spans, speech_of


def said(quote: str, message: str | None = None) -> Speech:
    """How a quote of a message is meant."""
    text = message or quote
    span = find_quote(quote, text)
    assert span is not None
    return speech_of(span, text)


@pytest.mark.parametrize(
    "quote",
    [
        "I'm allergic to nuts",
        "My name is Ada",
        "We decided to sell the boat",
        "I would like short answers from now on",
        "I'd rather have tea",
        "If I cook, I use metric units",
        "I work with my colleague Bertram on Chirpbox",
        "My doctor says I should avoid salt",
        "Ich wohne seit März in Porto",
        "J'habite à Lyon avec mes enfants",
        "Vivo en Sevilla y trabajo de noche",
        "私は東京に住んでいます",
        "home is Cardiff now",
        "Allergic to peanuts, by the way",
        "I can't eat gluten",
        "I have two cats and a dog",
        "I never drink coffee after noon",
        "I was born in 1984",
        "My wife and I moved to Ghent",
        "Call me Sam",
        "Always answer in French",
    ],
)
def test_what_is_told_is_told(quote):
    assert said(quote) is Speech.TOLD
    assert said(quote, f"Hello there. {quote}. Which one would you take?") is Speech.TOLD


@pytest.mark.parametrize(
    ("quote", "message", "speech"),
    [
        ("Do I live in Rome", "Do I live in Rome?", Speech.ASKED),
        ("What would a vegan eat", "What would a vegan eat?", Speech.ASKED),
        ("Wo finde ich einen guten Arzt", "Wo finde ich einen guten Arzt?", Speech.ASKED),
        ("¿Cuándo puedo plantar tomates", "¿Cuándo puedo plantar tomates?", Speech.ASKED),
        ("Translate this letter", "Translate this letter for the boss", Speech.ASKED),
        ("I had three million", "Imagine I had three million. What then?", Speech.SUPPOSED),
        ("I were a teacher", "but if I were a teacher I wouldn't last a week", Speech.SUPPOSED),
        ("my name was Maximilian", "Let's say my name was Maximilian.", Speech.SUPPOSED),
        ("ich wohne in Rom", "Angenommen, ich wohne in Rom. Was dann?", Speech.SUPPOSED),
        ("I am a pirate captain", "Let's roleplay: I am a pirate captain.", Speech.SUPPOSED),
        ("I own ten yachts", "I own ten yachts. Just kidding!", Speech.JOKED),
        (
            "A colleague, Bertram, is diabetic",
            "A colleague, Bertram, is diabetic and hates coriander.",
            Speech.OF_OTHERS,
        ),
        ("Mein Nachbar ist allergisch", "Mein Nachbar ist allergisch gegen Katzen.", Speech.OF_OTHERS),
        (
            "she teaches chemistry in Bruges",
            "my sister-in-law is odd, she teaches chemistry in Bruges",
            Speech.OF_OTHERS,
        ),
        ("hates mushrooms", "My boss hates mushrooms.", Speech.OF_OTHERS),
        ("I'm starving", "I'm starving btw.", Speech.PASSING),
        ("ich bin total müde", "Heute: ich bin total müde.", Speech.PASSING),
        ("I am allergic to lime", 'They sent: "Hello, I am allergic to lime plaster so I use clay."', Speech.PASTED),
        ("I live in Bergen", "Is it good?\n---\nDear Sir,\nI live in Bergen.\n---", Speech.PASTED),
        ("I live in Bergen", "Dear Sir,\nI live in Bergen.\nYours, Ingrid", Speech.PASTED),
        ("I love rain", "> I love rain\nWhat do you think?", Speech.PASTED),
        ("I live in Rome", "Translate to German: I live in Rome.", Speech.PASTED),
    ],
)
def test_what_is_no_evidence_about_the_user(quote, message, speech):
    assert said(quote, message) is speech


@pytest.mark.parametrize(
    ("quote", "value", "close"),
    [
        ("My dog Biscuit is a beagle", "Biscuit", True),
        ("I have a dog, Biscuit", "Biscuit", True),
        ("Meine Frau heißt Anna", "Anna", True),
        ("Ma femme s'appelle Zoé", "Zoé", True),
        ("I live in Rome with my dog", "Rome", False),
        ("My name is Ada", "Ada", False),
        ("My wife and I live in Ghent", "Ghent", False),
    ],
)
def test_whose_it_is(quote, value, close):
    assert about_somebody_close(quote, value) is close


@pytest.mark.parametrize(
    ("message", "once"),
    [
        ("This time, shorter please", True),
        ("Heute bitte nur ein kurzes Rezept", True),
        ("Answer in one line for now", True),
        ("Always answer in one line", False),
        ("Please answer me in bullet points", False),
    ],
)
def test_a_wish_for_this_once_is_none_for_always(message, once):
    span = find_quote(message, message)
    assert span is not None and is_one_off(span, message) is once


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 60))
def test_any_text_is_judged(text, start, size):
    from webapp.text.quotes import Span

    assert speech_of(Span(min(start, len(text)), min(len(text), start + size)), text) in Speech
    assert all(0 <= span.start <= span.end <= len(text) for span in pasted_spans(text))
