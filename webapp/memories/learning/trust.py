"""Trust in the model that writes memories: its grade in the exam decides how its statements are worded."""

from webapp.memories.rules.policy import Policy
from webapp.providers.grades import grade_of, grade_of_reply, worker
from webapp.providers.models import MemoryGrade


def policy() -> Policy:
    """Return the policy for the model that does background work now; without a grade it is not trusted."""
    return _policy(grade_of(worker()))


def reply_policy(model_id: str | None) -> Policy:
    """Return the policy for what a model wants kept while it replies; None is the environment's chat model."""
    return _policy(grade_of_reply(model_id))


def _policy(grade: MemoryGrade | None) -> Policy:
    return Policy(is_trusted=grade is not None and grade.is_trusted)
