"""Words are found in a column alike on every database, however they are written."""

import pytest
from flask import Flask
from sqlalchemy import select

from testkit.people import Person
from webapp.db.base import db, write_transaction
from webapp.db.text_search import holds
from webapp.saved_prompts.models import SavedPrompt

FOUND = (
    ("שָׁלוֹם חבר", "שלום"),
    ("שלום חבר", "שָׁלוֹם"),
    ("مَدْرَسَة جديدة", "مدرسة"),
    ("Ich war im Krankenhausgebäude", "gebäude"),
    ("Ich war im Krankenhausgebaude", "GEBÄUDE"),
    ("They co\u00adoperate often", "cooperate"),
    ("They cooperate often", "co\u00adoperate"),
    ("한국어를 배웁니다", "배우"),
    ("naïve résumé", "resume"),
    ("İstanbul güzel", "istanbul"),
    ("我喜欢绿茶", "茶"),
    ("I know C++ well", "c++"),
    ("🎉 party", "🎉"),
    ("𠮷野さん", "𠮷野"),
    ("100 % of a_b\\c", "% of a_b\\C"),
    ("a [x] (y) ^z שלום", "[x] (y) ^z שלום"),
)
NOT_FOUND = (
    ("👍 fine", "🎉"),
    ("𡈽田さん", "𠮷田"),
    ("I know C well", "C++"),
    ("한국어를 배웁니다", "배운"),
    ("100 of a-b", "a_b"),
    ("a שלום", ".*שלום"),
)


@pytest.mark.parametrize(("text", "words"), [*FOUND, *NOT_FOUND])
def test_words_are_found_however_they_are_written(app: Flask, user: Person, text: str, words: str) -> None:
    with app.app_context():
        with write_transaction():
            db.session.add(SavedPrompt(user_id=user.user_id, name="x", description=text, content="y"))
        found = db.session.scalars(select(SavedPrompt.description).where(holds(SavedPrompt.description, words))).all()
        assert list(found) == ([text] if (text, words) in FOUND else [])


def test_what_is_not_there_holds_nothing(app: Flask) -> None:
    with app.app_context():
        assert not db.session.scalar(select(holds(db.literal(None), "a")))
