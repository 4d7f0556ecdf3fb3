"""Connects a server, at a URL or on this machine; nothing is stored before the model that is to answer works."""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import select

from webapp.db.base import db
from webapp.errors import Invalid, NotFound
from webapp.i18n.marks import N_
from webapp.llm.errors import classify_exception
from webapp.llm.settings import ModelSettings
from webapp.network.http_client import request
from webapp.network.outbound import RequestFailed, RequestRefused
from webapp.providers import connection_check, service
from webapp.providers.connection_check import model_list_error_text, root_of
from webapp.providers.key_encryption import Secrets
from webapp.providers.models import ModelConnection
from webapp.providers.repository import settings_at
from webapp.providers.schemas import ConnectionChanges, LocalServer, NewConnection, OfferFields
from webapp.providers.server_models import Choice, ListedModel, choices_of, prefers_at

NO_MODELS = N_("The server answers, but it lists no model that can chat.")
_ABOUT_THE_KEY = ("unauthorized", "missing_key")


def settings_of(fields: NewConnection) -> ModelSettings:
    """Return how to reach the server of a connection that is to be made, with the headers its provider wants."""
    return settings_at(fields.base_url, Secrets(fields.api_key, fields.headers))


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


def connect(
    fields: NewConnection, rows: Sequence[ListedModel], first: str, names: Iterable[str], *, is_default: bool = True
) -> ModelConnection:
    """Store a connection that offers some models of a list, once a reply of the first has arrived in pieces, which is
    everybody's default then unless another stays that; no transaction may be open. Raises Invalid."""
    settings = settings_of(fields)
    connection_check.warm_up(settings, first)
    result = connection_check.try_streaming(settings, first)
    if not result["streaming"]["ok"]:
        problem = result["streaming"]["detail"]
        raise Invalid.field(
            "models", "The model “%(model)s” does not answer: %(trouble)s", model=first, trouble=problem
        )
    result |= {"model": first, "models": {"ok": True, "detail": "", "count": len(rows)}}
    result |= {**connection_check.list_summary(rows), "chat": {"ok": True, "detail": ""}}
    offers = [OfferFields(model=name, is_default=is_default and name == first) for name in names]
    return service.create_connection(fields.model_copy(update={"models": offers}), result)


def connect_listed(fields: NewConnection) -> ModelConnection:
    """Store a connection with the models its server lists; one that only makes vectors or works in the background
    offers nothing. No transaction may be open. Raises Invalid."""
    rows = list_models(fields)
    models = choices(fields, rows)
    if models:
        return connect(fields, rows, models[0].name, [choice.name for choice in models if choice.is_offered])
    if fields.embedding_model or fields.background_model:
        return service.create_connection(fields)
    raise Invalid.field("base_url", NO_MODELS)


SECONDS = 1.5
MAX_BYTES = 1_000_000


def discover(places: Mapping[str, str]) -> list[LocalServer]:
    """Return the servers, of some URLs by name, that answer within SECONDS; call it outside of a transaction."""
    if not places:
        return []
    with ThreadPoolExecutor(len(places), thread_name_prefix="local-servers") as pool:
        return [server for server in pool.map(lambda place: _probe(*place), places.items()) if server is not None]


def connected_urls() -> set[str]:
    return set(db.session.scalars(select(ModelConnection.base_url)))


def connect_local(places: Mapping[str, str], name: str, model: str) -> ModelConnection:
    """Connect a local server with its chat models, or change its default to this one. Raises NotFound, Invalid."""
    if name not in places:
        raise NotFound("There is no such server.")
    fields = NewConnection(name=name, base_url=places[name])
    known_id = db.session.scalar(
        select(ModelConnection.connection_id).where(ModelConnection.base_url == fields.base_url).limit(1)
    )
    db.session.rollback()  # nothing is held while the server answers
    try:
        rows = list_models(fields)
    except Invalid:
        raise NotFound("The server is no longer answering.") from None
    models = choices(fields, rows)
    if all(choice.name != model for choice in models):
        raise Invalid.field("model", "is not one of this server's models")
    if known_id is not None:
        return _choose(service.get_connection(known_id), model)
    return connect(fields, rows, model, [choice.name for choice in models if choice.is_offered or choice.name == model])


def _choose(row: ModelConnection, model: str) -> ModelConnection:
    """Make a model the default of a server that is connected already."""
    offers = service.fields_of_offers(row.connection_id)
    if all(offer.model != model for offer in offers):
        offers.append(OfferFields(model=model))
    choices = [offer.model_copy(update={"is_default": offer.model == model}) for offer in offers]
    return service.update_connection(row.connection_id, ConnectionChanges(models=choices, is_enabled=True))


def _probe(name: str, url: str) -> LocalServer | None:
    """Return a server and its chat models; None if nothing answers like one."""
    response = fetch(f"{url}/models")
    try:
        rows = [ListedModel(str(row["id"])) for row in response["data"] or ()]
    except (KeyError, TypeError):
        return None
    rows = [row for row in rows if 0 < len(row.name) <= 200]
    version = fetch(f"{root_of(url)}/api/version")
    is_ollama = isinstance(version, dict) and "version" in version
    models = [choice.name for choice in choices_of(rows)]
    return LocalServer(name=name, base_url=url, models=models, can_pull=is_ollama)


def fetch(url: str) -> Any:
    """Return the JSON at a URL on this machine; None if there is none within SECONDS."""
    try:
        return json.loads(request("GET", url, seconds=SECONDS, max_bytes=MAX_BYTES, allowed=None).body)
    except (RequestRefused, RequestFailed, ValueError, RecursionError):
        return None
