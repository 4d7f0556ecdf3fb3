"""What a model makes of a quote holds to it: key, value, names and numbers, language."""

import pytest
from hypothesis import given, settings

from tests.memories.worlds import operations, say
from webapp.memories.rules.admission import sound
from webapp.memories.rules.keyed import home_in, key_holds, reworded
from webapp.memories.rules.operations import MemoryOperation
from webapp.memories.rules.soundness import Fit, fit, is_complete, narrowed, value_stands
from webapp.text.quotes import Span


def operation(quote: str, content: str, **fields) -> MemoryOperation:
    """What a model proposes."""
    values = {"action": "add", "message_number": 1, "confidence": 0.9, "importance": 0.6}
    return MemoryOperation(quote=quote, content=content, **(values | fields))


@pytest.mark.parametrize(
    ("value", "quote", "stands"),
    [
        ("Leeds", "I live in Leeds", True),
        ("physiotherapists", "I work as a physiotherapist", True),
        ("vegetarian", "ich ernähre mich vegetarisch", True),
        ("2026-05-14", "my birthday is 14 May 2026", True),
        ("18500", "the budget is 18,500 euros", True),
        ("Paris", "I live in Leeds", False),
        (None, "I live in Leeds", False),
    ],
)
def test_a_value_stands_in_its_quote_or_its_normal_form_does(value, quote, stands):
    assert value_stands(value, quote) is stands


@pytest.mark.parametrize(
    ("key", "value", "quote", "holds"),
    [
        ("identity/name", "Ada", "I'm Ada", True),
        ("identity/name", "Ada", "My name is Ada", True),
        ("identity/name", "Ada", "Ada", True),
        ("identity/name", "Jörg", "Ich heiße Jörg", True),
        ("identity/name", "小明", "我叫小明", True),
        ("identity/name", "Biscuit", "My dog Biscuit is a beagle", False),
        ("identity/name", "Chirpbox", "I'm building a classifier, it's called Chirpbox", False),
        ("identity/name", "Fedora", "I'm on Fedora", False),
        ("identity/name", "sysadmin", "I'm the sysadmin of a museum", False),
        ("identity/location", "Porto", "I moved to Porto", True),
        ("identity/location", "Porto", "I love Porto", False),
        ("identity/location", "Rome", "My sister lives in Rome", False),
        ("work/job", "nurse", "I work as a nurse", True),
        ("work/job", "Neovim", "I write everything in Neovim", False),
        ("garden/size", "9", "It is 9 m wide", True),
    ],
)
def test_a_key_holds_only_what_the_quote_gives_the_user(key, value, quote, holds):
    assert key_holds(key, value, quote) is holds


@pytest.mark.parametrize(
    ("content", "quote", "complete"),
    [
        ("Has two kids", "I have two kids, Oliwia and Kacper", False),
        ("Best half marathon", "My best half marathon is 1:42", False),
        ("Left knee injury", "My left knee has an old meniscus injury", False),
        ("Allergic to peanuts", "I'm allergic to peanuts", True),
        ("Lives in Porto since March", "I've been living in Porto since March", True),
        ("Is expecting a baby", "we are having a child in May", False),
        ("Vegetarian", "I don't eat meat or fish, so no chicken either", True),
    ],
)
def test_names_and_numbers_are_kept(content, quote, complete):
    assert is_complete(content, quote) is complete


@pytest.mark.parametrize(
    ("quote", "content", "kept"),
    [
        ("My dog Biscuit is a beagle", "Is a beagle", "My dog Biscuit is a beagle"),
        ("please call me Nadia, everyone does", "Nadia", "Please call me Nadia"),
        ("Ich ernähre mich vegetarisch", "Eats vegetarian", "Ich ernähre mich vegetarisch"),
        ("I'm allergic to peanuts", "Allergic to peanuts", "Allergic to peanuts"),
    ],
)
def test_a_statement_that_says_too_little_gives_way_to_the_users_words(quote, content, kept):
    value = "Nadia" if content == "Nadia" else None
    proposed = operation(quote, content, fact_key="identity/preferred_name" if value else None, fact_value=value)
    assert reworded(proposed, quote).content == kept


def test_a_dogs_name_is_not_the_users():
    proposed = operation("My dog Biscuit is a beagle", "Biscuit", fact_key="identity/name", fact_value="Biscuit")
    made = reworded(proposed, proposed.quote)
    assert made.fact_key is None and made.fact_value is None and "dog" in made.content


@pytest.mark.parametrize(
    ("quote", "home"),
    [
        ("Ich bin umgezogen und wohne jetzt in Potsdam", "Potsdam"),
        ("I've just moved to New York", "New York"),
        ("J'habite maintenant à Lyon", "Lyon"),
        ("I moved to a bigger flat", None),
        ("I love Lyon", None),
    ],
)
def test_where_somebody_lives_is_known_by_the_commonest_words(quote, home):
    assert home_in(quote) == home


def test_a_quote_is_narrowed_to_what_says_it():
    message = "Can you convert this? 2 cups of flour. I always want metric units, by the way."
    span = narrowed(Span(0, len(message)), message, "Wants metric units")
    assert message[span.start : span.end] == "I always want metric units, by the way."


def test_a_statement_about_something_else_is_foreign():
    assert fit("Hates coriander", "I like tea") is Fit.FOREIGN
    assert fit("Tea drinker", "I like tea") is Fit.SAYS_IT


@settings(max_examples=150, deadline=None)
@given(operations())
def test_what_is_sound_stays_as_it_is(proposed):
    messages = say("My name is Alex. Call me Al. I live in Rome", "Actually my name is Alexander; I like tea 🍵")
    once = sound(proposed, messages)
    assert sound(once, messages) == once
