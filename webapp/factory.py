"""The only wiring: settings, extensions, blueprints, commands."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from flask import Flask
from flask.json.provider import DefaultJSONProvider
from flask_openapi3 import Info, OpenAPI
from werkzeug.middleware.proxy_fix import ProxyFix

from webapp import logs, problems, rendering, security, service_endpoints
from webapp.accounts.api import blueprint as accounts_api
from webapp.accounts.cli import register_commands as accounts_commands
from webapp.accounts.setup import PAGES as ACCOUNT_PAGES
from webapp.accounts.setup import init_accounts
from webapp.admin.cli import register_commands as admin_commands
from webapp.admin.feedback import blueprint as admin_feedback
from webapp.admin.jobs_pages import blueprint as admin_jobs
from webapp.admin.journeys import blueprint as admin_journeys
from webapp.admin.pages import blueprint as admin_pages
from webapp.admin.prompts import blueprint as admin_prompts
from webapp.audit.api import blueprint as audit_api
from webapp.audit.pages import blueprint as audit_pages
from webapp.audit.setup import init_audit
from webapp.chat.api import blueprint as chat_api
from webapp.chat.asking_pages import blueprint as asking_pages
from webapp.chat.branch_pages import blueprint as branch_pages
from webapp.chat.frames import blueprint as frames
from webapp.chat.gate import init_gate
from webapp.chat.inspector_pages import blueprint as inspector_pages
from webapp.chat.pages import blueprint as chat_pages
from webapp.chat.points_api import blueprint as chat_points_api
from webapp.chat.points_pages import blueprint as chat_points_pages
from webapp.chat.runtime import init_chat
from webapp.chat.start_pages import blueprint as start_pages
from webapp.cli.launch.privacy import keep_private
from webapp.compression import init_compression
from webapp.config import ConfigError, Settings
from webapp.conversations.api import blueprint as conversations_api
from webapp.conversations.feedback_api import blueprint as feedback_api
from webapp.conversations.feedback_pages import blueprint as feedback_pages
from webapp.conversations.folders_api import blueprint as folders_api
from webapp.conversations.organising_pages import blueprint as organising_pages
from webapp.conversations.pages import blueprint as conversations_pages
from webapp.database import db, init_after_commit, init_sessions
from webapp.digests.api import blueprint as digests_api
from webapp.digests.api import init_digests
from webapp.digests.pages import blueprint as digests_pages
from webapp.engine import engine_options, prepare_engine
from webapp.extensions import app_settings, csrf, htmx, limiter, login, make_redis, migrate, redis, redis_options
from webapp.files.api import blueprint as files_api
from webapp.files.pages import blueprint as files_pages
from webapp.files.service import init_files
from webapp.gateway.api import init_gateway
from webapp.installing import blueprint as installing
from webapp.internal.api import blueprint as internal_api
from webapp.journeys.answers_api import blueprint as point_answers_api
from webapp.journeys.api import blueprint as journeys_api
from webapp.journeys.api import points_blueprint as journey_points_api
from webapp.journeys.authoring_api import blueprint as journey_authoring_api
from webapp.journeys.authoring_pages import blueprint as journey_authoring_pages
from webapp.journeys.cli import register_commands as journeys_commands
from webapp.journeys.pages import blueprint as journeys_pages
from webapp.journeys.setup import init_journeys
from webapp.legacies.api import blueprint as legacies_api
from webapp.legacies.pages import blueprint as legacies_pages
from webapp.legacies.wiring import init_spaces
from webapp.library.api import blueprint as library_api
from webapp.library.pages import blueprint as library_pages
from webapp.library.service import init_library
from webapp.mcp.setup import init_mcp
from webapp.memories import prompt_blocks  # noqa: F401  (says what placeholders stand for)
from webapp.memories.activity_pages import blueprint as memory_activity_pages
from webapp.memories.api import blueprint as memories_api
from webapp.memories.bulk_pages import blueprint as memory_bulk_pages
from webapp.memories.cli import register_commands as memories_commands
from webapp.memories.dependents import init_dependents
from webapp.memories.extraction_pages import blueprint as memory_extraction_pages
from webapp.memories.pages import blueprint as memories_pages
from webapp.memories.scope_pages import blueprint as memory_scope_pages
from webapp.model_clients import init_models
from webapp.models.api import blueprint as models_api
from webapp.models.pages import blueprint as models_pages
from webapp.oauth.setup import init_oauth
from webapp.openapi.docs import init_docs
from webapp.prompts.api import blueprint as prompts_api
from webapp.retrieval.api import blueprint as retrieval_api
from webapp.retrieval.cli import register_commands as retrieval_commands
from webapp.retrieval.pages import blueprint as retrieval_pages
from webapp.retrieval.setup import init_retrieval
from webapp.sharing.api import blueprint as sharing_api
from webapp.sharing.pages import blueprint as sharing_pages
from webapp.spaces.api import blueprint as spaces_api
from webapp.spaces.document_pages import blueprint as documents_pages
from webapp.spaces.pages import blueprint as spaces_pages
from webapp.summaries.service import init_summaries
from webapp.tasks.api import blueprint as tasks_api
from webapp.templating import Tongues
from webapp.tools.setup import init_tools
from webapp.transfer.setup import init_transfer
from webapp.usage.api import blueprint as usage_api
from webapp.usage.pages import blueprint as usage_pages
from webapp.web import BoundedRequest, Problem
from webapp.webhooks.setup import init_events

ROOT = Path(__file__).resolve().parent.parent


def build(settings: Settings | None = None) -> Flask:
    """An application ready to serve; opens no connection by itself."""
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
    app.jinja_environment = Tongues  # type: ignore[assignment]  # ours is Jinja's with Flask's loader, not Flask's
    _configure(app, settings)
    _extend(app, settings)
    _register(app)
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
        # limits has a scheme of its own for Unix sockets.
        RATELIMIT_STORAGE_URI=settings.redis_url.replace("unix://", "redis+unix://", 1),
        RATELIMIT_STORAGE_OPTIONS=redis_options(),
        RATELIMIT_SWALLOW_ERRORS=True,
    )
    assert isinstance(app.json, DefaultJSONProvider)
    app.json.sort_keys = False
    if settings.trusted_proxies:
        hops = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]


def _extend(app: Flask, settings: Settings) -> None:
    db.init_app(app)
    init_sessions(app)
    problems.init_retry_after(app)  # before the limiter, to have its say after it
    with app.app_context():
        prepare_engine(db.engine)
        # A forked child (RQ's work-horse, a preloaded gunicorn worker) must not share the parent's connections.
        os.register_at_fork(after_in_child=lambda engine=db.engine: engine.dispose(close=False))
    migrate.init_app(app, db, directory=str(ROOT / "migrations"))
    login.init_app(app, add_context_processor=False)
    csrf.init_app(app)
    htmx.init_app(app)
    app.request_class = BoundedRequest  # after htmx-flask, which puts its own in place
    limiter.init_app(app)
    redis.put(app, make_redis(settings.redis_url))
    init_models(app, settings)
    init_after_commit()
    init_retrieval(app, settings)
    init_summaries()
    init_dependents()
    init_spaces(app)
    init_library()
    init_journeys(app)
    init_files()
    init_gate(app)
    logs.init_logs(app, settings)
    problems.init_errors(app)
    security.init_security(app)
    init_accounts(app, settings)
    init_audit()
    rendering.init_rendering(app)
    init_compression(app)
    init_chat(app, settings)


def _register(app: OpenAPI) -> None:
    for api in (accounts_api, audit_api, conversations_api, chat_api, memories_api, retrieval_api):
        app.register_api(api)
    for api in (prompts_api, digests_api, tasks_api, internal_api):
        app.register_api(api)
    init_digests(app)
    for pages in (
        *ACCOUNT_PAGES,
        audit_pages,
        conversations_pages,
        chat_pages,
        memories_pages,
        memory_activity_pages,
        memory_bulk_pages,
        memory_scope_pages,
        memory_extraction_pages,
        retrieval_pages,
        inspector_pages,
        frames,
        branch_pages,
        asking_pages,
        start_pages,
        admin_pages,
        admin_jobs,
        admin_feedback,
        service_endpoints.blueprint,
        installing,
        digests_pages,
        admin_prompts,
    ):
        app.register_blueprint(pages)
    for api in (spaces_api, legacies_api, library_api, sharing_api, folders_api, feedback_api):
        app.register_api(api)
    for api in (models_api, usage_api, files_api):
        app.register_api(api)
    for pages in (spaces_pages, documents_pages, legacies_pages, library_pages, sharing_pages, organising_pages):
        app.register_blueprint(pages)
    for pages in (models_pages, usage_pages, files_pages, feedback_pages):
        app.register_blueprint(pages)
    for guided in (journeys_api, journey_authoring_api, journey_points_api, point_answers_api, chat_points_api):
        app.register_api(guided)
    for pages in (journeys_pages, journey_authoring_pages, chat_points_pages, admin_journeys):
        app.register_blueprint(pages)
    init_transfer(app)
    init_gateway(app)
    init_mcp(app)
    init_tools(app)
    init_oauth(app)
    init_events(app)
    init_docs(app)
    accounts_commands(app)
    admin_commands(app)
    memories_commands(app)
    retrieval_commands(app)
    journeys_commands(app)


def _keep_private(settings: Settings) -> None:
    """Close the data to other users of the machine; one who may not write there meets the error where it matters."""
    with suppress(OSError):
        _, _, path = settings.sqlalchemy_url.partition("sqlite:///")
        keep_private(settings.var_dir.absolute(), *([Path(path.partition("?")[0])] if path else []))


def _stored_secret(settings: Settings) -> str:
    """The installation's own secret, made at the first start and kept in `var_dir`."""
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
