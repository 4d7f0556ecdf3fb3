"""JSON endpoints of one's own passkeys: list, rename, remove; adding one takes the browser that creates it."""

from webapp.accounts import passkeys
from webapp.accounts.auth import current_user_id, login_required, password_required, session_only
from webapp.accounts.schemas import PasskeyList, PasskeyName, PasskeyOut, PasskeyPath
from webapp.http.answers import commit_empty, commit_json
from webapp.http.views import ViewResult, api_blueprint

blueprint = api_blueprint("passkeys_api", __name__, tag="Accounts")


@blueprint.get("/account/passkeys", responses={200: PasskeyList})
@login_required
def list_passkeys() -> ViewResult:
    """The passkeys that sign you in, oldest first. They are added in Settings, by the browser that creates them."""
    rows = passkeys.list_passkeys(current_user_id())
    return PasskeyList(passkeys=[PasskeyOut.from_row(row) for row in rows]).model_dump(mode="json")


@blueprint.patch("/account/passkeys/<int:passkey_id>", responses={200: PasskeyOut})
@login_required
@session_only
def rename_passkey(path: PasskeyPath, body: PasskeyName) -> ViewResult:
    """Rename a passkey; only in a signed-in session."""
    return commit_json(PasskeyOut.from_row(passkeys.rename(current_user_id(), path.passkey_id, body.name)))


@blueprint.delete("/account/passkeys/<int:passkey_id>", responses={204: None})
@login_required
@session_only
@password_required
def remove_passkey(path: PasskeyPath) -> ViewResult:
    """Remove a passkey, which then signs nobody in. Only in a session whose password was confirmed recently."""
    passkeys.remove(current_user_id(), path.passkey_id)
    return commit_empty()
