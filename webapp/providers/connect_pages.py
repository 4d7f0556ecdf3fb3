"""The admin's way to a model: a provider and its key, or a server on this machine; what does not work is not stored."""

import hashlib
from dataclasses import replace
from typing import Any

from flask import flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.db.base import db
from webapp.errors import DomainError, Invalid
from webapp.extensions import app_settings, this_app
from webapp.http.forms import first_sentence, sentences, validate
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, language_of
from webapp.network.outbound import with_scheme
from webapp.providers import connection_setup, downloads
from webapp.providers.api import run_test
from webapp.providers.key_encryption import Secrets, seal, unseal
from webapp.providers.model_choice import status
from webapp.providers.models import ModelConnection
from webapp.providers.schemas import LocalServer, NewConnection, header_lines
from webapp.providers.server_models import PROVIDERS, Choice, stored_speed
from webapp.providers.service import offers_of

blueprint = PageBlueprint("connect_pages", __name__, access="admin")

LOCAL, ANOTHER = "local", "another"
"""Tiles that are no provider: a server on this machine, and one at any URL."""
SLOW = 100.0
"""A server that reads fewer tokens a second is not put through the whole test while somebody waits."""
LABELS = N_({"name": "The name", "base_url": "The URL", "api_key": "The key", "headers": "The headers"})


@blueprint.get("/admin/models/new")
def new() -> ViewResult:
    """Show what can be connected: the servers on this machine first, then providers by name."""
    provider = request.args.get("provider", "")
    return _start(provider if provider in PROVIDERS or provider in (LOCAL, ANOTHER) else next(iter(PROVIDERS)))


@blueprint.post("/admin/models/new")
def look() -> ViewResult:
    """Show what the server offers; nothing is stored."""
    provider = request.form.get("provider", "")
    try:
        fields = _fields()
        db.session.rollback()  # nothing is held while the server answers
        rows = connection_setup.list_models(fields)
    except Invalid as error:
        return _start(provider, errors=_messages(error), values=request.form), 422
    choices = connection_setup.choices(fields, rows)
    return _choose(fields, [replace(choice, is_default=False) for choice in choices] if _answering() else choices)


@blueprint.post("/admin/models/new/models")
def connect() -> ViewResult:
    """Connect the server with the models that were ticked, once the default, or the first of them, has answered."""
    try:
        fields = _fields()
    except Invalid as error:
        return _start(request.form.get("provider", ""), errors=_messages(error), values=request.form), 422
    names = list(dict.fromkeys(filter(None, map(str.strip, request.form.getlist("model")))))
    default = request.form.get("default", "")
    if default not in names:
        default = "" if _answering() else next(iter(names), "")
    db.session.rollback()
    rows = []
    try:
        rows = connection_setup.list_models(fields)
        if not names:
            raise Invalid.field("models", N_("Choose at least one model."))
        row = connection_setup.connect(fields, rows, default or names[0], names, is_default=bool(default))
    except (DomainError, ValidationError) as error:
        db.session.rollback()
        results = [
            Choice(choice.name, choice.name in names, choice.name == default)
            for choice in connection_setup.choices(fields, rows)
        ]
        return _choose(fields, results, error=_first_message(error)), 422
    return _show_connection(row)


@blueprint.get("/admin/models/nearby")
def offer_local() -> ViewResult:
    """The servers on this machine that could be used; nothing if a real model answers. Fetched by the start page."""
    return "" if status().is_connected else render_template("providers/_servers.html", servers=_servers())


@blueprint.post("/admin/models/nearby")
def connect_local() -> ViewResult:
    """Connect a server on this machine, with the chosen model as its default."""
    places = app_settings().local_servers
    try:
        row = connection_setup.connect_local(places, request.form.get("name", ""), request.form.get("model", "")[:200])
    except DomainError as error:
        db.session.rollback()
        flash(_first_message(error), "error")
        return redirect(url_for("conversations_pages.new"), 303)
    return _show_connection(row)


@blueprint.get("/admin/models/new/local")
def local() -> ViewResult:
    """Show what is on this machine now; no content if the page shows that already. Fetched by the page."""
    if not wants_partial():
        return redirect(url_for(".new", provider=LOCAL), 303)
    context = _local()
    if request.args.get("seen") == context["seen"]:
        return "", 204
    return render_template("providers/_local.html", **context)


@blueprint.post("/admin/models/new/local/pull")
def pull() -> ViewResult:
    """Let Ollama fetch a model, or resume that."""
    name, model = request.form.get("name", ""), request.form.get("model", "").strip()
    try:
        downloads.start_pull(app_settings().local_servers, name, model)
    except DomainError as error:
        flash(_first_message(error), "error")
    return redirect(url_for(".new", provider=LOCAL), 303)


