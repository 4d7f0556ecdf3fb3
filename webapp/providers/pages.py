"""The admin's pages of connections and models."""

from collections.abc import Sequence
from typing import Any, get_args

from flask import flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts.auth import login_required
from webapp.accounts.groups import list_groups
from webapp.errors import Invalid
from webapp.extensions import app_settings
from webapp.http.forms import first_sentence, redisplay_form, require_version, secret, sentences, validate
from webapp.http.validation import PageQuery
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.parameters import Effort
from webapp.providers import grades, service
from webapp.providers.api import change_connection, list_models, run_test
from webapp.providers.catalogue import (
    environment_sets_background_model,
    environment_sets_embeddings,
    environment_sets_models,
)
from webapp.providers.model_choice import model_menu, set_favourite
from webapp.providers.models import ModelConnection, ModelOffer
from webapp.providers.schemas import ConnectionChanges, OfferFields, Parameters, header_lines
from webapp.providers.server_models import budget, stored_speed, stored_window

blueprint = PageBlueprint("models_pages", __name__, access="admin")

LABELS = N_(
    {
        "name": "The name",
        "base_url": "The address",
        "api_key": "The key",
        "headers": "The headers",
        "embedding_model": "This model",
        "background_model": "This model",
        "models": "The list",
    }
)


@blueprint.get("/models")
@login_required
def my_models() -> ViewResult:
    """The models the user can choose: what they can do, what they cost, and which come first."""
    return render_template("providers/mine.html", models=list_models().models, choice=model_menu())


@blueprint.post("/models/favourites")
@login_required
def toggle_favourite() -> ViewResult:
    """Make a model a favourite, or stop doing so."""
    try:
        set_favourite(request.form.get("model", "")[:220], likes=request.form.get("likes") == "1")
    except Invalid as error:
        flash(first_sentence(sentences(error, LABELS, otherwise="name").values()), "error")
    return commit_and_redirect(url_for(".my_models"))


@blueprint.get("/admin/models")
def index() -> ViewResult:
    return _page()


@blueprint.post("/admin/models/exam")
def examine() -> ViewResult:
    model_id = request.form.get("model", "")[:220]
    grades.request_exam(model_id)
    flash(_("The exam has begun. Its result will be here in a few minutes."), "message")
    connection_id, _slash, name = model_id.partition("/")
    return redirect(url_for(".show", connection_id=connection_id) if name else url_for(".index"), 303)


@blueprint.get("/admin/models/<int:connection_id>")
def show(connection_id: int) -> ViewResult:
    """One connection: what works, and which of its models are offered."""
    return _connection(connection_id)


_on_connection = redisplay_form(
    lambda errors, connection_id: _connection(connection_id, errors=errors), LABELS, otherwise="name"
)


@blueprint.post("/admin/models/<int:connection_id>")
@_on_connection
def change(connection_id: int) -> ViewResult:
    require_version(_values(service.get_connection(connection_id)))
    fields: dict[str, Any] = {
        "name": request.form.get("name", "").strip(),
        "base_url": request.form.get("base_url", "").strip(),
        "is_enabled": request.form.get("is_enabled") == "1",
        "builtin_tools": request.form.get("builtin_tools") == "1",
        **secret("api_key", "remove_key"),
    }
    if request.form.get("headers", "").strip() or "remove_headers" in request.form:
        fields["headers"] = {} if "remove_headers" in request.form else header_lines(request.form["headers"])
    service.update_connection(connection_id, validate(ConnectionChanges, fields))
    return commit_and_redirect(url_for(".show", connection_id=connection_id), _("Saved."))


@blueprint.post("/admin/models/<int:connection_id>/offers")
@_on_connection
def offer(connection_id: int) -> ViewResult:
    """Set which models of a connection people can choose."""
    require_version(_offers(connection_id))
    by_model = {row.model: row.parameters for row in service.offers_of(connection_id)}
    names = [name.strip() for name in request.form.getlist("model") if name.strip()]
    try:
        models = [_offer(name, by_model.get(name, {})) for name in names]
        changes = ConnectionChanges(models=models)
    except ValidationError:
        raise Invalid("Numbers only for windows, prices, temperature and length.") from None
    service.update_connection(connection_id, changes)
    return commit_and_redirect(url_for(".show", connection_id=connection_id) + "#offers", _("Saved."))


@blueprint.post("/admin/models/<int:connection_id>/embeddings")
@_on_connection
def set_embedding_model(connection_id: int) -> ViewResult:
    """Let a model of this connection make the vectors of the whole site, or none of them."""
    return _set_role(connection_id, "embedding_model", "embeddings")


@blueprint.post("/admin/models/<int:connection_id>/background")
@_on_connection
def set_background_model(connection_id: int) -> ViewResult:
    """Let a model of this connection do the background work of the whole site, or none of them."""
    return _set_role(connection_id, "background_model", "background")


