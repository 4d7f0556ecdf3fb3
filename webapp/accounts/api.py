"""JSON endpoints of one's own account and tokens, and of all accounts for admins."""

from webapp.accounts import auth, deletion, idempotency, passkeys, service, sessions, site, tokens
from webapp.accounts.auth import admin_only, current_identity, current_user_id, password_required, session_only
from webapp.accounts.schemas import (
    AccountChanges,
    AccountOut,
    CreatedToken,
    EmailChange,
    NewToken,
    PasskeyList,
    PasskeyName,
    PasskeyOut,
    PasswordChange,
    PasswordProof,
    Registration,
    SessionList,
    SessionOut,
    SiteChanges,
    SiteOut,
    TokenList,
    TokenOut,
    UserChanges,
    UserList,
    UserOut,
    UserQuery,
)
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery

blueprint = api_blueprint("accounts_api", __name__, tag="Accounts", access="user")


@blueprint.get("/account")
def get_account() -> AccountOut:
    """Your account."""
    return AccountOut.of(service.get_user(current_user_id()))


@blueprint.put("/account")
def update_account(body: AccountChanges) -> AccountOut:
    """Change your name or settings."""
    return AccountOut.of(service.update_account(current_user_id(), body))


@blueprint.delete("/account")
@session_only
def delete_account(body: PasswordProof) -> None:
    """Delete your account and everything that is yours, for good."""
    user_id = _password_attempt()
    deletion.delete_account(user_id, body.password)


@blueprint.post("/account/password")
@session_only
def change_password(body: PasswordChange) -> None:
    """Change your password; your other sessions end."""
    auth.renew_session(service.change_password(_password_attempt(), body))


@blueprint.post("/account/proof")
@session_only
def prove_password(body: PasswordProof) -> None:
    """Confirm your password in this session, before you create a token or change a role."""
    auth.prove_password(body.password)


@blueprint.post("/account/email")
@session_only
def change_email(body: EmailChange) -> AccountOut:
    """Change the address you sign in with; your other sessions end."""
    user = service.change_email(_password_attempt(), body)
    answer = AccountOut.of(user)
    auth.renew_session(user)
    return answer


@blueprint.get("/account/tokens")
def list_tokens() -> TokenList:
    """Your API tokens that can still be used."""
    return TokenList(tokens=[TokenOut.from_row(row) for row in tokens.list_tokens(current_user_id())])


@blueprint.post("/account/tokens", status=201)
@session_only
@password_required
@idempotency.idempotent
def create_token(body: NewToken) -> CreatedToken:
    """Create an API token. It is shown only in this response; only a signed-in session may create one."""
    token, secret = tokens.create_token(current_user_id(), body)
    return CreatedToken(token=secret, details=TokenOut.from_row(token))


@blueprint.delete("/account/tokens/<int:token_id>")
@session_only
def revoke_token(token_id: Id) -> None:
    """Revoke one of your API tokens."""
    tokens.revoke_token(current_user_id(), token_id)


@blueprint.get("/sessions")
def list_sessions(query: PageQuery) -> SessionList:
    """List the browsers in which you are signed in, newest first."""
    page = sessions.list_sessions(current_user_id(), query)
    identity = current_identity()
    current = identity.session_id if identity else None
    return SessionList.of(page.map(lambda row: SessionOut.of(row, current)))


@blueprint.delete("/sessions/<int:session_id>")
def end_session(session_id: Id) -> None:
    """Sign out in another browser, or in this one."""
    service.end_session(current_user_id(), session_id)


@blueprint.get("/users")
@admin_only
def list_users(query: UserQuery) -> UserList:
    """List all accounts, oldest first."""
    return UserList.of(service.list_users(query).map(UserOut.from_row))


@blueprint.post("/users", status=201)
@admin_only
@session_only
@password_required
@idempotency.idempotent
def create_user(body: Registration) -> UserOut:
    """Create an account for somebody, whether or not registration is open."""
    return UserOut.from_row(service.create_user(body))


@blueprint.put("/users/<int:user_id>")
@admin_only
@session_only
@password_required
def update_user(user_id: Id, body: UserChanges) -> UserOut:
    """Give or remove admin rights; deactivate an account, ending its sessions and tokens at once, or reactivate it."""
    return UserOut.from_row(service.update_user(user_id, body))


@blueprint.get("/site")
@admin_only
def get_site() -> SiteOut:
    """The settings of the site."""
    return _site()


@blueprint.put("/site")
@admin_only
def update_site(body: SiteChanges) -> SiteOut:
    """Open or close registration, or set how many schedules each person may have."""
    if body.registration_open is not None:
        site.set_setting(site.REGISTRATION_OPEN, body.registration_open)
    if "schedules_per_person" in body.model_fields_set:
        site.set_setting(site.SCHEDULES_PER_PERSON, body.schedules_per_person)
    return _site()


def _site() -> SiteOut:
    return SiteOut(
        registration_open=site.registration_is_open(),
        schedules_per_person=site.get_setting(site.SCHEDULES_PER_PERSON),
    )


def _password_attempt() -> int:
    """Return the user who is about to prove the current password; attempts are limited, also for a stolen session."""
    user_id = current_user_id()
    auth.count_attempt("password", str(user_id))
    return user_id


@blueprint.get("/account/passkeys")
def list_passkeys() -> PasskeyList:
    """The passkeys that sign you in, oldest first. They are added in Settings, by the browser that creates them."""
    return PasskeyList(passkeys=[PasskeyOut.from_row(row) for row in passkeys.list_passkeys(current_user_id())])


@blueprint.patch("/account/passkeys/<int:passkey_id>")
@session_only
def rename_passkey(passkey_id: Id, body: PasskeyName) -> PasskeyOut:
    """Rename a passkey; only in a signed-in session."""
    return PasskeyOut.from_row(passkeys.rename(current_user_id(), passkey_id, body.name))


@blueprint.delete("/account/passkeys/<int:passkey_id>")
@session_only
@password_required
def remove_passkey(passkey_id: Id) -> None:
    """Remove a passkey, which then signs nobody in. Only in a session whose password was confirmed recently."""
    passkeys.remove(current_user_id(), passkey_id)
