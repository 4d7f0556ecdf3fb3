"""Model servers that answer on their usual ports on this machine, to be used with one click."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from webapp.db.base import db
from webapp.errors import Invalid, NotFound
from webapp.network.http_client import request
from webapp.network.outbound import RequestFailed, RequestRefused
from webapp.providers import connection_setup, service
from webapp.providers.models import ModelConnection
from webapp.providers.schemas import ConnectionChanges, NewConnection, OfferFields
from webapp.providers.server_models import ListedModel, choices_of

SECONDS = 1.5
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Nearby:
    """A server that answers, its chat models, the most capable first, and whether it can fetch more (Ollama)."""

    name: str
    base_url: str
    models: list[str]
    can_pull: bool = False


def discover(places: Mapping[str, str]) -> list[Nearby]:
    """Return the servers, of some URLs by name, that answer within SECONDS; call it outside of a transaction."""
    if not places:
        return []
    with ThreadPoolExecutor(len(places), thread_name_prefix="nearby") as pool:
        return [server for server in pool.map(lambda place: _probe(*place), places.items()) if server is not None]


def connected_urls() -> set[str]:
    return set(db.session.scalars(select(ModelConnection.base_url)))


def connect(places: Mapping[str, str], name: str, model: str) -> ModelConnection:
    """Connect a nearby server with its chat models, or change its default to this one. Raises NotFound, Invalid."""
    if name not in places:
        raise NotFound("There is no such server.")
    fields = NewConnection(name=name, base_url=places[name])
    known_id = db.session.scalar(
        select(ModelConnection.connection_id).where(ModelConnection.base_url == fields.base_url).limit(1)
    )
    db.session.rollback()  # nothing is held while the server answers
    try:
        rows = connection_setup.list_models(fields)
    except Invalid:
        raise NotFound("The server is no longer answering.") from None
    models = connection_setup.choices(fields, rows)
    if all(choice.name != model for choice in models):
        raise Invalid.field("model", "is not one of this server's models")
    if known_id is not None:
        return _choose(service.get_connection(known_id), model)
    result = connection_setup.examine(fields, model, rows)
    names = [choice.name for choice in models if choice.is_offered or choice.name == model]
    offers = [OfferFields(model=other, is_default=other == model) for other in names]
    return service.create_connection(fields.model_copy(update={"models": offers}), result)


def _choose(row: ModelConnection, model: str) -> ModelConnection:
    """Make a model the default of a server that is connected already."""
    offers = service.fields_of_offers(row.connection_id)
    if all(offer.model != model for offer in offers):
        offers.append(OfferFields(model=model))
    choices = [offer.model_copy(update={"is_default": offer.model == model}) for offer in offers]
    return service.update_connection(row.connection_id, ConnectionChanges(models=choices, is_enabled=True))


def _probe(name: str, address: str) -> Nearby | None:
    """Return a server and its chat models; None if nothing answers like one."""
    response = fetch(f"{address}/models")
    try:
        rows = [ListedModel(str(row["id"])) for row in response["data"] or ()]
    except (KeyError, TypeError):
        return None
    rows = [row for row in rows if 0 < len(row.name) <= 200]
    return Nearby(name, address, [choice.name for choice in choices_of(rows)], can_pull=_is_ollama(address))


def _is_ollama(address: str) -> bool:
    response = fetch(f"{root_of(address)}/api/version")
    return isinstance(response, dict) and "version" in response


def root_of(address: str) -> str:
    """Return the URL of a server's own API, beside the one that all servers speak."""
    return address.removesuffix("/v1")


def fetch(url: str) -> Any:
    """Return the JSON at a URL on this machine; None if there is none within SECONDS."""
    try:
        return json.loads(request("GET", url, seconds=SECONDS, most=MAX_BYTES, allowed=None).body)
    except (RequestRefused, RequestFailed, ValueError, RecursionError):
        return None
