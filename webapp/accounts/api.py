"""JSON endpoints of one's own account and tokens, and of all accounts for admins."""

from typing import Any

from webapp.accounts import deletion, idempotency, password_proof, service, sessions, site, tokens
from webapp.accounts.auth import (
    admin_only,
    count_attempt,
    current_identity,
    current_user_id,
    login_required,
    password_required,
    session_only,
)
from webapp.accounts.schemas import (
    AccountChanges,
    AccountOut,
    CreatedToken,
    EmailChange,
    NewToken,
    PasswordChange,
    PasswordProof,
    Registration,
    SessionList,
    SessionOut,
    SessionPath,
    SiteChanges,
    SiteOut,
    TokenList,
    TokenOut,
    TokenPath,
    UserChanges,
    UserList,
    UserOut,
    UserPath,
    UserQuery,
)
from webapp.db.base import db
from webapp.http.answers import commit_empty, commit_json
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, api_blueprint

blueprint = api_blueprint("accounts_api", __name__, tag="Accounts")


@blueprint.get("/account", responses={200: AccountOut})
@login_required
def get_account() -> ViewResult:
    """Your account."""
    return AccountOut.of(service.get_user(current_user_id())).model_dump(mode="json")


@blueprint.put("/account", responses={200: AccountOut})
@login_required
def update_account(body: AccountChanges) -> ViewResult:
    """Change your name or settings."""
    user = service.update_account(current_user_id(), body)
    return commit_json(AccountOut.of(user))


@blueprint.delete("/account", responses={204: None})
@login_required
@session_only
def delete_account(body: PasswordProof) -> ViewResult:
    """Delete your account and everything that is yours, for good."""
    user_id = _password_attempt()
    deletion.delete_account(user_id, body.password)
    return commit_empty()


@blueprint.post("/account/password", responses={204: None})
@login_required
@session_only
def change_password(body: PasswordChange) -> ViewResult:
    """Change your password; your other sessions end."""
    password_proof.renew_session(service.change_password(_password_attempt(), body))
    return "", 204


@blueprint.post("/account/proof", responses={204: None})
@login_required
@session_only
def prove_password(body: PasswordProof) -> ViewResult:
    """Confirm your password in this session, before you create a token or change a role."""
    password_proof.prove_password(body.password)
    return "", 204


@blueprint.post("/account/email", responses={200: AccountOut})
@login_required
@session_only
def change_email(body: EmailChange) -> ViewResult:
    """Change the address you sign in with; your other sessions end."""
    user = service.change_email(_password_attempt(), body)
    answer = AccountOut.of(user).model_dump(mode="json")
    password_proof.renew_session(user)
    return answer


@blueprint.get("/account/tokens", responses={200: TokenList})
@login_required
def list_tokens() -> ViewResult:
    """Your API tokens that can still be used."""
    rows = tokens.list_tokens(current_user_id())
    return TokenList(tokens=[TokenOut.from_row(row) for row in rows]).model_dump(mode="json")


@blueprint.post("/account/tokens", responses={201: CreatedToken})
@login_required
@session_only
@password_required
@idempotency.idempotent
def create_token(body: NewToken) -> ViewResult:
    """Create an API token. It is shown only in this response; only a signed-in session may create one."""
    token, secret = tokens.create_token(current_user_id(), body)
    return idempotency.commit_json(CreatedToken(token=secret, details=TokenOut.from_row(token)), 201)


@blueprint.delete("/account/tokens/<int:token_id>", responses={204: None})
@login_required
@session_only
def revoke_token(path: TokenPath) -> ViewResult:
    """Revoke one of your API tokens."""
    tokens.revoke_token(current_user_id(), path.token_id)
    return commit_empty()


@blueprint.get("/sessions", responses={200: SessionList})
@login_required
def list_sessions(query: PageQuery) -> ViewResult:
    """List the browsers in which you are signed in, newest first."""
    page = sessions.list_sessions(current_user_id(), query)
    identity = current_identity()
    current = identity.session_id if identity else None
    rows = [SessionOut.of(row, current) for row in page.items]
    return SessionList(sessions=rows, next_cursor=page.next_cursor).model_dump(mode="json")


@blueprint.delete("/sessions/<int:session_id>", responses={204: None})
@login_required
def end_session(path: SessionPath) -> ViewResult:
    """Sign out in another browser, or in this one."""
    service.end_session(current_user_id(), path.session_id)
    return commit_empty()


@blueprint.get("/users", responses={200: UserList})
@admin_only
def list_users(query: UserQuery) -> ViewResult:
    """List all accounts, oldest first."""
    page = service.list_users(query)
    return UserList(users=[UserOut.from_row(row) for row in page.items], next_cursor=page.next_cursor).model_dump(
        mode="json"
    )


@blueprint.post("/users", responses={201: UserOut})
@admin_only
@session_only
@password_required
@idempotency.idempotent
def create_user(body: Registration) -> ViewResult:
    """Create an account for somebody, whether or not registration is open."""
    user = service.create_user(body)
    return idempotency.commit_json(UserOut.from_row(user), 201)


@blueprint.put("/users/<int:user_id>", responses={200: UserOut})
@admin_only
@session_only
@password_required
def update_user(path: UserPath, body: UserChanges) -> ViewResult:
    """Give or remove admin rights; deactivate an account, ending its sessions and tokens at once, or reactivate it."""
    user = service.update_user(path.user_id, body)
    return commit_json(UserOut.from_row(user))


@blueprint.get("/site", responses={200: SiteOut})
@admin_only
def get_site() -> ViewResult:
    """The settings of the site."""
    return _site()


@blueprint.put("/site", responses={200: SiteOut})
@admin_only
def update_site(body: SiteChanges) -> ViewResult:
    """Open or close registration, or set how many schedules each person may have."""
    if body.registration_open is not None:
        service.set_registration_open(body.registration_open)
    if "schedules_per_person" in body.model_fields_set:
        site.set_setting(site.SCHEDULES_PER_PERSON, body.schedules_per_person)
    db.session.commit()
    return _site()


def _site() -> dict[str, Any]:
    return SiteOut(
        registration_open=site.registration_is_open(),
        schedules_per_person=site.get_setting(site.SCHEDULES_PER_PERSON),
    ).model_dump(mode="json")


def _password_attempt() -> int:
    """Return the user who is about to prove the current password; attempts are limited, also for a stolen session."""
    user_id = current_user_id()
    count_attempt("password", str(user_id))
    return user_id
