"""JSON endpoints of one's own passkeys: seen, renamed and removed; adding one takes the browser that makes it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from webapp.accounts import passkeys
from webapp.accounts.auth import current_user_id, recently_proved, signed_in
from webapp.accounts.models import Passkey
from webapp.database import db
from webapp.validation import Id, Instant, Line
from webapp.web import ViewResult, api_blueprint

blueprint = api_blueprint("passkeys_api", __name__, tag="Accounts")


class PasskeyPath(BaseModel):
    passkey_id: Id


class PasskeyName(BaseModel):
    """What a passkey is called."""

    model_config = ConfigDict(extra="forbid")
    name: Line = Field(min_length=1, max_length=100)


class PasskeyOut(BaseModel):
    """A passkey as its owner sees it."""

    passkey_id: int
    name: str
    created_at: Instant
    last_used_at: Instant | None

    @classmethod
    def of(cls, passkey: Passkey) -> PasskeyOut:
        """From the row."""
        return cls(**{name: getattr(passkey, name) for name in cls.model_fields})


class PasskeyList(BaseModel):
    """All of somebody's passkeys."""

    passkeys: list[PasskeyOut]


@blueprint.get("/account/passkeys", responses={200: PasskeyList})
@signed_in
def list_passkeys() -> ViewResult:
    """The passkeys that sign you in, oldest first. They are added in Settings, by the browser that makes them."""
    rows = passkeys.list_passkeys(current_user_id())
    return PasskeyList(passkeys=[PasskeyOut.of(row) for row in rows]).model_dump(mode="json")


@blueprint.patch("/account/passkeys/<int:passkey_id>", responses={200: PasskeyOut})
@signed_in(session_only=True)
def rename_passkey(path: PasskeyPath, body: PasskeyName) -> ViewResult:
    """Call a passkey something else; only in a signed-in session."""
    answer = PasskeyOut.of(passkeys.rename(current_user_id(), path.passkey_id, body.name)).model_dump(mode="json")
    db.session.commit()
    return answer


@blueprint.delete("/account/passkeys/<int:passkey_id>", responses={204: None})
@signed_in(session_only=True)
@recently_proved
def remove_passkey(path: PasskeyPath) -> ViewResult:
    """Remove a passkey: it signs nobody in any more. Only in a session whose password was given lately."""
    passkeys.remove(current_user_id(), path.passkey_id)
    db.session.commit()
    return "", 204
