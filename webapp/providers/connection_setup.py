"""Connects a server: looks at its models, tests the one that is to answer, and stores nothing before that works."""

from collections.abc import Sequence
from typing import Any

from webapp.errors import Invalid
from webapp.extensions import app_settings
from webapp.i18n.marks import N_
from webapp.llm.errors import classify_exception
from webapp.llm.settings import ModelSettings
from webapp.providers import connection_check
from webapp.providers.connection_check import model_list_error_text
from webapp.providers.key_encryption import Secrets
from webapp.providers.providers import prefers_at
from webapp.providers.repository import settings_at
from webapp.providers.schemas import NewConnection, OfferFields
from webapp.providers.server_models import Choice, ListedModel, choices_of

NO_MODELS = N_("The server answers, but it lists no model that can chat.")
_ABOUT_THE_KEY = ("unauthorized", "missing_key")


def settings_of(fields: NewConnection) -> ModelSettings:
    """Return how to reach the server of a connection that is to be made, with the headers its provider wants."""
    return settings_at(fields.base_url, Secrets(fields.api_key, fields.headers), app_settings().model)


def list_models(fields: NewConnection) -> list[ListedModel]:
    """Return what the server lists; no transaction may be open. Raises Invalid for the key or the URL."""
    try:
        return connection_check.list_models(settings_of(fields))
    except Exception as error:  # a third-party server may answer anything
        name = "api_key" if classify_exception(error).code in _ABOUT_THE_KEY else "base_url"
        raise Invalid.field(name, model_list_error_text(error)) from None


def choices(fields: NewConnection, rows: Sequence[ListedModel]) -> list[Choice]:
    """Return the chat models of this list, the most capable first."""
    return choices_of(rows, prefers_at(fields.base_url))


def examine(fields: NewConnection, model: str, rows: Sequence[ListedModel]) -> dict[str, Any]:
    """Return what a test of the model that is to answer found. Raises Invalid unless its reply arrives in pieces."""
    settings = settings_of(fields)
    connection_check.warm_up(settings, model)
    result = connection_check.try_streaming(settings, model)
    if not result["streaming"]["ok"]:
        problem = result["streaming"]["detail"]
        raise Invalid.field(
            "models", "The model “%(model)s” does not answer: %(trouble)s", model=model, trouble=problem
        )
    listing = {"ok": True, "detail": "", "count": len(rows)}
    return {
        "model": model,
        "models": listing,
        **connection_check.list_summary(rows),
        "chat": {"ok": True, "detail": ""},
        **result,
    }


def complete(fields: NewConnection) -> tuple[NewConnection, dict[str, Any] | None]:
    """Return the connection with the models its server lists, and what the test of the default found; no transaction
    may be open. One that only makes vectors or works in the background offers nothing.

    Raises Invalid for what does not work.
    """
    rows = list_models(fields)
    models = choices(fields, rows)
    if not models:
        if fields.embedding_model or fields.background_model:
            return fields, None
        raise Invalid.field("base_url", NO_MODELS)
    offers = [OfferFields(model=c.name, is_default=c.is_default) for c in models if c.is_offered]
    return fields.model_copy(update={"models": offers}), examine(fields, models[0].name, rows)
