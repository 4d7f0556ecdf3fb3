"""What the model that writes memories has earned: its grade in the exam decides how its statements are worded."""

from __future__ import annotations

import hashlib

from webapp.database import db
from webapp.extensions import app_settings
from webapp.memories.models import MemoryGrade
from webapp.memories.rules.policy import Policy
from webapp.models.catalogue import background_target

MIN_RECALL = 0.85
"""The share of the exam's right statements that a trusted model finds."""
MAX_FALSE_SHARE = 0.025
"""The most of its wrong ones that it makes: one of forty."""


def policy() -> Policy:
    """Return the policy for the model that does background work now; without a grade it is not trusted."""
    target = background_target()
    settings = target.settings if target else app_settings().model
    grade = db.session.get(
        MemoryGrade, grade_key(settings.base_url, target.model if target else settings.background_model)
    )
    return Policy(is_trusted=grade is not None and is_trusted(grade))


def is_trusted(grade: MemoryGrade) -> bool:
    """Tell whether a grade is good enough for the model's own wording."""
    return grade.recall >= MIN_RECALL and grade.false_share <= MAX_FALSE_SHARE


def grade_key(base_url: str, model: str) -> str:
    """Return what identifies a model on its server: 64 hexadecimal digits."""
    return hashlib.sha256(f"{base_url.rstrip('/')}\n{model}".encode()).hexdigest()
