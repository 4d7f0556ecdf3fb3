"""The admin's pages of connections and models."""

from __future__ import annotations

from typing import Any, get_args

from flask import Blueprint, flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts.auth import admin_only, signed_in
from webapp.accounts.groups import list_groups
from webapp.database import db
from webapp.errors import DomainError, Invalid
from webapp.extensions import app_settings
from webapp.forms import first_sentence, sentences
from webapp.languages.marks import N_
from webapp.languages.speaking import gettext as _
from webapp.models import grades, nearby, service
from webapp.models.api import change_connection, run_test
from webapp.models.api import choices as model_choices
from webapp.models.catalogue import environment_embeds, environment_works, home_wins, is_demonstration
from webapp.models.choosing import choice, like
from webapp.models.schemas import ConnectionChanges, NewConnection, OfferFields, Parameters
from webapp.paging import PageQuery
from webapp.parameters import Effort
from webapp.problems import field_errors
from webapp.web import ViewResult

blueprint = Blueprint("models_pages", __name__)

LABELS = N_(
    {
        "name": "The name",
        "base_url": "The address",
        "api_key": "The key",
        "headers": "The headers",
        "embedding_model": "This model",
        "background_model": "This model",
    }
)


@blueprint.app_context_processor
def _picker() -> dict[str, Any]:
    """What the composer of any page, and the grades on the pages of models, may need."""
    return {"load_choice": choice, "load_grades": grades.examinees}


@blueprint.get("/models")
@signed_in
def mine() -> ViewResult:
    """The models the user can choose: what they can do, what they cost, and which come first."""
    return render_template("models/mine.html", models=model_choices(), choice=choice())


@blueprint.post("/models/favourites")
@signed_in
def favour() -> ViewResult:
    """Make a model a favourite, or stop doing so."""
    try:
        like(request.form.get("model", "")[:220], likes=request.form.get("likes") == "1")
    except Invalid as error:
        flash(first_sentence(_said(error).values()), "error")
    db.session.commit()
    return redirect(url_for(".mine"), 303)


@blueprint.get("/admin/models")
@admin_only
def index() -> ViewResult:
    """Connections to model servers."""
    return _page()


@blueprint.post("/admin/models")
@admin_only
def create() -> ViewResult:
    """Connect a server, and test it at once."""
    given = {name: request.form.get(name, "").strip() for name in ("name", "base_url", "api_key")}
    try:
        row = service.create_connection(NewConnection(**given, headers=_headers()))
    except ValidationError as error:
        return _page(errors=_said(Invalid("", errors=field_errors(error))), values=given), 422
    except DomainError as error:
        return _page(errors={"name": error.detail}, values=given), error.status
    db.session.commit()
    run_test(row.connection_id)
    return redirect(url_for(".show", connection_id=row.connection_id), 303)


@blueprint.get("/admin/models/nearby")
@admin_only
def look_around() -> ViewResult:
    """The servers on this machine that could be used; nothing if there is already a model. Fetched by the page."""
    if not is_demonstration() or service.list_connections(PageQuery(limit=1)).items:
        return ""
    db.session.remove()  # nothing is held while they are contacted
    return render_template("models/_nearby.html", servers=nearby.look_around(app_settings().local_servers))


@blueprint.post("/admin/models/nearby")
@admin_only
def use_nearby() -> ViewResult:
    """Connect a server on this machine."""
    places = app_settings().local_servers
    try:
        row = nearby.connect(places, request.form.get("name", ""), request.form.get("model", "")[:200])
    except DomainError as error:
        db.session.rollback()
        flash(first_sentence(_said(error).values()) if isinstance(error, Invalid) else error.detail, "error")
        return redirect(url_for("conversations_pages.new"), 303)
    db.session.commit()
    run_test(row.connection_id)
    flash(_("Connected. Replies now come from %(name)s.", name=row.name), "message")
    return redirect(url_for("conversations_pages.new"), 303)


@blueprint.post("/admin/models/exam")
@admin_only
def examine() -> ViewResult:
    """Examine how well a model writes memories."""
    model_id = request.form.get("model", "")[:220]
    grades.request_exam(model_id)
    flash(_("The exam has begun. Its result will be here in a few minutes."), "message")
    connection_id, _slash, name = model_id.partition("/")
    return redirect(url_for(".show", connection_id=connection_id) if name else url_for(".index"), 303)


@blueprint.get("/admin/models/<int:connection_id>")
@admin_only
def show(connection_id: int) -> ViewResult:
    """One connection: what works, and which of its models are offered."""
    return _connection(connection_id)


@blueprint.post("/admin/models/<int:connection_id>")
@admin_only
def change(connection_id: int) -> ViewResult:
    """Change a connection."""
    given: dict[str, Any] = {
        "name": request.form.get("name", "").strip(),
        "base_url": request.form.get("base_url", "").strip(),
        "is_enabled": request.form.get("is_enabled") == "1",
        "builtin_tools": request.form.get("builtin_tools") == "1",
    }
    if request.form.get("api_key", "").strip() or "remove_key" in request.form:
        given["api_key"] = "" if "remove_key" in request.form else request.form["api_key"].strip()
    if request.form.get("headers", "").strip() or "remove_headers" in request.form:
        given["headers"] = {} if "remove_headers" in request.form else _headers()
    try:
        service.update_connection(connection_id, ConnectionChanges(**given))
    except ValidationError as error:
        return _connection(connection_id, errors=_said(Invalid("", errors=field_errors(error)))), 422
    except Invalid as error:
        return _connection(connection_id, errors=_said(error)), 422
    db.session.commit()
    flash(_("Saved."), "message")
    return redirect(url_for(".show", connection_id=connection_id), 303)


