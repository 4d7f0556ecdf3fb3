"""Reads connections and the models they offer from the database."""

from dataclasses import dataclass, field, replace

from sqlalchemy import func, select, true

from webapp.db.base import db
from webapp.extensions import app_settings
from webapp.llm.settings import ModelSettings, Target
from webapp.providers.key_encryption import Secrets, unseal
from webapp.providers.models import ModelConnection, ModelOffer, ModelOfferGroup
from webapp.providers.schemas import offer_id
from webapp.providers.server_models import answer_seconds, budget, provider_at, stored_speed, stored_window


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that can be chosen; the one that the environment names has no `connection_id`, and no name of one."""

    target: Target
    label: str
    connection_id: int | None
    connection: str = ""
    for_admins: bool = False
    is_default: bool = False
    fallback_rank: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    icon: str | None = None
    groups: frozenset[int] = frozenset()
    """The groups whose members, besides admins, may choose it if it is for admins."""


@dataclass(frozen=True, slots=True)
class LoadedConnections:
    """The enabled connections: their offers and servers, and what was chosen for vectors and for background work."""

    offered: list[OfferedModel] = field(default_factory=list)
    servers: list[ModelSettings] = field(default_factory=list)
    embeddings: ModelSettings | None = None
    background: Target | None = None


def load() -> LoadedConnections:
    """Return what the enabled connections offer now; what a server does not set comes from the environment."""
    groups = select(func.group_concat(ModelOfferGroup.group_id)).where(ModelOfferGroup.offer_id == ModelOffer.offer_id)
    rows = db.session.execute(
        select(ModelConnection, ModelOffer, groups.scalar_subquery())
        .outerjoin(ModelOffer, ModelOffer.connection_id == ModelConnection.connection_id)
        .where(ModelConnection.is_enabled == true())
        .order_by(ModelConnection.connection_id, ModelOffer.offer_id)
    ).all()
    servers: dict[int, ModelSettings] = {}
    models: list[OfferedModel] = []
    embeddings = background = None
    for connection, offer, group_ids in rows:
        server = servers.get(connection.connection_id)
        if server is None:
            server = servers[connection.connection_id] = server_settings(connection)
            if connection.embedding_model:
                embeddings = server.with_embeddings(connection.embedding_model)
            if name := connection.background_model:
                background = Target(offer_id(connection.connection_id, name), name, server)
        if offer is not None:
            models.append(
                _as_offered_model(
                    connection, offer, server, frozenset(map(int, str(group_ids).split(",") if group_ids else ()))
                )
            )
    return LoadedConnections(models, list(servers.values()), embeddings, background)


def _as_offered_model(
    connection: ModelConnection, offer: ModelOffer, server: ModelSettings, groups: frozenset[int]
) -> OfferedModel:
    speed = stored_speed(connection.test_result, "prompt")
    target = Target(
        offer_id(connection.connection_id, offer.model),
        offer.model,
        server,
        {name: value for name, value in offer.parameters.items() if value is not None and name != "system"},
        offer.context_window or budget(stored_window(connection.test_result, offer.model), speed),
        connection.builtin_tools,
        _accepts_images(connection, offer.model),
        str(offer.parameters.get("system") or ""),
        None if server.first_token_is_set else speed,
    )
    return OfferedModel(
        target,
        offer.label,
        connection.connection_id,
        connection.name,
        offer.audience == "admins",
        offer.is_default,
        offer.fallback_rank,
        offer.input_price,
        offer.output_price,
        offer.icon,
        groups,
    )


def _accepts_images(connection: ModelConnection, model: str) -> bool | None:
    """Return whether a model accepts images; None if the test of its connection used another one, or could not tell."""
    result = connection.test_result or {}
    images = result.get("images") if result.get("model") == model else None
    return bool(images.get("ok")) if isinstance(images, dict) else None


def server_settings(connection: ModelConnection) -> ModelSettings:
    """Return how to reach the server of a connection, with time for a whole answer at the speed that its test found."""
    settings = settings_at(connection.base_url, unseal(connection.secrets))
    return replace(settings, request_timeout=max(settings.request_timeout, answer_seconds(connection.test_result)))


def settings_at(base_url: str, secrets: Secrets) -> ModelSettings:
    """Return how to reach the server at a URL with its key, and the headers its provider wants."""
    provider = provider_at(base_url)
    headers = {**(provider.headers_with(secrets.api_key) if provider else {}), **secrets.headers}
    return replace(
        app_settings().model,
        base_url=base_url,
        api_key=secrets.api_key,
        headers=tuple(sorted(headers.items())),
        embedding_base_url="",
        embedding_api_key="",
        first_token_timeout=app_settings().first_token_seconds(base_url),
    )
