"""Fixtures for all tests: real servers, the application on them, people, clients, jobs and a live copy.

The suite runs on a private MariaDB; with TEST_DB=sqlite, on SQLite. Servers are started when the first test needs them,
so pure tests stay fast. Every test starts with empty tables and an empty Redis.
"""

import gc
import json
import os
import time
from collections.abc import Callable, Iterator

import hypothesis
import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from flask_migrate import upgrade
from redis import Redis
from rq.job import Job
from sqlalchemy import text

from fakemodel.testing import ServerHandle, serve_in_thread
from fakemodel.wire import EMBEDDING_MODEL
from testkit.people import ApiClient, Person, api_client, browser_client, make_person, session_client
from testkit.servers import Servers, test_servers
from testkit.work import run_queued_jobs
from tests.support import network, repeats
from tests.support.grades import grade_model
from tests.support.live import LiveServer
from tests.support.missing_attributes import MissingAttribute
from tests.support.tables import define_emptying, empty_tables
from webapp import create_app
from webapp.accounts import passwords
from webapp.chat.turns import stream_hub, turnlog
from webapp.chat.turns.runtime import runtime
from webapp.config import Settings
from webapp.db.base import db
from webapp.extensions import limiter
from webapp.providers.catalogue import catalogue
from webapp.redis.clients import open_redis
from webapp.webhooks import events_api

gc.disable()  # until all tests are collected

