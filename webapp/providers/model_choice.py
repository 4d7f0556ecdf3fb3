"""Models that the caller may choose, chose last and likes most, and what answers when nobody chooses."""

from dataclasses import dataclass
from typing import Literal

from webapp.accounts.identity import current_identity, current_user_id, is_admin
from webapp.accounts.schemas import UserSettings
from webapp.accounts.service import change_settings
from webapp.errors import Invalid
from webapp.extensions import app_settings
from webapp.llm.settings import ModelSettings, Target
from webapp.parameters import Parameters
from webapp.providers.catalogue import ENVIRONMENT_MODEL, models_for_user
from webapp.providers.repository import OfferedModel


@dataclass(frozen=True, slots=True)
class ModelMenu:
    """The models that a person may choose, favourites first, and the one that is preselected."""

    favourites: list[OfferedModel]
    others: list[OfferedModel]
    begins_with: str


def choices() -> list[OfferedModel]:
    """Return the models that the caller may choose."""
    return models_for_user(current_user_id(), is_admin=is_admin())


def model_menu() -> ModelMenu:
    """Return the caller's menu; the preselected model is the last one chosen or, if it is gone, the default."""
    models, settings = choices(), _settings()
    likes = {name: place for place, name in enumerate(settings.favourite_models)}
    liked = sorted((o for o in models if o.target.id in likes), key=lambda offer: likes[offer.target.id])
    ids = {offer.target.id for offer in models}
    default = next((offer.target.id for offer in models if offer.is_default), "")
    begins_with = settings.last_model if settings.last_model in ids else default
    return ModelMenu(liked, [offer for offer in models if offer.target.id not in likes], begins_with)


def target_of(model_id: str | None) -> Target | None:
    """Return the model of this id if the caller may choose it; else the default, None if there is none."""
    offers = choices()
    default = next((offer.target for offer in offers if offer.is_default), None)
    return next((offer.target for offer in offers if offer.target.id == model_id), default)


def check_choice(model_id: str | None) -> None:
    """Raise Invalid for anything but the id of a model that the caller may choose."""
    if model_id and not any(offer.target.id == model_id for offer in choices()):
        raise Invalid.field("model", "is not one of the models you can choose")


def remember_choice(model_id: str | None) -> None:
    """Start the caller's next conversation with this model. Costs nothing if it would anyway."""
    if model_id and model_id != _settings().last_model:
        change_settings(current_user_id(), last_model=model_id[:220])


def remembered_parameters() -> Parameters:
    """Return what the caller last chose for a model, which their next conversation starts with."""
    return _settings().last_parameters


def remember_parameters(parameters: Parameters) -> None:
    """Start the caller's next conversation with these."""
    if parameters != _settings().last_parameters:
        change_settings(current_user_id(), last_parameters=parameters)


def set_favourite(model_id: str, *, likes: bool) -> None:
    """Add a model to the caller's favourites, or remove it. Raises Invalid for one they cannot choose."""
    favourites = _settings().favourite_models
    if likes:
        check_choice(model_id)
    names = [name for name in favourites if name != model_id]
    change_settings(current_user_id(), favourite_models=[*names, model_id][-50:] if likes else names)


def _settings() -> UserSettings:
    identity = current_identity()
    return UserSettings.of(identity.settings if identity else None)


@dataclass(frozen=True, slots=True)
class Status:
    """The model that answers when nobody chooses another: the built-in one, the environment's, or a connection's."""

    source: Literal["built-in", "environment", "connection"]
    label: str
    model: str
    server: ModelSettings

    @property
    def is_connected(self) -> bool:
        """Return whether a real model answers."""
        return self.source != "built-in"


def status_for(user_id: int, *, is_admin: bool) -> Status:
    offer = next(model for model in models_for_user(user_id, is_admin=is_admin) if model.is_default)
    target = offer.target
    if target.id != ENVIRONMENT_MODEL:
        return Status("connection", offer.label, target.model, target.settings)
    source: Literal["built-in", "environment"] = "built-in" if app_settings().offline_model else "environment"
    return Status(source, offer.label, target.model, target.settings)


def status() -> Status:
    """Return the status for the caller; for a command, that for an admin."""
    identity = current_identity()
    return status_for(identity.user_id if identity else 0, is_admin=identity is None or identity.is_admin)
