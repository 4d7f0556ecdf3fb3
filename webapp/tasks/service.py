"""The state of a job, for the people whose data it is about."""

from collections.abc import Mapping

from redis import Redis
from rq.exceptions import NoSuchJobError
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from sqlalchemy import select

from webapp.accounts.identity import Identity
from webapp.background.queues import model_failure
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.errors import NotFound
from webapp.tasks.schemas import TaskState

_STATES = {
    JobStatus.STARTED: "started",
    JobStatus.FINISHED: "finished",
    JobStatus.FAILED: "failed",
    JobStatus.STOPPED: "failed",
    JobStatus.CANCELED: "failed",
}
_FAILED = "Something went wrong on the server. It has been written to the log."


def job_state(client: Redis, identity: Identity, job_id: str) -> TaskState:
    """Return the state of a job about the caller's data; admins and services may see any. Raises NotFound."""
    try:
        job = Job.fetch(job_id, connection=client, serializer=JSONSerializer)
    except (NoSuchJobError, ValueError):  # the latter if it cannot be the id of a job
        raise NotFound("There is no such job.") from None
    ids = {name: number for name, number in (job.kwargs or {}).items() if isinstance(number, int)}
    if not (identity.is_admin or identity.is_service or identity.user_id in _owners(ids)):
        raise NotFound("There is no such job.")
    name = str(job.meta.get("name") or (job.func_name or "").rpartition(".")[2])
    status = _STATES.get(job.get_status(), "queued")
    error = model_failure(job)
    if error or status == "failed":
        return TaskState(job_id=job_id, name=name, status="failed", error=error or _FAILED)
    result = job.return_value() if status == "finished" else None
    return TaskState(job_id=job_id, name=name, status=status, result=result)


def _owners(ids: Mapping[str, int]) -> set[int | None]:
    """Return the users whose data a job with these ids is about."""
    query = select(Conversation.user_id)
    if "message_id" in ids:
        joined = query.join(Message, Message.conversation_id == Conversation.conversation_id)
        return {db.session.scalar(joined.where(Message.message_id == ids["message_id"]))}
    if "conversation_id" in ids:
        return {db.session.scalar(query.where(Conversation.conversation_id == ids["conversation_id"]))}
    return {ids.get("user_id")}
