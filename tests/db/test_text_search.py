"""Words are found in a column alike on every database, however they are written."""

import json
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import select

from testkit.people import Person
from webapp.db.base import db, write_transaction
from webapp.db.text_search import holds
from webapp.saved_prompts.models import SavedPrompt

CASES = json.loads(Path(__file__).with_name("text_search.json").read_text(encoding="utf-8"))

FOUND = CASES["found"]
NOT_FOUND = CASES["not_found"]


@pytest.mark.parametrize(("text", "words"), [*FOUND, *NOT_FOUND])
def test_words_are_found_however_they_are_written(app: Flask, user: Person, text: str, words: str) -> None:
    with app.app_context():
        with write_transaction():
            db.session.add(SavedPrompt(user_id=user.user_id, name="x", description=text, content="y"))
        found = db.session.scalars(select(SavedPrompt.description).where(holds(SavedPrompt.description, words))).all()
        assert list(found) == ([text] if [text, words] in FOUND else [])


def test_what_is_not_there_holds_nothing(app: Flask) -> None:
    with app.app_context():
        assert not db.session.scalar(select(holds(db.literal(None), "a")))
