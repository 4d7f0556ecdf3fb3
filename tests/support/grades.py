"""The grade of the model that the tests talk to."""

from __future__ import annotations

from webapp.database import db, write_transaction
from webapp.models.catalogue import HOME_ID
from webapp.models.grades import key_of, target_of
from webapp.models.models import MemoryGrade


def grade_model(recall: float) -> None:
    """Give the model of the settings a grade, as if it had been examined."""
    with write_transaction():
        key = key_of(target_of(HOME_ID))
        grade = MemoryGrade(model_key=key, recall=recall, key_share=recall, false_share=0.0, cases=40)
        db.session.merge(grade)
