"""Model servers that answer on their usual ports on this machine, offered to an admin if no model is connected."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from webapp.errors import Invalid, NotFound
from webapp.models import service
from webapp.models.models import ModelConnection
from webapp.models.schemas import NewConnection, OfferFields

SECONDS = 0.8
MOST_BYTES = 1_000_000
MOST_OFFERED = 20
_NO_CHAT = ("embed", "rerank", "whisper", "tts", "bge-", "clip")
"""Parts of the names of models that cannot chat."""


@dataclass(frozen=True, slots=True)
class Nearby:
    """A server that answers, and its chat models, as it names them."""

    name: str
    base_url: str
    models: list[str]


def look_around(places: Mapping[str, str]) -> list[Nearby]:
    """Those of these addresses, by name, whose servers answer within SECONDS; no transaction may be open."""
    if not places:
        return []
    with ThreadPoolExecutor(len(places), thread_name_prefix="nearby") as pool:
        answers = list(pool.map(_models_at, places.values()))
    found = zip(places.items(), answers, strict=True)
    return [Nearby(name, address, models) for (name, address), models in found if models is not None]


def connect(places: Mapping[str, str], name: str, model: str) -> ModelConnection:
    """Connect a nearby server with its chat models, this one as the default.

    Raises NotFound if it is not at one of these places or does not answer, Invalid for a model it does not have.
    """
    if name not in places:
        raise NotFound("There is no such server.")
    models = _models_at(places[name])
    if models is None:
        raise NotFound("The server is no longer answering.")
    if model not in models:
        raise Invalid.field("model", "is not one of this server's models")
    others = [other for other in models if other != model][: MOST_OFFERED - 1]
    offers = [OfferFields(model=model, is_default=True), *(OfferFields(model=other) for other in others)]
    return service.create_connection(NewConnection(name=name, base_url=places[name], models=offers))


def _models_at(address: str) -> list[str] | None:
    """The chat models of a server; None if nothing answers like one."""
    # No proxy from the environment: this is about this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/models", timeout=SECONDS) as answer:
            found: Any = json.loads(answer.read(MOST_BYTES))
        names = [str(row["id"]) for row in found["data"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, HTTPException):
        return None
    return [name for name in names if name and len(name) <= 200 and not any(part in name.lower() for part in _NO_CHAT)]
