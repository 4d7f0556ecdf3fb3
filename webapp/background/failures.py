"""Failed jobs by what they were to do, so that they leave the list of failures once that is done."""

from redis import Redis
from rq import Queue
from rq.registry import FailedJobRegistry

from webapp.background.job_specs import FAILURE_SECONDS


def _failures_key(key: str) -> str:
    return f"job:failed:{key}"


def note_failure(client: Redis, key: str, job_id: str) -> None:
    """Remember a failed job by what it was supposed to do."""
    with client.pipeline(transaction=False) as pipe:
        pipe.sadd(_failures_key(key), job_id)
        pipe.expire(_failures_key(key), FAILURE_SECONDS)
        pipe.execute()


def forget_failures(client: Redis, queue: Queue, key: str) -> None:
    """Remove failed jobs from the list of failures, since their work has been done."""
    failed = [member.decode() for member in client.smembers(_failures_key(key)) if isinstance(member, bytes)]
    if not failed:
        return
    registry = FailedJobRegistry(queue=queue)
    for job_id in failed:
        if job_id in registry:
            registry.remove(job_id, delete_job=True)
    client.delete(_failures_key(key))
