"""JSON endpoints of one's own passkeys: list, rename, remove; adding one takes the browser that creates it."""

from webapp.accounts import passkeys
from webapp.accounts.auth import current_user_id, password_required, session_only
from webapp.accounts.schemas import PasskeyList, PasskeyName, PasskeyOut, PasskeyPath
from webapp.db.base import db
from webapp.http.answers import commit
from webapp.http.json_api import api_blueprint

blueprint = api_blueprint("passkeys_api", __name__, tag="Accounts", access="user")


@blueprint.get("/account/passkeys")
def list_passkeys() -> PasskeyList:
    """The passkeys that sign you in, oldest first. They are added in Settings, by the browser that creates them."""
    rows = passkeys.list_passkeys(current_user_id())
    return PasskeyList(passkeys=[PasskeyOut.from_row(row) for row in rows])


@blueprint.patch("/account/passkeys/<int:passkey_id>")
@session_only
def rename_passkey(path: PasskeyPath, body: PasskeyName) -> PasskeyOut:
    """Rename a passkey; only in a signed-in session."""
    return commit(PasskeyOut.from_row(passkeys.rename(current_user_id(), path.passkey_id, body.name)))


@blueprint.delete("/account/passkeys/<int:passkey_id>")
@session_only
@password_required
def remove_passkey(path: PasskeyPath) -> None:
    """Remove a passkey, which then signs nobody in. Only in a session whose password was confirmed recently."""
    passkeys.remove(current_user_id(), path.passkey_id)
    db.session.commit()
