"""What /metrics tells of jobs, turns, the database and Redis; dashboard and alerts name nothing else."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from flask.testing import FlaskClient
from redis import Redis

from tests.chat.helpers import wait_for_end
from tests.support.interleaving import at_once
from webapp.background.job_specs import JobRequest, push
from webapp.extensions import redis
from webapp.llm.errors import ModelUnavailable
from webapp.telemetry.metrics import ALL, DATABASE, JOB, KEY, TOKENS, Recorder, families, recorder

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    recorder._reset_after_fork()
    yield
    recorder._reset_after_fork()


def metrics(anonymous: FlaskClient) -> dict[str, float]:
    """Each sample by its name with labels."""
    lines = anonymous.get("/metrics").text.splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}


def test_a_turn_and_its_jobs_are_measured(app, client, anonymous, run_jobs):
    conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
    sent = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": "Hello there."})
    wait_for_end(app, sent.json["response_id"])
    run_jobs()
    told = metrics(anonymous)
    assert told['commonplace_turn_seconds_count{status="complete"}'] == 1
    assert told["commonplace_turn_first_token_seconds_count"] == 1
    assert 0 < told["commonplace_turn_model_seconds_sum"] <= told['commonplace_turn_seconds_sum{status="complete"}']
    assert told['commonplace_turn_tokens_total{kind="output"}'] > 0
    assert told['commonplace_job_seconds_count{job="extract",outcome="done"}'] == 1
    assert told['commonplace_job_wait_seconds_count{queue="turn"}'] == 1
    assert told["commonplace_database_seconds_count"] > 10
    assert told["commonplace_redis_seconds_count"] > 10


def test_a_job_that_fails_says_whether_it_is_tried_again(app, anonymous, run_jobs, monkeypatch):
    def fail() -> None:
        raise ModelUnavailable()

    monkeypatch.setattr("webapp.shell.upkeep.recover_all", fail)
    with app.app_context():
        push(redis(), JobRequest("sweep"))
    run_jobs(failures=True)
    told = metrics(anonymous)
    assert told['commonplace_job_seconds_count{job="sweep",outcome="again"}'] == 1
    assert 'commonplace_job_seconds_count{job="sweep",outcome="done"}' not in told


def test_processes_add_up(app, anonymous):
    client: Redis = app.extensions["redis"]
    for _ in range(2):  # two processes
        one = Recorder()
        one.observe(JOB, 0.3, "title", "done")
        one.observe(JOB, 4_000, "title", "done")
        one.count(TOKENS, 7, "input")
        one.flush(client)
    told = metrics(anonymous)
    labels = 'job="title",outcome="done"'
    assert told[f"commonplace_job_seconds_count{{{labels}}}"] == 4
    assert told[f"commonplace_job_seconds_sum{{{labels}}}"] == pytest.approx(8_000.6)
    assert told[f'commonplace_job_seconds_bucket{{{labels[:11]},le="1.0",{labels[12:]}}}'] == 2
    assert told[f'commonplace_job_seconds_bucket{{{labels[:11]},le="+Inf",{labels[12:]}}}'] == 4
    assert told['commonplace_turn_tokens_total{kind="input"}'] == 14


def test_nothing_is_lost_while_redis_is_away(app):
    one, client = Recorder(), app.extensions["redis"]
    one.observe(DATABASE, 0.01)
    one.flush(Redis.from_url("unix:///nonexistent/redis.sock"))
    one.observe(DATABASE, 0.01)
    one.flush(client)
    found = {name.decode(): float(value) for name, value in client.hgetall(KEY).items()}
    assert found["\x1f".join((DATABASE.name, "0"))] >= 2


def test_a_forked_child_does_not_tell_what_its_parent_saw():
    one = Recorder()
    one.observe(DATABASE, 1.0)
    child = os.fork()
    if child == 0:
        os._exit(len(one._pending))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(one._pending) == 1


def test_threads_lose_nothing():
    one = Recorder()
    at_once(*[lambda: [one.observe(DATABASE, 0.01) for _ in range(2_000)]] * 4)
    assert one._pending[(DATABASE.name,)][0] == 8_000


def test_fields_of_another_version_are_left_out():
    found = {"no such\x1f0": 1.0, f"{JOB.name}\x1ftitle\x1f0": 1.0, f"{DATABASE.name}\x1f99": 1.0}
    assert sum(len(family.samples) for family in families(found) if family.name == JOB.name) == 0


def named_metrics() -> set[str]:
    dashboard = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    exprs = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    groups = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) >= 8 and all(rule["annotations"]["description"] for rule in rules)
    exprs += [rule["expr"] for rule in rules]
    for expr in exprs:
        assert expr.count("(") == expr.count(")")
    return set(re.findall(r"commonplace_\w+", " ".join(exprs)))


def test_dashboard_and_alerts_name_what_is_exported(app, anonymous):
    one = Recorder()
    for measure in ALL.values():
        labels = ["x"] * len(measure.labels)
        one.observe(measure, 0.1, *labels) if measure.buckets else one.count(measure, 1, *labels)
    one.flush(app.extensions["redis"])
    exported = {name.partition("{")[0] for name in metrics(anonymous)}
    named = named_metrics()
    assert named <= exported
    assert set(ALL) <= {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in named}
