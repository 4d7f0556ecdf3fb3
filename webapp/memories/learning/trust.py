"""What the model that writes memories has earned: its grade in the exam decides how its statements are worded."""

from __future__ import annotations

from webapp.memories.rules.policy import Policy
from webapp.providers.grades import grade_of, worker


def policy() -> Policy:
    """Return the policy for the model that does background work now; without a grade it is not trusted."""
    grade = grade_of(worker())
    return Policy(is_trusted=grade is not None and grade.is_trusted)
