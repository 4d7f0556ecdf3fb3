"""An application with accounts and probe views only, on real servers, emptied before each test."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Blueprint, Flask, jsonify
from flask.testing import FlaskClient
from flask_openapi3 import Info, OpenAPI
from flask_wtf.csrf import generate_csrf
from sqlalchemy import create_engine, text

from tests.support.mariadb import MariaDB
from tests.support.redis_server import RedisServer
from webapp import problems
from webapp.accounts import auth, service, site, tokens
from webapp.accounts.api import blueprint as accounts_api
from webapp.accounts.cli import register_commands
from webapp.accounts.schemas import Credentials, NewToken, Registration
from webapp.config import Settings
from webapp.database import db, engine_options, prepare_engine, write_transaction
from webapp.extensions import csrf, htmx, limiter, login, make_redis

PASSWORD = "a quiet winter garden"
TABLES = ("idempotency_keys", "api_tokens", "site_settings", "users")


def probes() -> Blueprint:
    """One view for each access rule."""
    blueprint = Blueprint("probes", __name__)

    def who() -> object:
        identity = auth.current_identity()
        return jsonify(None if identity is None else [identity.user_id, identity.is_admin, identity.is_service])

    def probe(path: str, mark: object = None, methods: tuple[str, ...] = ("GET", "POST")) -> None:
        def view() -> object:
            return who()

        view.__name__ = path.strip("/").replace("/", "_")
        blueprint.add_url_rule(path, view_func=mark(view) if mark else view, methods=methods)  # type: ignore[operator]

    probe("/page/public", auth.public)
    probe("/page/user", auth.signed_in)
    probe("/page/admin", auth.admin_only)
    probe("/page/forgotten")
    probe("/api/probe/public", auth.public)
    probe("/api/probe/user", auth.signed_in)
    probe("/api/probe/either", auth.signed_in(services=True))
    probe("/api/probe/admin", auth.admin_only)
    probe("/api/internal/probe", auth.service_only)

    @blueprint.post("/test-login")
    @auth.public
    def test_login() -> object:
        from flask import request

        auth.count_attempt("log in", request.form["email"])
        user = service.log_in(Credentials(email=request.form["email"], password=request.form["password"]))
        db.session.commit()
        auth.forgive_attempts("log in", request.form["email"])
        auth.start_session(user)
        return who()

    @blueprint.post("/test-logout")
    @auth.signed_in
    def test_logout() -> object:
        auth.end_session()
        return who()

    @blueprint.get("/test-csrf")
    @auth.public
    def test_csrf() -> object:
        return generate_csrf()

    return blueprint


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An empty database: MariaDB, or SQLite with TEST_DB=sqlite."""
    folder = tmp_path_factory.mktemp("database")
    if os.environ.get("TEST_DB") == "sqlite":
        yield f"sqlite:///{folder / 'test.sqlite3'}"
        return
    server = MariaDB(folder)
    server.start()
    url = Settings(database_url=server.url("accounts")).sqlalchemy_url
    engine = create_engine(url.replace("/accounts?", "/mysql?"))
    with engine.begin() as connection:
        connection.execute(text("CREATE DATABASE accounts CHARACTER SET utf8mb4"))
    engine.dispose()
    yield url
    server.stop()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis of our own."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def application(
    database_url: str, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Flask]:
    """The application, its tables made."""
    settings = Settings(var_dir=Path(tmp_path_factory.mktemp("var")), login_rate="6 per minute")
    app = OpenAPI(
        __name__,
        info=Info(title="Accounts", version="1"),
        validation_error_status=422,
        validation_error_callback=problems.validation_problem,
        doc_ui=False,
    )
    app.extensions["settings"] = settings
    app.test_client_class = CleanClient
    app.config.update(
        SECRET_KEY="only for tests",
        TESTING=True,
        SQLALCHEMY_DATABASE_URI=database_url,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(database_url, 20),
        RATELIMIT_STORAGE_URI=f"redis+{redis_server.url}",
        WTF_CSRF_TIME_LIMIT=None,
        WTF_CSRF_CHECK_DEFAULT=False,
    )
    for extension in (db, login, csrf, htmx, limiter):
        extension.init_app(app)
    app.extensions["redis"] = make_redis(redis_server.url)
    problems.init_errors(app)
    auth.init_auth(app)
    app.register_api(accounts_api)
    app.register_blueprint(probes())
    register_commands(app)
    with app.app_context():
        prepare_engine(db.engine)
        db.create_all()
    yield app
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    app.extensions["redis"].close()


@pytest.fixture
def app(application: Flask) -> Iterator[Flask]:
    """The application with nobody in it."""
    with application.app_context():
        with write_transaction():
            for table in TABLES:
                db.session.execute(text(f"DELETE FROM {table}"))
        application.extensions["redis"].flushdb()
        yield application
        db.session.remove()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser, or a program, that nobody has signed in with."""
    return app.test_client()


class CleanClient(FlaskClient):
    """Sends each request from an empty context: in the test's own it would share `g` with all the others."""

    def open(self, *args: Any, **kwargs: Any) -> Any:
        return contextvars.Context().run(super().open, *args, **kwargs)


class People:
    """Makes accounts, tokens and signed-in browsers."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def user(self, name: str, *, is_admin: bool = False) -> int:
        """A new account; returns its id. The first would be an admin: there always is one already."""
        with write_transaction():
            if not site.has_users():
                service.create_user(Registration(email="root@example.com", password=PASSWORD))
            data = Registration(email=f"{name}@example.com", password=PASSWORD, name=name.title())
            return service.create_user(data, is_admin=is_admin).user_id

    def token(self, user_id: int, *, is_service: bool = False) -> dict[str, str]:
        """A new token, as the header that carries it."""
        with write_transaction():
            _, secret = tokens.create_token(user_id, NewToken(name="test"), is_service=is_service)
        return {"Authorization": f"Bearer {secret}"}

    def browser(self, name: str, password: str = PASSWORD) -> Browser:
        """A browser in which this user has signed in."""
        browser = Browser(self.app.test_client())
        answer = browser.post("/test-login", data={"email": f"{name}@example.com", "password": password})
        assert answer.status_code == 200, answer.text
        return browser


class Browser:
    """A client that sends the CSRF token as our pages do."""

    def __init__(self, client: FlaskClient) -> None:
        self.client = client
        self.get = client.get

    def csrf(self) -> dict[str, str]:
        """The header that proves that our page sent it."""
        return {"X-CSRFToken": self.client.get("/test-csrf").text}

    def post(self, path: str, **kwargs: object) -> object:
        """POST as a page does."""
        return self.client.post(path, headers=self.csrf(), **kwargs)

    def put(self, path: str, **kwargs: object) -> object:
        """PUT as a page does."""
        return self.client.put(path, headers=self.csrf(), **kwargs)

    def delete(self, path: str, **kwargs: object) -> object:
        """DELETE as a page does."""
        return self.client.delete(path, headers=self.csrf(), **kwargs)


@pytest.fixture
def people(app: Flask) -> People:
    """Accounts to test with."""
    return People(app)
