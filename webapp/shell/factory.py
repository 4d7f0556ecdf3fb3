"""Wires what every process needs: settings, extensions, signals. What is served is in routes.py."""

import hashlib
import os
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from flask import Flask
from flask.json.provider import DefaultJSONProvider
from flask_openapi3 import Info, OpenAPI
from sqlalchemy import make_url
from werkzeug.middleware.proxy_fix import ProxyFix

from webapp.accounts.auth import init_auth
from webapp.accounts.mail_pages import init_mail
from webapp.accounts.oidc_pages import init_oidc
from webapp.audit.setup import init_audit
from webapp.background.queues import note_model
from webapp.chat.turns.recovery import may_be_running
from webapp.chat.turns.runtime import init_chat
from webapp.chat.turns.start_queue import init_gate
from webapp.cli.launch.privacy import keep_private
from webapp.config import ConfigError, Settings
from webapp.conversations.current_messages import models_answering
from webapp.db.base import db, init_sessions
from webapp.db.conflicts import init_conflicts
from webapp.db.engine import engine_options, prepare_engine
from webapp.extensions import app_settings, csrf, htmx, limiter, login, make_redis, redis
from webapp.files.storage import init_storage
from webapp.http import problems, security_headers
from webapp.http.compression import init_compression
from webapp.http.json_api import Problem
from webapp.http.views import BoundedRequest, PlainNumbers
from webapp.journeys.setup import init_journeys
from webapp.legacies.fact_learning import init_fact_learning
from webapp.providers.clients import init_models
from webapp.rendering import init_rendering
from webapp.retrieval.setup import init_retrieval
from webapp.sharing.memory_links import init_uses
from webapp.telemetry import logs, tracing
from webapp.telemetry.spans import trace_requests
from webapp.templating import LocalizedEnvironment
from webapp.usage.records import record_background

ROOT = Path(__file__).resolve().parent.parent.parent

RECEIVERS = {
    "accounts": "groups",
    "audit": "setup",
    "chat": "turns.runtime",
    "db": "base",
    "digests": "redaction service",
    "files": "documents service",
    "journeys": "authoring guides setup",
    "legacies": "memory_moves visibility",
    "memories": "history.revisions portrait.service prompt.always_used",
    "retrieval": "changes setup",
    "saved_prompts": "service",
    "schedules": "feed",
    "spaces": "members signals",
    "summaries": "redaction service",
    "transfer": "account_erasure export_jobs proposals service",
    "usage": "sums",
    "webhooks": "service",
}
"""The modules of each room with functions that other rooms call: for events, placeholders, or kinds of access."""


def build(settings: Settings | None = None) -> OpenAPI:
    """Return an application without routes; opens no connections."""
    settings = settings or Settings.from_env()
    _keep_private(settings)
    app = OpenAPI(
        "webapp",
        info=Info(title="Commonplace", version="1.0.0", summary="A chat workspace whose assistant remembers."),
        security_schemes={
            "token": {"type": "http", "scheme": "bearer"},
            "session": {"type": "apiKey", "in": "cookie", "name": "session"},
        },
        validation_error_status=422,
        validation_error_model=Problem,
        validation_error_callback=problems.validation_problem,
        doc_ui=False,
        template_folder=str(ROOT / "templates"),
        static_folder=str(ROOT / "static"),
        instance_path=str(settings.var_dir.absolute()),
    )
    app.jinja_environment = LocalizedEnvironment  # type: ignore[assignment]  # ours is Jinja's with Flask's loader, not Flask's
    _configure(app, settings)
    _extend(app, settings)
    return app


def _configure(app: Flask, settings: Settings) -> None:
    app_settings.put(app, settings)
    app.config.update(
        SECRET_KEY=settings.secret_key or _stored_secret(settings),
        SQLALCHEMY_DATABASE_URI=settings.sqlalchemy_url,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(
            settings.sqlalchemy_url, settings.database_pool, settings.database_seconds
        ),
        MAX_CONTENT_LENGTH=settings.max_request_bytes,
        MAX_FILE_BYTES=settings.max_file_bytes + 65_536,
        MAX_IMPORT_BYTES=settings.max_import_bytes,
        MAX_FORM_MEMORY_SIZE=settings.max_request_bytes,
        PERMANENT_SESSION_LIFETIME=timedelta(days=settings.session_days),
        SESSION_COOKIE_NAME="session",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=settings.session_cookie_secure,
        WTF_CSRF_TIME_LIMIT=None,
        WTF_CSRF_CHECK_DEFAULT=False,
        RATELIMIT_ENABLED=settings.rate_limits,
        RATELIMIT_STORAGE_URI="redis://",  # whichever ours is: _extend gives it our connections
        RATELIMIT_SWALLOW_ERRORS=True,
    )
    assert isinstance(app.json, DefaultJSONProvider)
    app.json.sort_keys = False
    if settings.trusted_proxies:
        hops = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]


