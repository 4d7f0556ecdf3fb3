"""The status of whoever answers, for the banner, the start page, the administration and the doctor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webapp.accounts.auth import current_identity
from webapp.extensions import app_settings
from webapp.llm.settings import ModelSettings
from webapp.providers.catalogue import HOME_ID, models_for_user
from webapp.providers.models import ModelConnection, ModelOffer


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
    if target.id != HOME_ID:
        return Status("connection", offer.label, target.model, target.settings)
    source: Literal["built-in", "environment"] = "built-in" if app_settings().offline_model else "environment"
    return Status(source, offer.label, target.model, target.settings)


def status() -> Status:
    """Return the status for the caller; for a command, that for an admin."""
    identity = current_identity()
    return status_for(identity.user_id if identity else 0, is_admin=identity is None or identity.is_admin)


State = Literal["off", "empty", "untested", "works", "fails"]


def state_of(row: ModelConnection, offers: Sequence[ModelOffer]) -> State:
    """Return how a connection is: it works only if it offers something and a reply arrived in pieces when tested."""
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