@blueprint.post("/admin/models/new/local/cancel")
def cancel() -> ViewResult:
    """Stop fetching a model."""
    downloads.cancel_pull(request.form.get("name", ""))
    return redirect(url_for(".new", provider=LOCAL), 303)


def _fields() -> NewConnection:
    """Return the connection in the form; a missing name or URL is the provider's, a missing key the one sent before."""
    form, provider = request.form, PROVIDERS.get(request.form.get("provider", ""))
    before = unseal(form.get("sealed"))
    base_url = form.get("base_url", "").strip() or (provider.base_url if provider else "")
    host = with_scheme(base_url).partition("://")[2].partition("/")[0]
    values = {
        "name": form.get("name", "").strip() or (provider.name if provider else host[:100]),
        "base_url": base_url,
        "api_key": form.get("api_key", "").strip() or before.api_key,
        "headers": header_lines(form.get("headers", "")) or before.headers,
    }
    return validate(NewConnection, values)


def _show_connection(row: ModelConnection) -> ViewResult:
    """Store the connection, find out what else works where that is quick, and go where its model answers."""
    db.session.commit()
    if (stored_speed(row.test_result, "prompt") or SLOW) >= SLOW:
        row = run_test(row.connection_id)
    is_default = status().source == "connection" and any(offer.is_default for offer in offers_of(row.connection_id))
    words = (
        N_("Connected. Replies now come from %(name)s.") if is_default else N_("Connected. %(name)s answers as before.")
    )
    flash(_(words, name=row.name if is_default else _answering()), "message")
    return redirect(url_for("conversations_pages.new"), 303)


def _start(chosen: str, *, errors: dict[str, str] | None = None, values: Any = None) -> str:
    provider = PROVIDERS.get(chosen)
    defaults = {"name": provider.name, "base_url": provider.base_url} if provider else {}
    context = _local() if chosen == LOCAL else {"servers": [] if errors else _servers()}
    fields = {name: (values or {}).get(name, "") for name in ("name", "base_url", "headers")}
    key = (values or {}).get("api_key", "").strip() or unseal((values or {}).get("sealed")).api_key
    return render_template(
        "providers/connect.html",
        tiles=PROVIDERS.values(),
        chosen=chosen,
        provider=provider,
        needs_key=bool(provider and provider.keys),
        errors=errors or {},
        values=defaults | {name: text for name, text in fields.items() if text},
        sealed=seal(Secrets(key)) if key else "",
        **context,
    )


def _choose(fields: NewConnection, choices: list[Choice], *, error: str = "") -> str:
    return render_template(
        "providers/connect_models.html",
        fields=fields,
        sealed=seal(Secrets(fields.api_key, fields.headers)),
        provider=request.form.get("provider", ""),
        ticked=[choice for choice in choices if choice.is_offered],
        others=[choice for choice in choices if not choice.is_offered],
        answering=_answering(),
        error=error,
    )


def _answering() -> str:
    """Return the model that answers whoever chooses none; nothing while none does."""
    state = status()
    return state.label if state.is_connected else ""


def _servers() -> list[LocalServer]:
    """Return the servers on this machine that are not connected yet."""
    urls = connection_setup.connected_urls()
    db.session.remove()  # nothing is held while they are contacted
    return [server for server in connection_setup.discover(app_settings().local_servers) if server.base_url not in urls]


def _local() -> dict[str, Any]:
    """Return what the page shows of this machine, and a digest of it."""
    servers = _servers()
    fetcher = next((server.name for server in servers if server.can_pull), None)
    run = downloads.find_pull(fetcher) if fetcher else None
    memory = downloads.memory_of_machine()
    context: dict[str, Any] = {
        "servers": [server for server in servers if server.models],
        "fetcher": fetcher,
        "pull": run if run and run.state != "done" else None,
        "problems": downloads.PROBLEMS,
        "memory": memory,
        "offers": downloads.fitting_models(memory, language_of(this_app()).code),
        "programs": downloads.programs(),
    }
    return context | {"seen": hashlib.sha256(repr([context["servers"], fetcher, run]).encode()).hexdigest()[:16]}


def _first_message(error: DomainError | ValidationError) -> str:
    return (
        first_sentence(_messages(error).values()) if isinstance(error, Invalid | ValidationError) else _(error.detail)
    )


def _messages(error: Invalid | ValidationError) -> dict[str, str]:
    return sentences(error, LABELS, otherwise="name" if isinstance(error, Invalid) and not error.errors else "base_url")
