"""What the person who sends a request may choose."""

from __future__ import annotations

from webapp.accounts.auth import current_identity
from webapp.errors import Invalid
from webapp.models.catalogue import Offered, is_offered_id, offered_to


def choices() -> list[Offered]:
    """The models that the caller may choose."""
    identity = current_identity()
    return offered_to(is_admin=bool(identity and identity.is_admin))


def check_choice(wish: str | None) -> None:
    """Raise Invalid for the id of a model that is not there, or not for the caller; other names are the server's."""
    if wish and is_offered_id(wish) and not any(offered.target.id == wish for offered in choices()):
        raise Invalid.field("model", "is not one of the models you can choose")
