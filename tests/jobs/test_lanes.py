"""Nobody waits for more than one slice of each other person, whatever that person has asked for."""

import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings, strategies as st
from rq.job import Job
from rq.serializers import JSONSerializer

from testkit.exports import claude_conversation, pack
from testkit.people import ApiClient, Person
from testkit.work import InProcessWorker
from tests.support.dialogue import START, add_turn, write_dialogue
from webapp.background import job_specs, time_slices
from webapp.background.job_specs import JOBS, WORKERS, JobRequest, Queue, push, rq_queue
from webapp.conversations.models import Conversation
from webapp.db.base import db, write_transaction
from webapp.transfer import import_jobs, preview
from webapp.transfer.models import Import


@given(st.lists(st.integers(1, 4), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_people_take_turns(app, people):
    redis = app.extensions["redis"]
    redis.flushdb()
    for number, person in enumerate(people):
        assert push(redis, JobRequest("import", {"import_id": number}, person=person))
    order = [(people[job.kwargs["import_id"]], job.kwargs["import_id"]) for job in rq_queue(redis, Queue.INDEX).jobs]
    assert sorted(number for _, number in order) == list(range(len(people)))
    count: Counter[int] = Counter()
    rounds = []
    for person, _ in order:
        count[person] += 1
        rounds.append(count[person])
    assert all(earlier <= later for earlier, later in pairwise(rounds)), "each person's first job comes before a second"
    for person in set(people):
        assert [number for who, number in order if who == person] == [
            n for n, who in enumerate(people) if who == person
        ]


def test_what_nobody_asked_for_waits_its_turn_too(redis):
    for number in range(3):
        push(redis, JobRequest("import", {"import_id": number}))
    push(redis, JobRequest("import", {"import_id": 3}, person=7))
    assert [job.kwargs["import_id"] for job in rq_queue(redis, Queue.INDEX).jobs] == [0, 3, 1, 2]


def test_upkeep_and_mail_have_a_worker_of_their_own():
    assert (Queue.UPKEEP,) in WORKERS
    assert {name for name, spec in JOBS.items() if spec.queue is Queue.UPKEEP} == {"mail", "sweep", "purge"}


class Lane:
    """Runs the jobs of a queue one by one, and notes whose they were."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self.done: list[Job] = []

    def next(self) -> Job:
        redis = self._app.extensions["redis"]
        with self._app.app_context():
            queues = [rq_queue(redis, queue) for group in WORKERS[1:] for queue in group]
            worker = InProcessWorker(queues, connection=redis, serializer=JSONSerializer)
            worker.work(burst=True, logging_level="ERROR", max_jobs=1)
        ((job, went_well),) = worker.performed
        assert went_well, job.latest_result().exc_string
        self.done.append(job)
        return job

    def others_before(self, person: Person, name: str) -> int:
        """How many jobs of others run before this one of a person."""
        count = 0
        while True:
            job = self.next()
            if not job.id.startswith(f"u{person.user_id}-"):
                count += 1
            elif job.meta["name"] == name:
                return count


@pytest.fixture
def lane(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lane]:
    """Slices of one portion each."""
    monkeypatch.setattr(time_slices, "SECONDS", 0)
    yield Lane(app)
    lose()


def lose() -> None:
    """Give up what this process is in the middle of, as when it ends."""
    while time_slices._unfinished:
        time_slices._unfinished.popitem()[1][1].close()


def bring(client: ApiClient, content: bytes, name: str) -> int:
    data = {"file": (io.BytesIO(content), name)}
    return client.post("/api/imports", data=data, content_type="multipart/form-data").get_json()["import_id"]


def many(count: int) -> bytes:
    talks = [claude_conversation() | {"uuid": f"talk-{number}", "name": f"Talk {number}"} for number in range(count)]
    return pack({"conversations.json": talks})


@pytest.mark.once
def test_nobody_waits_for_all_that_another_has_asked_for(app, make_user, api, lane):
    """A message and a document of many slices and 200 conversations to import, all by one person."""
    one, other = make_user(), make_user()
    with app.app_context():
        write_dialogue(one.user_id, [("user", "The boat was painted in the harbour. " * 3_000)], START)
        db.session.remove()
    theirs, mine = api(one), api(other)
    space = theirs.post("/api/spaces", json={"kind": "project", "name": "Mill"}).get_json()["space_id"]
    text = "The bees fly to the limes behind the mill. " * 1_500
    theirs.post(f"/api/spaces/{space}/documents", json={"title": "Bees", "content": text})
    large = bring(theirs, many(200), "export.zip")
    for _ in range(6):
        lane.next()
    with app.app_context(), write_transaction():
        row = db.session.get(Import, large)
        assert row.status == "reading", "it is looked at in slices"
        row.format, row.status, row.options = "claude", "running", {"take": ["conversations"]}
    with app.app_context():
        talk = write_dialogue(other.user_id, [("user", "I moved to Hvar."), ("assistant", "Nice.")], START)
    assert lane.others_before(other, "index") <= 1
    with app.app_context():
        assert not db.session.get(Conversation, talk.conversation_id).index_due
        job_specs.push(app.extensions["redis"], JobRequest("import", {"import_id": large}, person=one.user_id))
    line = mine.post("/api/imports", json={"text": "I keep bees on the roof."}).get_json()["import_id"]
    for name, until in (("look_at_import", "ready"), ("import", "done")):
        while mine.get(f"/api/imports/{line}").get_json()["status"] != until:
            assert lane.others_before(other, name) <= 2, "one for what it waits for, one for the rest of it"
        mine.post(f"/api/imports/{line}/start", json={})
    with app.app_context():
        assert db.session.get(Import, large).status == "running"
        left = {job.meta["name"] for job in rq_queue(app.extensions["redis"], Queue.INDEX).jobs}
    assert {"index", "index_document", "import"} <= left, "and none of what the first one asked for is done yet"


def finish(lane: Lane, name: str) -> int:
    """Run all jobs of a name; how many there were."""
    count = 0
    while lane._app.extensions["redis"].llen(rq_queue(lane._app.extensions["redis"], Queue.INDEX).key):
        count += lane.next().meta["name"] == name
    return count


def test_a_file_is_looked_at_in_slices_whichever_process_has_them(app, client, lane):
    number = bring(client, many(6), "export.zip")
    for _ in range(3):
        lane.next()
    lose()
    assert finish(lane, "look_at_import") > 3
    shown = client.get(f"/api/imports/{number}").get_json()
    assert (shown["status"], shown["preview"]["counts"]["conversations"]) == ("ready", 6)


def test_an_import_goes_on_where_it_was_whichever_process_has_it(app, client, lane, monkeypatch):
    monkeypatch.setattr(import_jobs, "MAX_WEIGHT", 20)
    read: list[str] = []
    opened = import_jobs.Upload

    def count_call(path, filename):
        read.append(filename)
        return opened(path, filename)

    number = bring(client, many(8), "export.zip")
    finish(lane, "look_at_import")
    monkeypatch.setattr(import_jobs, "Upload", count_call)
    client.post(f"/api/imports/{number}/start", json={})
    lane.next()
    lane.next()
    assert len(read) == 1, "the same process goes on reading"
    lose()
    finish(lane, "import")
    assert len(read) == 2
    shown = client.get(f"/api/imports/{number}").get_json()
    assert (shown["status"], shown["counts"]["conversations imported"]) == ("done", 8)


def test_two_jobs_of_one_import_write_nothing_twice(app, client, lane, monkeypatch):
    monkeypatch.setattr(import_jobs, "MAX_WEIGHT", 20)
    number = bring(client, many(6), "export.zip")
    finish(lane, "look_at_import")
    client.post(f"/api/imports/{number}/start", json={})

    def overtaken(*args):
        monkeypatch.setattr(import_jobs, "islice", islice)
        kept = dict(time_slices._unfinished)
        time_slices._unfinished.clear()
        with app.app_context():
            import_jobs.run(number)
        time_slices._unfinished.update(kept)
        return islice(*args)

    monkeypatch.setattr(import_jobs, "islice", overtaken)
    finish(lane, "import")
    shown = client.get(f"/api/imports/{number}").get_json()
    assert (shown["status"], shown["counts"]["conversations imported"]) == ("done", 6)
    items = client.get(f"/api/imports/{number}/items?limit=100").get_json()["items"]
    assert [item["outcome"] for item in items] == ["imported"] * 6


def test_a_file_that_is_no_longer_wanted_is_read_no_further(app, client, lane):
    number = bring(client, many(6), "export.zip")
    lane.next()
    client.post(f"/api/imports/{number}/cancel", json={})
    finish(lane, "look_at_import")
    with app.app_context():
        assert preview.inspect_upload(number) == "cancelled"


def test_a_turn_is_indexed_between_two_portions_of_a_message(app, make_user, lane):
    one, other = make_user(), make_user()
    with app.app_context():
        write_dialogue(one.user_id, [("user", "The boat was painted. " * 3_000)], START)
        talk = write_dialogue(other.user_id, [("user", "Hello"), ("assistant", "Hello.")], START)
        add_turn(other.user_id, talk.conversation_id, "I moved to Hvar.", "Nice.")
        db.session.remove()
    assert lane.others_before(other, "index") <= 1
    assert lane.next().meta["name"] == "index"
