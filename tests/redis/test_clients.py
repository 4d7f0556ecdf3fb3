"""Behind Sentinel every client follows the master: short commands, streams, queues, limits and turns."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
    RedisError,
    ResponseError,
    TimeoutError as RedisTimeoutError,
)
from rq import SimpleWorker
from rq.serializers import JSONSerializer

from jobs.schedule import Scheduler
from testkit.processes import wait_until
from testkit.sentinel import RedisGroup
from webapp import create_app
from webapp.background.job_specs import JobRequest, Queue, push, rq_queue
from webapp.config import ConfigError, Settings
from webapp.extensions import limiter, make_redis
from webapp.redis import clients
from webapp.redis.clients import Wire, open_async_redis, open_redis
from webapp.redis.urls import SentinelAddress

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://h/0", None),
        ("unix:///s", None),
        ("redis+sentinel://a/m", SentinelAddress("m", (("a", 26379),))),
        ("redis+sentinel://a:1,b:2,c/m/3", SentinelAddress("m", (("a", 1), ("b", 2), ("c", 26379)), 3)),
        (
            "rediss+sentinel://me:p%40w@[::1]:5/my%20m?sentinel_user=s&sentinel_password=q%2F",
            SentinelAddress("my m", (("::1", 5),), 0, "me", "p@w", "s", "q/", True),
        ),
    ],
)
def test_an_address_is_read(url, address):
    assert SentinelAddress.parse(url) == address


@pytest.mark.parametrize(
    "url", ["redis+sentinel://a:1", "redis+sentinel:///m", "redis+sentinel://a:x/m", "redis+sentinel://a/m/x"]
)
def test_a_setting_that_names_no_master_is_refused(url):
    with pytest.raises(ConfigError, match="REDIS_URL"):
        Settings.from_env({"REDIS_URL": url})


def test_who_we_are_is_told_to_the_servers_and_to_the_sentinels_apart():
    client = open_redis("rediss+sentinel://me:secret@a/m?sentinel_user=s&sentinel_password=other", socket_timeout=7)
    pool: Any = client.connection_pool
    assert pool.connection_kwargs["username"] == "me" and pool.connection_kwargs["password"] == "secret"
    assert pool.connection_kwargs["socket_timeout"] == 7
    asked = pool.sentinel_manager.sentinels[0].connection_pool.connection_kwargs
    assert (asked["username"], asked["password"]) == ("s", "other")
    assert "SSL" in pool.connection_class.__mro__[2].__name__


@pytest.fixture
def group(tmp_path: Path) -> Iterator[RedisGroup]:
    """A master, a copy of it, and a Sentinel."""
    # Patient: on a busy machine a server that is slow to answer is not gone, and each test says itself when one is.
    group = RedisGroup(tmp_path, patience_ms=20_000)
    try:
        group.start()
        yield group
    finally:
        group.stop()


@pytest.mark.usefixtures("app")
def test_every_client_is_at_the_new_master_after_a_fail_over(group, settings):
    app = create_app(settings.model_copy(update={"redis_url": group.url, "rate_limits": True}))
    client: Redis = app.extensions["redis"]
    blocking = make_redis(group.url, tailing=True)
    scheduler = Scheduler(make_redis(group.url))

    def look() -> None:
        """Everything there is does what it does, on whichever server is the master."""
        assert client.set("key", b"value") and client.get("key") == b"value"
        with Redis(port=group.master) as direct:
            assert direct.get("key") == b"value"
        queue, job_id = rq_queue(blocking, Queue.UPKEEP), push(client, JobRequest("sweep"))
        assert job_id and queue.job_ids == [job_id]
        assert SimpleWorker([queue], connection=blocking, serializer=JSONSerializer).work(burst=True)
        job = queue.fetch_job(job_id)
        assert job is not None and job.is_finished
        client.rpush("list", b"x")
        assert blocking.blpop(["list"], timeout=1) == (b"list", b"x")
        assert scheduler.acquire_lock()
        assert limiter.storage.incr("limit", 60) == 1
        limiter.storage.clear("limit")
        client.xadd("stream", {"n": 1})
        assert blocking.xread({"stream": "0"}, block=1_000)
        client.delete("stream")

    async def look_asynchronously() -> None:
        connected = open_async_redis(group.url, socket_timeout=2)
        wire = Wire(connected)
        assert await connected.set("async", b"1") and await wire.send([("SET", "wire", 1)]) == [b"OK"]
        fallen = asyncio.to_thread(group.fail_over)
        await fallen
        for _ in range(3):
            try:
                assert await connected.set("async", b"2")
                assert await wire.send([("SET", "wire", 2)]) == [b"OK"]
                break
            except RedisError:
                await asyncio.sleep(0.1)
        assert await connected.get("async") == await connected.get("wire") == b"2"
        await connected.aclose()

    with app.app_context():
        look()
        asyncio.run(look_asynchronously())
        look()


def test_a_worker_that_waits_at_a_server_that_is_demoted_goes_on(group):
    """`BLPOP` is ended with UNBLOCKED there, which RQ takes for the end of the worker."""
    client = make_redis(group.url, tailing=True)
    answers: list[Any] = []

    def wait() -> None:
        for _ in range(100):
            try:
                if found := client.blpop(["list"], timeout=2):
                    answers.append(found)
                    return
            except RedisConnectionError:
                continue

    thread = threading.Thread(target=wait)
    thread.start()
    with Redis(port=group.master) as direct:
        wait_until(lambda: direct.info("clients")["blocked_clients"] == 1, "a client that waits")
        direct.replicaof("127.0.0.1", 1)
        direct.replicaof("NO", "ONE")
    with open_redis(group.url) as writer:
        writer.rpush("list", b"x")
    thread.join(20)
    assert answers == [(b"list", b"x")]
    client.close()


def test_without_any_sentinel_redis_counts_as_away():
    client = make_redis("redis+sentinel://127.0.0.1:1,127.0.0.1:2/commonplace")
    with pytest.raises(RedisConnectionError):
        client.get("x")


def test_a_wire_answers_each_command_and_outlives_its_connection(settings, monkeypatch):
    async def work() -> None:
        client = open_async_redis(settings.redis_url)
        wire = Wire(client)
        answers = await wire.send([("SET", "wire", "ä"), ("LPUSH", "wire", 1), ("GET", "wire"), ("GET", "nothing")])
        assert answers[:1] + answers[2:] == [b"OK", "ä".encode(), None] and isinstance(answers[1], ResponseError)
        for connection in await client.client_list():
            await client.client_kill_filter(_id=connection["id"], skipme=True)
        assert await wire.send([("GET", "wire")]) == ["ä".encode()]
        monkeypatch.setattr(clients, "ANSWER_SECONDS", 0.05)
        with pytest.raises(RedisTimeoutError):
            await wire.send([("BLPOP", "nothing", 1)])
        monkeypatch.undo()
        assert await wire.send([("GET", "wire")]) == ["ä".encode()], "not the answer that was late"
        await client.aclose()

    asyncio.run(work())
