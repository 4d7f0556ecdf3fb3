"""Jobs killed for real between the model's answer and the commit, and Redis lost under them: one effect each time.

A worker process forks a horse for the job; one of the two gets SIGKILL. Where it stands then is certain, not a matter
of time: it waits for an embedding that never comes, for a table that the test has locked, or in its COMMIT.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from sqlalchemy import NullPool, create_engine, func, select, text

from testkit.processes import wait_until
from tests.memories.conversing import answers, converse, current, idle, memories_of, operation
from tests.support.dialogue import START, write_dialogue
from tests.support.live import LiveServer
from tests.support.queries import scalar, scalars
from webapp.background import job_specs
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.memories.models import MemoryChangeSet
from webapp.retrieval.models import ConversationChunk

pytestmark = pytest.mark.once

QUICK = {"answered-horse", "writing-worker"}
"""One of each victim and of two points: the others, and the same with summaries, run with --slow."""

TEA = operation("I prefer green tea", "Prefers green tea.", memory_type="preference")
SUMMARY = "Painted boats in Hvar."
SECONDS = 180  # only ever waited out when something is broken


def places(*pairs: str) -> pytest.MarkDecorator:
    """Where a job is killed and what is: "point-victim" of each case. SQLite has no lock in the midst of writing."""
    cases = []
    for pair in pairs:
        marks = [] if pair.startswith("answered") else [pytest.mark.mysql_only]
        marks += [] if pair in QUICK else [pytest.mark.slow]
        cases.append(pytest.param(*pair.split("-"), id=pair, marks=marks))
    return pytest.mark.parametrize(("point", "victim"), cases)


@pytest.fixture
def talk(app, user) -> int:
    return converse(app, user.user_id, "I prefer green tea")


@pytest.fixture
def long_talk(app, user) -> int:
    """32 messages: two more than may be open."""
    lines = [line for _ in range(16) for line in (("user", "I painted another boat"), ("assistant", "Nice."))]
    with app.app_context():
        return write_dialogue(user.user_id, lines, START).conversation_id


def push(app, name: str, **ids) -> str:
    """Queue a job; its id."""
    job_id = job_specs.push(app.extensions["redis"], job_specs.JobRequest(name, ids))
    assert job_id
    return job_id


def fetch(app, job_id: str) -> Job:
    return Job.fetch(job_id, connection=app.extensions["redis"], serializer=JSONSerializer)


def until_ended(app, job_id: str) -> None:
    """Wait until the worker has done with a job, well or not."""
    ended = {JobStatus.FINISHED, JobStatus.FAILED, JobStatus.SCHEDULED}
    wait_until(lambda: fetch(app, job_id).get_status() in ended, f"the end of {job_id}", seconds=SECONDS)


def run_again(app, job_id: str) -> None:
    """Run a job once more, as RQ does with one that it finds abandoned, and wait for its end."""
    job = fetch(app, job_id)
    job_specs.rq_queue(app.extensions["redis"], job_specs.Queue.TURN).enqueue_job(job)
    until_ended(app, job_id)


def swept(app, worker: LiveServer, is_done: Callable[[], bool], what: str) -> None:
    """Ask for the sweep, and wait for what it asks for."""
    until_ended(app, push(app, "sweep"))
    wait_until(is_done, what, log=worker.log, seconds=SECONDS)


def owes(app, conversation_id: int, column: str) -> bool:
    return scalar(app, select(getattr(Conversation, column)).where(Conversation.conversation_id == conversation_id))


@contextmanager
def hold(app, point: str, table: str) -> Iterator[Callable[[], bool]]:
    """Let nobody past a point of their transaction; yields whether somebody stands there.

    writing: inserting into this table, after what was inserted before it; committing: in the COMMIT itself.
    """
    stages = ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT")
    take, state, give_back = {
        "writing": ([f"LOCK TABLES {table} READ"], "Waiting for table%", "UNLOCK TABLES"),
        "committing": ([f"BACKUP STAGE {stage}" for stage in stages], "Waiting for backup lock", "BACKUP STAGE END"),
    }[point]
    waiting = text("SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE :state")
    with app.app_context():
        patient = create_engine(db.engine.url, poolclass=NullPool)  # the web's own gives up on a slow statement
    with patient.connect() as holder, patient.connect() as watcher:
        for statement in take:
            holder.execute(text(statement))
        try:
            yield lambda: watcher.execute(waiting, {"state": state}).scalar() > 0
        finally:
            holder.execute(text(give_back))


def kill_at(
    app, worker: LiveServer, model, *, point: str, victim: str, table: str, job: tuple[str, int], vector_of: str
) -> str:
    """Run a job up to a point after the model's answer, and kill -9 the horse, or worker and horse; the job's id."""
    if point == "answered":
        model.script(path="embeddings", match=vector_of, first_delay=600)
    with hold(app, point, table) if point != "answered" else nullcontext(None) as stands_there:
        job_id = push(app, job[0], conversation_id=job[1])
        if stands_there is None:
            model.wait_for(
                lambda calls: any(call["path"] == "embeddings" and vector_of in call["input"] for call in calls),
                timeout=SECONDS,
            )
        else:
            wait_until(stands_there, f"the job {point}", seconds=SECONDS)
        if victim == "horse":
            worker.kill_horse()
            until_ended(app, job_id)  # by the worker's account, with the lock still held
        else:
            worker.kill_worker()
    return job_id


def change_sets(app) -> int:
    return scalar(app, select(func.count()).select_from(MemoryChangeSet))


def chunks(app) -> list[str]:
    return list(scalars(app, select(ConversationChunk.content)))


def test_the_jobs_of_a_worker_share_a_process_and_one_that_dies_takes_one_job_along(app, user, live_worker):
    """The first of this file: nothing else has run in this worker."""

    def index() -> list[int]:
        """Have a job done; the processes there are then."""
        job_id = push(app, "index", user_id=user.user_id)
        wait_until(lambda: fetch(app, job_id).get_status() == JobStatus.FINISHED, "the job", seconds=SECONDS)
        return live_worker.job_processes()

    first = index()
    assert len(first) == 1
    assert index() == first
    live_worker.kill_horse()
    second = index()
    assert len(second) == 1 and second != first


@places("answered-horse", "answered-worker", "writing-horse", "writing-worker", "committing-worker")
def test_an_extraction_killed_between_the_answer_and_the_commit(app, user, model, live_worker, talk, point, victim):
    answers(model, TEA, times=None)
    at = {"point": point, "victim": victim, "table": "memory_evidence", "vector_of": TEA["content"]}
    job_id = kill_at(app, live_worker, model, job=("extract", talk), **at)
    if point != "committing":  # a COMMIT that reached the server may still be carried out
        assert owes(app, talk, "extraction_due") and memories_of(app, user.user_id) == []
    model.reset()
    answers(model, TEA, times=None)
    if victim == "worker":
        live_worker.start_worker()
    idle(app, talk)
    swept(app, live_worker, lambda: not owes(app, talk, "extraction_due"), "the extraction")
    run_again(app, job_id)
    assert current(app, user.user_id) == [TEA["content"]] and change_sets(app) == 1
    (row,) = memories_of(app, user.user_id)
    assert row.evidence_count == 1 and row.revision == 1


@places("answered-worker", "writing-horse", "committing-worker")
def test_a_summary_killed_between_the_answer_and_the_commit(app, model, live_worker, long_talk, point, victim):
    model.script(match="conversation_summary", structured={"summary": SUMMARY})
    at = {"point": point, "victim": victim, "table": "conversation_chunks", "vector_of": SUMMARY}
    job_id = kill_at(app, live_worker, model, job=("summary", long_talk), **at)
    if point != "committing":
        assert owes(app, long_talk, "summary_due") and chunks(app) == []
    model.reset()
    model.script(match="conversation_summary", structured={"summary": SUMMARY})
    if victim == "worker":
        live_worker.start_worker()
    swept(app, live_worker, lambda: not owes(app, long_talk, "summary_due"), "the summary")
    run_again(app, job_id)
    assert chunks(app) == [SUMMARY]


@pytest.mark.mysql_only
def test_redis_emptied_while_a_job_writes(app, user, model, live_worker, talk):
    answers(model, TEA, times=None)
    with hold(app, "writing", "memory_evidence") as stands_there:
        push(app, "extract", conversation_id=talk)
        wait_until(stands_there, "the job writing", seconds=SECONDS)
        live_worker.flush_redis()
    wait_until(lambda: not owes(app, talk, "extraction_due"), "the extraction", seconds=SECONDS)
    live_worker.kill_worker()  # RQ has lost its own account of it
    live_worker.start_worker()
    until_ended(app, job_id := push(app, "extract", conversation_id=talk))
    assert fetch(app, job_id).return_value()["change_set_id"] is None
    assert current(app, user.user_id) == [TEA["content"]] and change_sets(app) == 1