def _set_role(connection_id: int, role: str, place: str) -> ViewResult:
    change_connection(connection_id, validate(ConnectionChanges, {role: request.form.get(role, "").strip()}))
    return commit_and_redirect(url_for(".show", connection_id=connection_id) + f"#{place}", _("Saved."))


@blueprint.post("/admin/models/<int:connection_id>/test")
def test(connection_id: int) -> ViewResult:
    run_test(connection_id)
    return redirect(url_for(".show", connection_id=connection_id) + "#test", 303)


@blueprint.post("/admin/models/<int:connection_id>/delete")
def delete(connection_id: int) -> ViewResult:
    """Delete a connection, which can be undone for a minute."""
    service.delete_connection(connection_id)
    return commit_and_redirect(url_for(".index", deleted=connection_id))


@blueprint.post("/admin/models/<int:connection_id>/restore")
def restore(connection_id: int) -> ViewResult:
    """Undo the deletion of a connection."""
    row = service.undo_deletion(connection_id)
    return commit_and_redirect(url_for(".index"), _("“%(name)s” is back.", name=row.name))


def _offer(name: str, by_model: dict[str, Any]) -> OfferFields:
    """Return a model from the form, keeping parameters that only the API can set."""
    form = request.form

    def value(field: str) -> str | None:
        return form.get(f"{field}:{name}", "").strip() or None

    fields = {"max_tokens": "max_tokens", "effort": "reasoning_effort", "system": "system"}
    values = {parameter: value(field) for field, parameter in fields.items() if f"{field}:{name}" in form}
    values["temperature"] = value("temperature")
    return OfferFields.model_validate(
        {
            "model": name,
            "label": value("label"),
            "icon": value("icon"),
            "audience": value("audience") or "everyone",
            "group_ids": form.getlist(f"group:{name}"),
            "context_window": value("window"),
            "parameters": Parameters.model_validate(by_model | values),
            "input_price": value("input"),
            "output_price": value("output"),
            "is_default": form.get("default") == name,
            "fallback_rank": value("fallback"),
        }
    )


def state_of(row: ModelConnection, offers: Sequence[ModelOffer]) -> str:
    """Return how a connection is: off, empty, untested, works or fails; without a reply in pieces it fails."""
    result: dict[str, Any] | None = row.test_result
    if not row.is_enabled:
        return "off"
    if not offers and not (row.embedding_model or row.background_model):
        return "empty"
    if not result:
        return "untested"
    if not offers:
        return "works" if (result.get("models") or {}).get("ok") else "fails"
    return "works" if (result.get("streaming") or {}).get("ok") else "fails"


def _page() -> str:
    rows = service.list_connections(PageQuery(limit=100)).items
    deleted = request.args.get("deleted", 0, type=int)
    return render_template(
        "providers/index.html",
        connections=[(row, state_of(row, offers := service.offers_of(row.connection_id)), offers) for row in rows],
        home=app_settings() if environment_sets_models(app_settings()) else None,
        deleted=deleted,
        deleted_name=service.name_of_deleted(deleted),
    )


def _budget(row: ModelConnection, offer: ModelOffer) -> int | None:
    """Return the tokens used with a model that is too slow for its window; None if it reads all of that."""
    window = stored_window(row.test_result, offer.model)
    tokens = budget(window, stored_speed(row.test_result, "prompt"))
    return tokens if tokens != window and not offer.context_window else None


def _values(row: ModelConnection) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("name", "base_url", "is_enabled", "builtin_tools")}


def _offers(connection_id: int) -> dict[str, Any]:
    return {"offers": [fields.model_dump(mode="json") for fields in service.fields_of_offers(connection_id)]}


def _connection(connection_id: int, *, errors: dict[str, str] | None = None) -> str:
    row = service.get_connection(connection_id)
    offers = service.offers_of(connection_id)
    models = {offer.model for offer in offers}
    all_names = (row.test_result or {}).get("names", [])
    return render_template(
        "providers/connection.html",
        efforts=get_args(Effort),
        row=row,
        stored=_values(row),
        stored_offers=_offers(connection_id),
        values=request.form if "base_url" in request.form else _values(row),
        offers=offers,
        names=[name for name in all_names if name not in models],
        all_names=all_names,
        windows={name: stored_window(row.test_result, name) or "" for name in all_names},
        speed={kind: stored_speed(row.test_result, kind) for kind in ("prompt", "generation")},
        budgets={offer.model: _budget(row, offer) for offer in offers},
        roles={
            role: request.form.get(role, stored or "").strip()
            for role, stored in (("embedding_model", row.embedding_model), ("background_model", row.background_model))
        },
        fixed={
            "embeddings": environment_sets_embeddings(app_settings()),
            "background": environment_sets_background_model(app_settings()),
        },
        error=first_sentence((errors or {}).values()),
        silence=round(app_settings().first_token_seconds(row.base_url)),
        groups=[group for group, _ in list_groups()],
        chosen_groups=service.groups_of_offers(connection_id),
    )


blueprint.add_globals(load_model_menu=model_menu, load_grades=grades.examinees)