def _init_tracing(app: Flask, settings: Settings) -> None:
    """Trace if the settings name a collector; nothing of OpenTelemetry is loaded otherwise."""
    if not settings.otel_exporter_otlp_endpoint:
        return
    if not (find_spec("opentelemetry") and find_spec("opentelemetry.exporter")):
        raise ConfigError(
            "OTEL_EXPORTER_OTLP_ENDPOINT needs more packages: .venv/bin/pip install -r requirements-tracing.txt"
        )
    tracing.use(
        import_module("webapp.telemetry.otlp").Traces(
            settings.otel_exporter_otlp_endpoint,
            headers=settings.otel_headers,
            service=settings.otel_service_name,
            share=settings.otel_traces_sampler_arg,
        )
    )
    # A trace begun elsewhere is accepted if there are proxies whose addresses are trusted.
    trace_requests(app, trusts_traceparent=settings.trusted_proxies > 0)


def _extend(app: Flask, settings: Settings) -> None:
    for module in [f"webapp.{room}.{name}" for room, names in RECEIVERS.items() for name in names.split()]:
        import_module(module)
    _init_tracing(app, settings)  # first: a request's span is around all that is done for it
    db.init_app(app)
    init_sessions(app)
    problems.init_retry_after(app)  # before the limiter, so that it runs after it
    with app.app_context():
        prepare_engine(db.engine)
        # A forked child (RQ's work-horse, a preloaded gunicorn worker) must not share the parent's connections.
        os.register_at_fork(after_in_child=lambda engine=db.engine: engine.dispose(close=False))
    login.init_app(app, add_context_processor=False)
    csrf.init_app(app)
    htmx.init_app(app)
    app.url_map.converters["int"] = PlainNumbers
    app.request_class = BoundedRequest  # after htmx-flask, which puts its own in place
    client = redis.put(app, make_redis(settings.redis_url))
    app.config["RATELIMIT_STORAGE_OPTIONS"] = {"connection_pool": client.connection_pool}
    limiter.init_app(app)
    note = partial(note_model, client)
    answering = partial(models_answering, may_be_running)
    init_models(app, settings, observe=record_background, note=note, models_answering=answering)
    app.ensure_sync = lambda func: func  # type: ignore[method-assign]  # Flask looks for coroutines in each request
    init_conflicts(app)
    init_retrieval(app, settings)
    init_fact_learning(app)
    init_journeys(app)
    init_storage(app, settings)
    init_uses(app)
    init_gate(app)
    logs.init_logs(app, settings.log_format, settings.log_level)
    problems.init_errors(app)
    security_headers.init_security(app, settings.cors_origins)
    init_auth(app)
    init_oidc(app, settings)
    init_mail(app, settings)
    init_audit(app)
    init_rendering(app)
    init_compression(app)
    init_chat(app, settings)


def _keep_private(settings: Settings) -> None:
    """Keep other users of the machine from the data; without write access the error appears where it matters."""
    with suppress(OSError):
        url = make_url(settings.sqlalchemy_url)
        file = url.database if url.drivername == "sqlite" else None
        keep_private(settings.var_dir.absolute(), *([Path(file)] if file else []))


def _stored_secret(settings: Settings) -> str:
    """Return the installation's own secret, created at the first start and kept in `var_dir`."""
    path = settings.var_dir / "secret_key"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ConfigError(f"SECRET_KEY is not set and {path} cannot be read: {error.strerror}") from error
    secret = hashlib.sha256(os.urandom(64)).hexdigest()
    try:
        settings.var_dir.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secret)
    except FileExistsError:
        return path.read_text().strip()
    except OSError as error:
        raise ConfigError(f"SECRET_KEY is not set and {path} cannot be written: {error.strerror}") from error
    return secret
