"""The grade of the model that the tests talk to."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from sqlalchemy import delete

from webapp.db.base import db, write_transaction
from webapp.extensions import app_settings
from webapp.providers.catalogue import ENVIRONMENT_MODEL
from webapp.providers.grades import key_at, key_of, target_of
from webapp.providers.models import MemoryGrade


def grade_model(recall: float) -> None:
    """Give the models of the settings a grade, as if they had been examined."""
    with write_transaction():
        home = app_settings().model
        for key in {key_of(target_of(ENVIRONMENT_MODEL)), key_at(home.base_url, home.chat_model)}:
            grade = MemoryGrade(model_key=key, recall=recall, key_share=recall, false_share=0.0, cases=40)
            db.session.merge(grade)


@contextmanager
def grades_put_back(app: Flask) -> Iterator[None]:
    """Put the grades back as they were, whatever a test makes of them: they stay from test to test."""
    columns = MemoryGrade.__table__.columns.keys()
    with app.app_context():
        before = [{name: getattr(row, name) for name in columns} for row in db.session.query(MemoryGrade)]
    yield
    with app.app_context(), write_transaction():
        db.session.execute(delete(MemoryGrade))
        db.session.add_all(MemoryGrade(**values) for values in before)
