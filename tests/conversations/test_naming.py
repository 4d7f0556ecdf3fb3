"""What a model calls a conversation is held to what was said in it."""

from __future__ import annotations

import pytest

from webapp.conversations.naming import is_of

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
def test_a_title_is_in_the_language_spoken_and_names_no_number_that_nobody_said(
    title: str, said: str, holds: bool
) -> None:
    assert is_of(title, said) is holds
