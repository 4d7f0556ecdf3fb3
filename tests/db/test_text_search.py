"""Words are found in a column alike on every database, however they are written."""

import json
from pathlib import Path

from sqlalchemy import select

from webapp.db.base import db, write_transaction
from webapp.db.text_search import contains_words
from webapp.saved_prompts.models import SavedPrompt

FOUND, NOT_FOUND = json.loads(Path(__file__).with_name("text_search.json").read_text(encoding="utf-8")).values()


def test_words_are_found_however_they_are_written(app, user):
    cases = [*FOUND, *NOT_FOUND]
    with app.app_context():
        with write_transaction():
            rows = [SavedPrompt(user_id=user.user_id, name=str(n), description=text, content="y")
                    for n, (text, _) in enumerate(cases)]  # fmt: skip
            db.session.add_all(rows)
        for row, (text, words) in zip(rows, cases, strict=True):
            found = select(SavedPrompt.description).where(contains_words(SavedPrompt.description, words))
            its_own = db.session.scalars(found.where(SavedPrompt.saved_prompt_id == row.saved_prompt_id)).all()
            assert (words, list(its_own)) == (words, [text] if [text, words] in FOUND else [])


def test_what_is_not_there_holds_nothing(app):
    with app.app_context():
        assert not db.session.scalar(select(contains_words(db.literal(None), "a")))
