"""The state of the site."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from rq import Worker
from rq.serializers import JSONSerializer

from webapp.accounts import service
from webapp.accounts.schemas import UserChanges
from webapp.admin import overview
from webapp.background.job_specs import JobRequest, Queue, push, rq_queue
from webapp.config import Settings
from webapp.providers.model_choice import Status


@pytest.mark.cases("url", "shown")
def test_addresses_are_shown_without_secrets(url, shown):
    assert overview.without_credentials(url) == shown


def test_the_model_as_configured():
    server = Settings(openai_base_url="http://k:s@127.0.0.1:1/v1", chat_model="m").model
    found = overview.model(Status("built-in", "m", "m", server), "m@here")
    assert found.address == "http://127.0.0.1:1/v1"
    assert (found.chat, found.background) == ("m", "m")


def test_counts_tell_active_accounts_and_admins_apart(app_context, make_user):
    people = [make_user(is_admin=True), make_user(is_admin=True), make_user(), make_user(), make_user()]
    for person in (people[1], people[2]):
        service.update_user(person.user_id, UserChanges(is_active=False))
    assert overview.counts() == {"users": 5, "active": 3, "admins": 1, "conversations": 0}


def test_queues_count_what_waits(redis):
    push(redis, JobRequest("title", {"conversation_id": 1}))
    state = overview.work(redis)
    assert state.known
    assert [(queue.name, queue.counts["queued"]) for queue in state.queues] == [
        ("turn", 1),
        ("upkeep", 0),
        ("index", 0),
        ("batch", 0),
    ]
    assert state.failed == 0


def test_only_living_workers_count(redis):
    queues = [rq_queue(redis, name) for name in Queue]
    wishes = {"connection": redis, "serializer": JSONSerializer}
    living, dead = (Worker(queues, name=name, **wishes) for name in ("living", "dead"))
    for worker in (living, dead):
        worker.register_birth()
    long_ago = datetime.now(UTC) - timedelta(minutes=10)
    redis.hset(dead.key, "last_heartbeat", long_ago.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    found = overview.work(redis).workers
    assert [worker.name for worker in found] == ["living"]
    assert found[0].state == "started"
    assert found[0].queues == ["turn", "upkeep", "index", "batch"]


def test_versions_name_the_database(app_context):
    found = overview.versions(app_context.extensions["redis"])
    assert {"Python", "Flask", "Redis server"} < set(found)
    assert set(found) & {"MariaDB", "MySQL", "SQLite"}
    assert re.fullmatch(r"(redis|valkey) \d+\.\d+\.\d+", found["Redis server"])
    assert all(found.values())
