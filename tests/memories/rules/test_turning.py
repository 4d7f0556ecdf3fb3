"""Statements that turn round what was said, and what only sounds like a "not"."""

from __future__ import annotations

import pytest

from webapp.memories.rules.keyed import reworded
from webapp.memories.rules.operations import MemoryOperation
from webapp.memories.rules.turning import is_turned, says_otherwise

OTHERWISE = [
    ("I am allergic to peanuts", "Not allergic to peanuts"),
    ("I am allergic to peanuts", "No longer allergic to peanuts"),
    ("I am not allergic to peanuts", "Allergic to peanuts"),
    ("Well, I am a nurse. What now?", "Is not a nurse"),
    ("I can drive", "Cannot drive"),
    ("I always lock the door", "Never locks the door"),
    ("I stopped smoking", "Smokes"),
    ("I never drink alcohol", "Drinks alcohol"),
    ("Je n'aime pas le fromage", "Aime le fromage"),
    ("我不喜欢茶", "喜欢茶"),
    ("I hate coriander", "Loves coriander"),
    ("I can't stand coriander", "Loves coriander"),
    ("I love tea and hate coffee", "Loves coffee"),
    ("I love tea and hate coffee", "Hates tea"),
    ("I hate peas and loud music", "Likes loud music"),
    ("I don't eat meat and fish", "Eats fish"),
    ("Ich hasse Koriander", "Mag Koriander"),
    ("Je déteste le fromage", "Aime le fromage"),
]
AS_SAID = [
    ("I don't eat meat, and I love coriander", "Loves coriander"),
    ("I don't like loud places", "Prefers quiet places"),
    ("I can't stand coriander", "Hates coriander"),
    ("I never drink alcohol", "Does not drink alcohol"),
    ("I stopped smoking in May", "No longer smokes"),
    ("I no longer work at Acme", "Used to work at Acme"),
    ("No bullet points please", "Avoids bullet points"),
    ("Don't call me Samuel, call me Sam", "Called Sam"),
    ("My daughter isn't allergic to nuts but to milk", "Daughter is allergic to milk"),
    ("I'm not married", "Single"),
    ("I quit my job at Acme", "Quit the job at Acme"),
    ("Ich esse kein Fleisch", "Isst kein Fleisch"),
    ("Je n'aime pas le fromage", "N'aime pas le fromage"),
    ("I love tea and hate coffee", "Loves tea"),
    ("I love tea and hate coffee", "Hates coffee"),
    ("I don't eat meat and I love basil", "Loves basil"),
    ("I hate coriander", "Does not like coriander"),
    ("I avoid wine", "Does not drink wine"),
    ("I can't eat nuts", "Avoids nuts"),
]
NO_DENIALS = [
    ("Don't forget I'm allergic to nuts", "Allergic to nuts"),
    ("Never forget that I love Bach", "Loves Bach"),
    ("Do not forget that my train leaves at 9", "Train leaves at 9"),
    ("I can't wait to visit Japan", "Wants to visit Japan"),
    ("I don't mind spicy food", "Likes spicy food"),
    ("Vergiss nicht, dass ich in Wien wohne", "Wohnt in Wien"),
    ("N'oublie pas que j'habite Lyon", "Habite Lyon"),
    ("No olvides que vivo en Lima", "Vive en Lima"),
    ("Non dimenticare che abito a Bari", "Abita a Bari"),
    ("Не забудь, что я живу в Омске", "Живёт в Омске"),
    ("别忘了我喜欢茶", "喜欢茶"),
]


@pytest.mark.parametrize(("said", "content"), OTHERWISE)
def test_a_statement_that_denies_what_was_said_says_otherwise(said: str, content: str) -> None:
    assert says_otherwise(content, said)


@pytest.mark.parametrize(("said", "content"), OTHERWISE)
def test_extraction_keeps_what_was_said_in_its_place(said: str, content: str) -> None:
    """A model's "Not allergic to peanuts" was kept beside the quote that says the opposite."""
    proposed = MemoryOperation(
        action="add", message_number=1, quote=said, content=content, confidence=0.9, importance=0.6
    )
    kept = reworded(proposed, said).content
    assert kept != content and kept is not None and not says_otherwise(kept, said)


@pytest.mark.parametrize(("said", "content"), [*AS_SAID, *NO_DENIALS])
def test_other_words_for_the_same_do_not(said: str, content: str) -> None:
    assert not says_otherwise(content, said)


@pytest.mark.parametrize(("said", "content"), NO_DENIALS)
def test_do_not_forget_denies_nothing(said: str, content: str) -> None:
    """An allergy told as "don't forget I'm allergic to nuts" was not kept."""
    assert not is_turned(content, said)
