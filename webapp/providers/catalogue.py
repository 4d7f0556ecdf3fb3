"""The models that can be chosen now, cached for a few seconds in each process, so that a turn runs no query."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from webapp.accounts.groups import groups_of
from webapp.accounts.preferences import UserSettings
from webapp.config import Settings
from webapp.db.base import db
from webapp.extensions import app_settings
from webapp.llm.settings import ModelSettings, Target
from webapp.providers.repository import LoadedConnections, OfferedModel, load

CACHE_SECONDS = 10.0
ENVIRONMENT_MODEL = "default"
"""The id of the model that the environment names."""


class Catalogue:
    """The models that this process knows, reloaded when older than CACHE_SECONDS."""

    def __init__(self) -> None:
        self.last_read = LoadedConnections()
        """The connections as this process last read them; no query."""
        self._is_fresh_until = 0.0

    def forget(self) -> None:
        """Reload on next use: something was changed here."""
        self._is_fresh_until = 0.0

    def read(self) -> LoadedConnections:
        """Return the enabled connections."""
        if time.monotonic() < self._is_fresh_until:
            return self.last_read
        is_open = db.session().in_transaction()
        try:
            self.last_read = load()
        finally:
            if not is_open:
                db.session.rollback()  # nothing stays open for code that calls a model next, nor after an error
        self._is_fresh_until = time.monotonic() + CACHE_SECONDS
        return self.last_read


catalogue = Catalogue()


def environment_sets_models(settings: Settings) -> bool:
    """Return whether the environment names a model server, which then takes precedence over all connections."""
    return not settings.offline_model and bool(settings.openai_base_url or settings.openai_api_key)


def environment_sets_embeddings(settings: Settings) -> bool:
    """Return whether the environment says what makes the vectors, which then takes precedence over any choice."""
    is_set = bool(settings.embedding_base_url or settings.embedding_model)
    return settings.embedder != "server" or (is_set and not settings.offline_model)


def chosen_embeddings() -> ModelSettings | None:
    """Return the server and model that an admin chose for vectors; None if the environment decides or nobody has."""
    return None if environment_sets_embeddings(app_settings()) else catalogue.read().embeddings


def cached_embeddings() -> ModelSettings | None:
    """Return the embedding server and model as this process last read them; makes no query."""
    return None if environment_sets_embeddings(app_settings()) else catalogue.last_read.embeddings


def has_background_model() -> bool:
    """Return whether a real model does the background work; the screen tour does none."""
    return not app_settings().offline_model or background_choice() is not None


def models_for_user(user_id: int, *, is_admin: bool) -> list[OfferedModel]:
    """Return the models that this user may choose; the one used without a choice is marked as the default."""
    settings = app_settings()
    models = _offers_for(user_id, is_admin=is_admin)
    default = None if environment_sets_models(settings) else _default_of(models)
    home = OfferedModel(
        Target(ENVIRONMENT_MODEL, settings.model.chat_model, settings.model, {}, settings.context_tokens),
        settings.model.chat_model,
        None,
        is_default=default is None,
    )
    others = [replace(offer, is_default=offer is default) for offer in models]
    # The screen tour steps aside as soon as there is a real model.
    return _tell_apart(others if settings.offline_model and others else [home, *others])


def _tell_apart(models: Sequence[OfferedModel]) -> list[OfferedModel]:
    """Add the connection's name where several models have the same label."""
    times = Counter(offer.label for offer in models)
    return [
        replace(offer, label=f"{offer.label} ({offer.connection})")
        if offer.connection and times[offer.label] > 1
        else offer
        for offer in models
    ]


