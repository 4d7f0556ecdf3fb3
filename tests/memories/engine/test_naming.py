"""Statements are put in human words."""

import pytest

from webapp.memories.engine.naming import in_human_words


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("The user is allergic to peanuts", "Allergic to peanuts"),
        ("User lives in Porto since March", "Lives in Porto since March"),
        ("The user's dog Biscuit is a beagle", "Dog Biscuit is a beagle"),
        ("the user has two kids", "Has two kids"),
        ("Der Nutzer wohnt in Köln", "Wohnt in Köln"),
        ("L'utilisatrice habite à Lyon", "Habite à Lyon"),
        ("La usuaria vive en Sevilla", "Vive en Sevilla"),
        ("用户住在杭州", "住在杭州"),
        ("User interface of Chirpbox is done", "User interface of Chirpbox is done"),
        ("Writes the user manual of Chirpbox", "Writes the user manual of Chirpbox"),
        ("User", "User"),
        ("Loves jazz", "Loves jazz"),
    ],
)
def test_statements_do_not_say_the_user(written, said):
    assert in_human_words(written) == said == in_human_words(said)
