"""What a model calls a conversation is held to what was said in it."""

import pytest

from webapp.conversations.titles import clean_model_title, fits_source, tidy

GERMAN = "Wie entkalke ich meine Kaffeemaschine, ohne Essig zu benutzen? Am besten mit Zitronensäure."


@pytest.mark.parametrize(
    ("title", "said", "holds"),
    [
        ("How to Unplug Your Coffee Maker Without Using Essig", GERMAN, False),
        ("Kaffeemaschine ohne Essig entkalken", GERMAN, True),
        ("Das Leben in a Day", "Was ist das für ein Film, Das Leben in a Day? Ein Film von 2011.", True),
        ("How to fix the chain of a bike", "The chain of my bike is broken. How do I fix it?", True),
        ("Twelve ways, 13 boats", "Tell me of 12 boats", False),
    ],
)
def test_a_title_is_in_the_language_spoken_and_names_no_number_that_nobody_said(title, said, holds):
    assert fits_source(title, said) is holds


@pytest.mark.parametrize("title", ["#", "", "“ ”", "Title: "])
def test_a_title_that_names_nothing_is_none(title):
    """It would have ended naming: the first words of the conversation say more."""
    assert tidy(title) == ""


def test_a_question_asked_back_names_nothing():
    asked, answered = "Plan my trip to Rome", "Gladly. When do you leave? 你几时走？"
    assert (
        clean_model_title("When do you leave?", asked, answered)
        == clean_model_title("你几时走？", asked, answered)
        == ""
    )
    assert clean_model_title("Trip to Rome?", asked, answered) == "Trip to Rome?"
    assert clean_model_title(None, asked, answered) == ""


def test_a_title_may_be_about_titles():
    assert tidy("Title of a new conversation") == "Title of a new conversation"