def targets_for(model_id: str | None, user_id: int, *, is_admin: bool) -> list[Target]:
    """Return the chosen model, or the default, and its fallbacks; empty if only the environment's server is left.

    The default stands in for a chosen model that is gone, or not for this person; a model for admins or for a group
    never answers anybody else.
    """
    models = models_for_user(user_id, is_admin=is_admin)
    if [offer.target.id for offer in models] == [ENVIRONMENT_MODEL]:
        return []
    default = next(offer for offer in models if offer.is_default)
    first = next((offer for offer in models if offer.target.id == model_id), default).target
    chain = sorted((o for o in models if o.fallback_rank is not None), key=lambda o: o.fallback_rank or 0)
    return [first, *(o.target for o in chain if o.target.id != first.id)]


def servers_of(model_ids: Collection[str | None]) -> set[str]:
    """Return the URLs of the servers at which models are asked first; None stands for the default."""
    targets = [targets_for(model_id, 0, is_admin=True)[:1] for model_id in model_ids]
    return {target[0].settings.base_url if target else app_settings().model.base_url for target in targets}


def tour_targets(asker: dict[str, Any] | None, *, is_admin: bool) -> list[Target]:
    """Return the screen tour, by the settings of who asks; empty if the environment names a model server."""
    settings = app_settings()
    if not settings.offline_model:
        return []
    context = {"language": UserSettings.of(asker).document_language, **({"is_admin": "yes"} if is_admin else {})}
    return [Target(ENVIRONMENT_MODEL, settings.model.chat_model, settings.model, {"metadata": context})]


def with_parameters(targets: Sequence[Target], parameters: Mapping[str, Any]) -> list[Target]:
    """Return the models with a person's choices in place of the admin's; their instructions come last."""
    home = app_settings().model
    sent = {name: value for name, value in parameters.items() if name != "system"}
    return [
        replace(
            target,
            parameters={**target.parameters, **sent},
            system="\n\n".join(filter(None, (target.system, str(parameters.get("system") or "")))),
        )
        for target in targets or [Target(ENVIRONMENT_MODEL, home.chat_model, home)]
    ]


def environment_sets_background_model(settings: Settings) -> bool:
    """Return whether the environment names the model for background work, which overrides any choice."""
    return environment_sets_models(settings) and bool(settings.background_model)


def cached_price(target_id: str | None) -> tuple[float | None, float | None]:
    """Return the price an admin set for a model, as this process last read it; no query."""
    models = (offer for offer in catalogue.last_read.offered if offer.target.id == target_id)
    return next(((offer.input_price, offer.output_price) for offer in models), (None, None))


def cached_label(model: str) -> str:
    """Return a model's label as this process last read it; its name if it has none, or several."""
    models = [offer for offer in catalogue.last_read.offered if offer.target.model == model]
    labels = {f"{offer.icon} {offer.label}" if offer.icon else offer.label for offer in models}
    return labels.pop() if len(labels) == 1 else model


def background_target() -> Target | None:
    """Return the chosen or default model for background work; None if the environment's server does it."""
    target = background_choice()
    db.session.rollback()  # nothing may be open while the model is called
    return target


def background_choice() -> Target | None:
    """Return the background model like `background_target`, but leave the caller's transaction open."""
    settings = app_settings()
    if environment_sets_background_model(settings):
        return None
    loaded = catalogue.read()
    if loaded.background is not None or environment_sets_models(settings):
        return loaded.background
    default = _default_of(loaded.offered)
    return default.target if default else None


def _default_of(models: Sequence[OfferedModel]) -> OfferedModel | None:
    """Return the model that answers without a choice: the one marked so, else the first."""
    return next((offer for offer in models if offer.is_default), models[0] if models else None)


def _offers_for(user_id: int, *, is_admin: bool) -> list[OfferedModel]:
    models = catalogue.read().offered
    if is_admin or not any(offer.for_admins for offer in models):
        return models
    # Groups are looked up only if some model is for one.
    group_ids = set(db.session.scalars(groups_of(user_id))) if any(offer.groups for offer in models) else set()
    return [offer for offer in models if not offer.for_admins or offer.groups & group_ids]
