"""The process that jobs run in: it takes one after the other, ends by itself, and loses none on its way out."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rq.serializers import JSONSerializer

from jobs import work_horse
from jobs.work_horse import Order, WorkHorse
from jobs.work_loop import PatientWorker
from testkit.processes import is_alive, wait_until
from webapp.background import job_specs
from webapp.llm.settings import ModelSettings


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "ran"


@pytest.fixture
def run(note: Path) -> Callable[[Order], bool]:
    """Writes down by which process each job was run; "fail" fails, "hang" has no end, and nothing follows "alone"."""

    def run_one(order: Order) -> bool:
        with note.open("a") as file:
            file.write(f"{order.job_id} {os.getpid()}\n")
        if order.job_id == "fail":
            raise SystemExit(0)
        while order.job_id == "hang":
            time.sleep(0.01)
        return order.job_id != "alone"

    return run_one


@pytest.fixture
def fork_horse(run: Callable[[Order], bool]) -> Iterator[Callable[[str], WorkHorse]]:
    horses: list[WorkHorse] = []

    def fork(job_id: str) -> WorkHorse:
        horses.append(WorkHorse.fork(run, an_order(job_id)))
        return horses[-1]

    yield fork
    for each in horses:
        if is_alive(each.pid):
            os.kill(each.pid, signal.SIGKILL)
        each.dismiss()


def an_order(job_id: str) -> Order:
    return Order(job_id, f"execution of {job_id}", "turn")


def ran(note: Path) -> list[tuple[str, int]]:
    lines = note.read_text().splitlines() if note.exists() else []
    return [(job_id, int(pid)) for job_id, pid in map(str.split, lines)]


def test_one_process_runs_what_comes_soon(fork_horse, note):
    one = fork_horse("first")
    assert one.wait_for_order() is True
    assert not one.has_exited()
    for job_id in ("second", "third"):
        assert one.send_order(an_order(job_id))
        assert one.wait_for_order() is True
    assert ran(note) == [(job_id, one.pid) for job_id in ("first", "second", "third")]
    assert one.pid != os.getpid()


def test_it_ends_when_nothing_comes_for_a_while(fork_horse, note, monkeypatch):
    monkeypatch.setattr(work_horse, "IDLE_SECONDS", 0.05)
    one = fork_horse("first")
    assert one.wait_for_order() is True
    wait_until(lambda: not is_alive(one.pid), "its end")
    assert one.has_exited()
    assert not one.send_order(an_order("second"))
    assert [job_id for job_id, _ in ran(note)] == ["first"]
    monkeypatch.setattr(work_horse, "has_unfinished_work", lambda: True)
    one = fork_horse("half")
    assert one.wait_for_order() is True
    time.sleep(0.2)
    assert one.send_order(an_order("rest")) and one.wait_for_order() is True


def test_what_is_ordered_at_the_moment_it_leaves_is_done_once(fork_horse, note, monkeypatch):
    monkeypatch.setattr(work_horse, "IDLE_SECONDS", 0.002)
    one = fork_horse("0")
    taken = 0
    for number in range(1, 80):
        assert one.wait_for_order() is not None
        time.sleep(0.002 * (number % 3 > 0))
        if one.send_order(an_order(str(number))):
            taken += 1
        else:
            one = fork_horse(str(number))
    assert one.wait_for_order() is not None
    assert [job_id for job_id, _ in ran(note)] == [str(number) for number in range(80)]
    assert taken


def test_after_so_many_jobs_another_follows(fork_horse, monkeypatch):
    monkeypatch.setattr(work_horse, "MAX_JOBS", 2)
    one = fork_horse("first")
    assert one.wait_for_order() is True
    assert one.send_order(an_order("second"))
    assert one.wait_for_order() is False
    wait_until(lambda: not is_alive(one.pid), "its end")


def test_where_nothing_is_to_follow_or_it_has_grown_it_leaves(fork_horse, monkeypatch):
    assert fork_horse("alone").wait_for_order() is False
    monkeypatch.setattr(work_horse, "MAX_MORE_MB", -10_000)
    assert fork_horse("first").wait_for_order() is False


def test_its_death_is_seen_at_once(fork_horse, note):
    one = fork_horse("hang")
    wait_until(lambda: bool(ran(note)), "the job")
    os.kill(one.pid, signal.SIGKILL)
    assert one.wait_for_order() is None


def test_a_job_that_ends_its_process_counts_as_its_death(fork_horse):
    one = fork_horse("fail")
    assert one.wait_for_order() is None
    assert os.waitstatus_to_exitcode(os.waitpid(one.pid, 0)[1]) == 1


def test_it_ends_with_its_worker(fork_horse):
    one = fork_horse("first")
    assert one.wait_for_order() is True
    one.dismiss()
    assert not is_alive(one.pid)


@pytest.mark.parametrize(("name", "ids", "stays"), [("index", {"user_id": 1}, True), ("sweep", {}, False)])
def test_after_what_the_clock_asks_for_nothing_is_expected(app, monkeypatch, name, ids, stays, redis):
    job_id = job_specs.push(redis, job_specs.JobRequest(name, ids))
    assert job_id
    queues = [job_specs.rq_queue(redis, queue) for queue in job_specs.Queue]
    worker = PatientWorker(queues, connection=redis, serializer=JSONSerializer, model=ModelSettings)
    monkeypatch.setattr(worker, "setup_work_horse_signals", bool)
    ran: list[str] = []
    monkeypatch.setattr(worker, "perform_job", lambda job, *_others: ran.append(job.id))
    assert worker.run_order(Order(job_id, "execution", job_specs.JOBS[name].queue)) is stays
    assert ran == [job_id]