@blueprint.post("/admin/models/<int:connection_id>/offers")
@admin_only
def offer(connection_id: int) -> ViewResult:
    """Set which models of a connection people can choose."""
    try:
        kept = {row.model: row.parameters for row in service.offers_of(connection_id)}
        names = [name.strip() for name in request.form.getlist("model") if name.strip()]
        models = [_offer(name, kept.get(name, {})) for name in names]
        service.update_connection(connection_id, ConnectionChanges(models=models))
    except ValidationError:
        return _connection(
            connection_id, errors={"models": "Numbers only for windows, prices, temperature and length."}
        ), 422
    except Invalid as error:
        return _connection(connection_id, errors={"models": error.detail}), 422
    db.session.commit()
    flash(_("Saved."), "message")
    return redirect(url_for(".show", connection_id=connection_id) + "#offers", 303)


@blueprint.post("/admin/models/<int:connection_id>/embeddings")
@admin_only
def embed(connection_id: int) -> ViewResult:
    """Let a model of this connection make the vectors of the whole site, or none of them."""
    return _let(connection_id, "embedding_model", "embeddings")


@blueprint.post("/admin/models/<int:connection_id>/background")
@admin_only
def work(connection_id: int) -> ViewResult:
    """Let a model of this connection do the background work of the whole site, or none of them."""
    return _let(connection_id, "background_model", "background")


def _let(connection_id: int, role: str, place: str) -> ViewResult:
    wanted = request.form.get(role, "").strip()
    try:
        change_connection(connection_id, ConnectionChanges.model_validate({role: wanted}))
    except (ValidationError, Invalid) as error:
        db.session.rollback()
        invalid = error if isinstance(error, Invalid) else Invalid("", errors=field_errors(error))
        return _connection(connection_id, errors=_said(invalid), typed={role: wanted}), 422
    db.session.commit()
    flash(_("Saved."), "message")
    return redirect(url_for(".show", connection_id=connection_id) + f"#{place}", 303)


@blueprint.post("/admin/models/<int:connection_id>/test")
@admin_only
def test(connection_id: int) -> ViewResult:
    """Test a connection."""
    run_test(connection_id)
    return redirect(url_for(".show", connection_id=connection_id) + "#test", 303)


@blueprint.post("/admin/models/<int:connection_id>/delete")
@admin_only
def delete(connection_id: int) -> ViewResult:
    """Delete a connection."""
    service.delete_connection(connection_id)
    db.session.commit()
    flash(_("Connection deleted."), "message")
    return redirect(url_for(".index"), 303)


def _offer(name: str, kept: dict[str, Any]) -> OfferFields:
    """A model from the form, keeping parameters that only the API can set."""
    form = request.form

    def value(field: str) -> str | None:
        return form.get(f"{field}:{name}", "").strip() or None

    fields = {"max_tokens": "max_tokens", "effort": "reasoning_effort", "system": "system"}
    given = {parameter: value(field) for field, parameter in fields.items() if f"{field}:{name}" in form}
    given["temperature"] = value("temperature")
    return OfferFields.model_validate(
        {
            "model": name,
            "label": value("label"),
            "icon": value("icon"),
            "audience": value("audience") or "everyone",
            "group_ids": form.getlist(f"group:{name}"),
            "context_window": value("window"),
            "parameters": Parameters.model_validate(kept | given),
            "input_price": value("input"),
            "output_price": value("output"),
            "is_default": form.get("default") == name,
            "fallback_rank": value("fallback"),
        }
    )


def _headers() -> dict[str, str]:
    lines = [line.partition(":") for line in request.form.get("headers", "").splitlines() if ":" in line]
    return {name.strip(): content.strip() for name, _, content in lines}


def _said(error: Invalid) -> dict[str, str]:
    return sentences(error, LABELS, otherwise="name")


def _page(*, errors: dict[str, str] | None = None, values: dict[str, str] | None = None) -> str:
    rows = service.list_connections(PageQuery(limit=100)).items
    return render_template(
        "models/index.html",
        connections=[(row, len(service.offers_of(row.connection_id))) for row in rows],
        home=app_settings() if home_wins(app_settings()) else None,
        local=app_settings().local_servers,
        errors=errors or {},
        values=values or {},
    )


def _connection(
    connection_id: int, *, errors: dict[str, str] | None = None, typed: dict[str, str] | None = None
) -> str:
    row = service.get_connection(connection_id)
    offers = service.offers_of(connection_id)
    chosen = {offer.model for offer in offers}
    all_names = (row.test_result or {}).get("names", [])
    names = [name for name in all_names if name not in chosen]
    error = first_sentence((errors or {}).values())
    return render_template(
        "models/connection.html",
        efforts=get_args(Effort),
        row=row,
        offers=offers,
        names=names,
        all_names=all_names,
        windows=(row.test_result or {}).get("windows") or {},
        roles={"embedding_model": row.embedding_model or "", "background_model": row.background_model or ""}
        | (typed or {}),
        fixed={"embeddings": environment_embeds(app_settings()), "background": environment_works(app_settings())},
        error=error,
        silence=round(app_settings().first_token_seconds),
        groups=[group for group, _ in list_groups()],
        chosen_groups=service.groups_of_offers(connection_id),
    )
