"""The grade of the model that the tests talk to."""

from __future__ import annotations

from webapp.database import db, write_transaction
from webapp.extensions import app_settings
from webapp.memories.learning.trust import grade_key
from webapp.memories.models import MemoryGrade


def grade_model(recall: float) -> None:
    """Give the model of the settings a grade, as if it had been examined."""
    model = app_settings().model
    with write_transaction():
        key = grade_key(model.base_url, model.background_model)
        grade = MemoryGrade(model_key=key, recall=recall, key_share=recall, false_share=0.0, cases=40)
        db.session.merge(grade)