# Timing never decides a test: a machine that is busy with something else is not a counterexample.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")
FEW_EXAMPLES = 25
"""The most examples Hypothesis tries for a property; with `--slow`, as many as the property asks for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slow` runs what is otherwise left out; `--throttle 6` simulates an old phone for browser tests."""
    parser.addoption("--slow", action="store_true", help="also run the tests that are marked slow")
    parser.addoption("--throttle", type=float, default=1.0, help="how many times slower Chromium's pages are to run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`@pytest.mark.cases("text", "expected")`: a run for each case under its name in the JSON file beside it."""
    for mark in metafunc.definition.iter_markers("cases"):
        listed = json.loads(metafunc.definition.path.with_suffix(".json").read_text(encoding="utf-8"))
        metafunc.parametrize(mark.args[0] if len(mark.args) == 1 else mark.args, listed[metafunc.definition.name])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright keeps an event loop running in the main thread, where others start theirs.

    Slow tests are left out without `--slow`, unless a test is named. On SQLite, skip what is about MySQL, and leave out
    what the run on MariaDB covers: what touches no database, is marked to run once, or is about pages, and what sends
    SQLite nothing that other tests do not (support/repeats.py).
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    named = any("::" in argument for argument in config.args)
    if not config.getoption("--slow") and not named:
        slow = [item for item in items if item.get_closest_marker("slow")]
        _leave_out(config, items, slow)
        for item in items:
            _try_few_examples(item)
    if os.environ.get("TEST_DB") != "sqlite":
        return
    for item in items:
        if item.get_closest_marker("mysql_only"):
            item.add_marker(pytest.mark.skip(reason="about MySQL"))
    if not config.getoption("--slow") and not named:
        _leave_out(config, items, [item for item in items if item.get_closest_marker("once") or _is_about_pages(item)])
        if not config.pluginmanager.has_plugin(repeats.__name__):  # which makes the list
            listed = repeats.read_names()
            _leave_out(config, items, [item for item in items if repeats.name_of(item) in listed])
    pure = [item for item in items if "servers" not in getattr(item, "fixturenames", ())]
    if len(pure) < len(items):
        _leave_out(config, items, pure)


def pytest_collection_finish() -> None:
    """Let the garbage collector ignore what exists by now, and check the rest less often: saves a sixth of the CPU.

    What is loaded until here is hardly ever garbage, so that it is not looked at before.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


def _try_few_examples(item: pytest.Item) -> None:
    test = getattr(item, "obj", None)
    given = getattr(test, "_hypothesis_internal_use_settings", None)
    if given is not None and given.max_examples > FEW_EXAMPLES:
        test._hypothesis_internal_use_settings = hypothesis.settings(given, max_examples=FEW_EXAMPLES)  # type: ignore[union-attr]


def _is_about_pages(item: pytest.Item) -> bool:
    """Whether a test is about HTML: pages use the same services as the API, whose tests run on both databases.

    `test_hot_pages` is excepted, since each database plans the statements of lists and panels in its own way, and so is
    `test_sixty_pages`, which is about the pages of a PDF.
    """
    return "pages" in item.path.stem and item.path.stem not in ("test_hot_pages", "test_sixty_pages")


def _leave_out(config: pytest.Config, items: list[pytest.Item], those: list[pytest.Item]) -> None:
    if those:
        config.hook.pytest_deselected(items=those)
        gone = set(those)
        items[:] = [item for item in items if item not in gone]


@pytest.fixture(scope="session", autouse=True)
def _own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No process of a test reads the `.env` of this clone, or uses what a `make run` in it has started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENV_FILE", "")
        patch.setenv("FLASK_SKIP_DOTENV", "1")
        patch.setenv("VAR_DIR", str(tmp_path_factory.mktemp("var")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _only_this_machine() -> Iterator[None]:
    network.forbid_network()
    yield
    network.allow_network()


HASHER = passwords.HASHER


@pytest.fixture
def real_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Passwords are hashed as in production."""
    monkeypatch.setattr(passwords, "HASHER", HASHER)
    passwords._decoy_hash.cache_clear()
    yield
    passwords._decoy_hash.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def _quick_hashes() -> Iterator[None]:
    """Hashing passwords costs a thousandth, as hundreds of people sign in; `real_hashes` is for tests of hashing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture(scope="session", autouse=True)
def _short_streams() -> Iterator[None]:
    """A stream of events ends at once: a test that reads every response to its end would wait for an hour."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events_api, "LONGEST", 0.0)
        yield


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The database and Redis of this run."""
    with test_servers() as found:
        yield found


@pytest.fixture(scope="session")
def model_server() -> Iterator[ServerHandle]:
    """The scripted model server; tests use `model`, which forgets its script in between."""
    with serve_in_thread(scripted=True, remembers=4_096) as handle:  # tests say the same things again and again
        yield handle


@pytest.fixture(scope="session")
def settings(servers: Servers, model_server: ServerHandle) -> Settings:
    """The settings that `app` and `live_server` share."""
    return Settings(
        var_dir=servers.directory,
        database_url=servers.database_url,
        redis_url=servers.redis_url,
        secret_key="only for tests, and long enough for anything",
        openai_base_url=model_server.base_url,
        openai_api_key="test",
        chat_model="test-chat",
        background_model="test-background",
        embedding_model=EMBEDDING_MODEL,
        model_retries=0,
        rate_limits=False,
        embedding_query_seconds=3.0,
        index_wait_seconds=3.0,
        log_format="text",
    )


@pytest.fixture
def silent_redis_url(servers: Servers) -> Iterator[str]:
    """Redis for a user that may use every command and key, but no channel."""
    place, _, options = servers.redis_url.partition("://")[2].partition("?")
    with open_redis(servers.redis_url) as client:
        client.execute_command("ACL", "SETUSER", "silent", "on", ">pw", "~*", "+@all", "resetchannels")
        yield f"unix://silent:pw@{place}?{options}"
        client.execute_command("ACL", "DELUSER", "silent")


@pytest.fixture(scope="session")
def _application(settings: Settings) -> Iterator[Flask]:
    app = create_app(settings)
    app.testing = True
    app.jinja_env.undefined = MissingAttribute
    with app.app_context():
        upgrade()
        define_emptying(db.engine, db.metadata)
        grade_model(recall=1.0)
    yield app
    stream_hub.log.disabled = True  # its daemon thread would report the loss of Redis to a closed standard error
    for client in ("completions", "embedder"):
        app.extensions[client].close()
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


@pytest.fixture
def app(
    _application: Flask, servers: Servers, model_server: ServerHandle, request: pytest.FixtureRequest
) -> Iterator[Flask]:
    """The application on real servers; afterwards turns are stopped, tables and Redis emptied, the script forgotten."""
    if not {"live_server", "live_worker"} & set(request.fixturenames):
        LiveServer.kill_all_jobs()  # otherwise they would take the jobs of this test
    limiter.enabled = False  # the process has one, which an application of another test may have switched on
    servers.start_database()  # if it died: one test says so, and not all that come after it
    yield _application
    model_server.reset()
    with _application.app_context():
        end_turns(_application)
        model_server.reset()  # also forgets what the last turns asked while they were stopping
        empty_tables(db.engine, db.metadata)
    catalogue.forget()
    servers.flush_redis()


@pytest.fixture
def model(model_server: ServerHandle, app: Flask) -> ServerHandle:
    """The scripted model that the application talks to: `model.script(...)`, `model.calls()`."""
    return model_server


@pytest.fixture
def untrusted_model(app: Flask) -> Iterator[None]:
    """The scripted model has failed the exam: its statements are kept in the user's own words."""
    with app.app_context():
        grade_model(recall=0.0)
    yield
    with app.app_context():
        grade_model(recall=1.0)


@pytest.fixture
def redis(app: Flask) -> Redis:
    """The application's client of Redis."""
    return app.extensions["redis"]


@pytest.fixture
def app_context(app: Flask) -> Iterator[Flask]:
    """For tests of services: an application context with an open session. Not to be mixed with clients."""
    with app.app_context():
        yield app
        db.session.rollback()
        db.session.remove()


@pytest.fixture
def make_user(app: Flask) -> Callable[..., Person]:
    """`make_user(email=, name=, is_admin=, is_service=)`: a new account with a token."""
    return lambda **wishes: make_person(app, **wishes)


@pytest.fixture
def user(make_user: Callable[..., Person]) -> Person:
    """Somebody who is not an admin."""
    return make_user()


@pytest.fixture
def api(app: Flask) -> Callable[[Person], ApiClient]:
    """`api(person)`: a client of the JSON API with that person's token."""
    return lambda person: api_client(app, person)


@pytest.fixture
def admin(app: Flask, make_user: Callable[..., Person]) -> ApiClient:
    """A client of the JSON API with the token of an admin."""
    return api_client(app, make_user(is_admin=True))


@pytest.fixture
def client(app: Flask, user: Person) -> ApiClient:
    """A client of the JSON API with the token of `user`."""
    return api_client(app, user)


@pytest.fixture
def anonymous(app: Flask) -> FlaskClient:
    """A client with cookies that is not signed in."""
    return app.test_client()


@pytest.fixture
def login(app: Flask) -> Callable[[Person], FlaskClient]:
    """`login(person)`: a client with cookies, signed in."""
    return lambda person: browser_client(app, person)


@pytest.fixture
def browser(login: Callable[[Person], FlaskClient], user: Person) -> FlaskClient:
    """The signed-in browser of `user`."""
    return login(user)


@pytest.fixture
def admin_browser(login: Callable[[Person], FlaskClient], make_user: Callable[..., Person]) -> FlaskClient:
    """The signed-in browser of an admin."""
    return login(make_user(is_admin=True))


@pytest.fixture
def session_api(app: Flask) -> Callable[[Person], FlaskClient]:
    """`session_api(person)`: a client of the JSON API in that person's signed-in browser."""
    return lambda person: session_client(app, person)


@pytest.fixture
def run_jobs(app: Flask) -> Callable[..., list[Job]]:
    """`run_jobs(failures=False)`: run all queued jobs in this process; returns the jobs that ran."""
    return lambda **wishes: run_queued_jobs(app, **wishes)


@pytest.fixture(scope="session")
def _live(servers: Servers, settings: Settings, _application: Flask) -> Iterator[LiveServer]:
    live = LiveServer(servers, settings)
    yield live
    live.stop()


@pytest.fixture
def live_server(_live: LiveServer, app: Flask, model: ServerHandle) -> Iterator[LiveServer]:
    """gunicorn and a worker as processes, on the same servers and the same scripted model as `app`."""
    _live.heal()
    yield _live
    _live.servers.start_database()
    with app.app_context():
        db.engine.dispose()  # the test may have had the server started again
        end_turns(app)
    _live.settle_jobs()


@pytest.fixture
def live_web(_live: LiveServer, app: Flask, model: ServerHandle) -> Iterator[LiveServer]:
    """gunicorn alone, for tests that need no job: a worker takes two seconds of CPU to start."""
    _live.heal(with_jobs=False)
    yield _live
    _live.servers.start_database()


@pytest.fixture
def live_worker(_live: LiveServer, app: Flask, model: ServerHandle) -> Iterator[LiveServer]:
    """A worker alone, which may be the one of the test before: a web takes as long to start."""
    _live.heal(with_web=False)
    yield _live
    _live.settle_jobs()


def end_turns(app: Flask, seconds: float = 10.0) -> None:
    """Stop every reply that is still being written, here or in the live server, and wait until it is."""
    client = app.extensions["redis"]
    end = time.monotonic() + seconds
    while running := _streaming_ids(app):
        if time.monotonic() > end:
            break  # Its process was killed: the rows go anyway.
        for turn_id in running:
            if client.exists(turnlog.lease_key(turn_id)):
                turnlog.request_stop(client, turn_id)
            else:
                end = min(end, time.monotonic() + 0.3)
        time.sleep(0.02)
    # A stored reply may still have jobs to queue, which the next test would find in its queue.
    end = time.monotonic() + 3
    while runtime.of(app).runner.active and time.monotonic() < end:
        time.sleep(0.01)


def _streaming_ids(app: Flask) -> list[int]:
    with db.engine.connect() as connection:
        found = connection.execute(text("SELECT message_id FROM messages WHERE status = 'streaming'"))
        return list(found.scalars())
