"""An application with accounts and probe views only, on real servers, emptied before each test."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Blueprint, Flask, Response, jsonify
from flask.testing import FlaskClient
from flask_openapi3 import Info, OpenAPI
from flask_wtf.csrf import generate_csrf

from testkit.servers import Servers
from tests.support.tables import empty_tables
from webapp.accounts import auth, service, site, tokens
from webapp.accounts.api import blueprint as accounts_api
from webapp.accounts.cli import api_tokens, users
from webapp.accounts.schemas import Credentials, NewToken, Registration
from webapp.config import Settings
from webapp.db.base import db, expect_writes, write_transaction
from webapp.db.engine import engine_options, prepare_engine
from webapp.extensions import csrf, htmx, login, make_redis
from webapp.http import problems
from webapp.shell.commands import CommandGroup

PASSWORD = "a quiet winter garden"


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

    def only_services(view: object) -> object:
        view.access = "service"  # type: ignore[attr-defined]
        return view

    probe("/page/public", auth.public)
    probe("/page/user", auth.login_required)
    probe("/page/admin", auth.admin_only)
    probe("/page/forgotten")
    probe("/api/probe/public", auth.public)
    probe("/api/probe/user", auth.login_required)
    probe("/api/probe/either", auth.login_required(services=True))
    probe("/api/probe/admin", auth.admin_only)
    probe("/api/internal/probe", only_services)

    @blueprint.get("/api/probe/stream")
    @auth.login_required
    def stream() -> Response:
        return Response(iter(["first", "last"]))

    @blueprint.post("/test-login")
    @auth.public
    def test_login():
        from flask import request

        auth.count_attempt("log in", request.form["email"])
        user = service.log_in(Credentials(email=request.form["email"], password=request.form["password"]))
        db.session.commit()
        auth.reset_attempts("log in", request.form["email"])
        auth.start_session(user)
        return who()

    @blueprint.post("/test-logout")
    @auth.login_required
    def test_logout():
        auth.end_session()
        return who()

    @blueprint.get("/test-csrf")
    @auth.public
    def test_csrf():
        return generate_csrf()

    return blueprint


@pytest.fixture(scope="session")
def _probe_application(_application: Flask, servers: Servers, settings: Settings) -> Iterator[Flask]:
    """Accounts and probes on the database of the whole application, which has made its tables."""
    app = OpenAPI(
        __name__,
        info=Info(title="Accounts", version="1"),
        validation_error_status=422,
        validation_error_callback=problems.validation_problem,
        doc_ui=False,
    )
    app.extensions["settings"] = settings.model_copy(update={"login_rate": "6 per minute"})
    app.test_client_class = CleanClient
    url = settings.sqlalchemy_url
    app.config.update(
        SECRET_KEY="only for tests",
        TESTING=True,
        SQLALCHEMY_DATABASE_URI=url,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(url, 20),
        RATELIMIT_ENABLED=True,
        RATELIMIT_STORAGE_URI=servers.redis_url.replace("unix://", "redis+unix://", 1),
        WTF_CSRF_TIME_LIMIT=None,
        WTF_CSRF_CHECK_DEFAULT=False,
    )
    for extension in (db, login, csrf, htmx):
        extension.init_app(app)
    app.extensions["redis"] = make_redis(servers.redis_url)
    problems.init_errors(app)
    auth.init_auth(app)
    app.register_api(accounts_api)
    app.register_blueprint(probes())
    app.cli = CommandGroup(app.name)
    app.cli.add_command(api_tokens)
    app.cli.add_command(users)
    with app.app_context():
        prepare_engine(db.engine)
    yield app
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    app.extensions["redis"].close()


@pytest.fixture
def probe_app(_probe_application: Flask, servers: Servers) -> Iterator[Flask]:
    """The application with nobody in it, in a context of its own."""
    servers.flush_redis()
    # The migrations said it for this whole thread; a test that reads would keep the views from writing to SQLite.
    expect_writes(False)
    with _probe_application.app_context():
        yield _probe_application
        db.session.remove()
        empty_tables(db.engine, db.metadata)
    servers.flush_redis()


@pytest.fixture
def caller(probe_app: Flask) -> FlaskClient:
    """A browser, or a program, that nobody has signed in with."""
    return probe_app.test_client()


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
    """A caller that sends the CSRF token as our pages do."""

    def __init__(self, caller: FlaskClient) -> None:
        self.caller = caller
        self.get = caller.get

    def csrf(self) -> dict[str, str]:
        """The header that proves that our page sent it."""
        return {"X-CSRFToken": self.caller.get("/test-csrf").text}

    def post(self, path: str, **kwargs: object) -> object:
        """POST as a page does."""
        return self.caller.post(path, headers=self.csrf(), **kwargs)

    def put(self, path: str, **kwargs: object) -> object:
        """PUT as a page does."""
        return self.caller.put(path, headers=self.csrf(), **kwargs)

    def delete(self, path: str, **kwargs: object) -> object:
        """DELETE as a page does."""
        return self.caller.delete(path, headers=self.csrf(), **kwargs)


@pytest.fixture
def people(probe_app: Flask) -> People:
    """Accounts to test with."""
    return People(probe_app)
