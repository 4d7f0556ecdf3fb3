"""Input and output of accounts: requests, responses, and a user's own settings."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator

from webapp.accounts.agents import describe_agent
from webapp.accounts.emails import MAX_EMAIL, normalise_email
from webapp.accounts.models import User, UserSession
from webapp.accounts.passwords import MAX_PASSWORD, password_problem
from webapp.accounts.preferences import SettingsChanges as SettingsChanges, UserSettings as UserSettings
from webapp.accounts.scopes import SCOPES, Scope
from webapp.accounts.site import MAX_SCHEDULES
from webapp.http.validation import Changes, Flag, Input, Instant, Line, ListOut, OptionalInteger, Output, PageQuery

Email = Annotated[str, Field(max_length=MAX_EMAIL + 50), AfterValidator(normalise_email)]
"""An e-mail address in its one spelling."""

PersonName = Annotated[Line, Field(max_length=200)]
Password = Annotated[str, Field(max_length=MAX_PASSWORD)]
TokenName = Annotated[Line, Field(min_length=1, max_length=100)]


class Registration(Input):
    """A new account."""

    email: Email
    password: Password
    name: PersonName = ""

    @field_validator("password")
    @classmethod
    def _acceptable_password(cls, password: str, info: ValidationInfo) -> str:
        if problem := password_problem(password, info.data.get("email", "")):
            raise ValueError(problem)
        return password


class NewUser(Input):
    """A new account created by an admin, with a generated password."""

    email: Email
    name: PersonName = ""


class Credentials(Input):
    """Signing in. A malformed address counts as one that nobody has."""

    email: Annotated[str, Field(max_length=1_000)]
    password: Annotated[str, Field(max_length=10_000)]


class PasswordChange(Input):
    """A new password, and the current one."""

    current_password: Password
    new_password: Password
    revoke_tokens: Flag = Field(False, description="Whether every API token is revoked too.")


class PasswordProof(Input):
    """The current password, for what cannot be undone."""

    password: Password


class AccountChanges(Changes):
    """The changes that a user may make to the account without the password."""

    name: PersonName | None = None
    settings: SettingsChanges | None = None


class EmailChange(Input):
    """Another address to sign in with."""

    email: Email
    password: Password


class AccountOut(Output):
    """A user's own account."""

    user_id: int
    email: str
    name: str
    is_admin: bool
    created_at: Instant
    settings: UserSettings

    @classmethod
    def of(cls, user: User) -> "AccountOut":
        """From the row."""
        return cls.from_row(user, settings=UserSettings.of(user.settings))


MAX_TOKEN_DAYS = 3_650


class NewToken(Input):
    """An API token to create."""

    name: TokenName
    expires_in_days: OptionalInteger = Field(
        90, ge=1, le=MAX_TOKEN_DAYS, description="How long it can be used; null for no end."
    )
    scopes: list[Scope] | None = Field(
        None, min_length=1, max_length=len(SCOPES), description="What it may do; null for everything you may do."
    )


class TokenOut(Output):
    """A token as its owner sees it later: without the secret."""

    token_id: int
    name: str
    prefix: str
    is_service: bool
    scopes: list[str] | None
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None
    last_used_address: str | None


class CreatedToken(BaseModel):
    """The only response that ever contains the token itself."""

    token: str
    details: TokenOut


class TokenList(BaseModel):
    """A user's usable tokens, newest first."""

    tokens: list[TokenOut]


class SessionOut(Output):
    """A browser that is signed in. `current` is the one that asks."""

    session_id: int
    browser: str
    user_agent: str
    address: str
    created_at: Instant
    last_seen_at: Instant
    expires_at: Instant | None
    current: bool

    @classmethod
    def of(cls, row: UserSession, current: int | None) -> "SessionOut":
        """From the row."""
        return cls.from_row(row, browser=str(describe_agent(row.user_agent)), current=row.session_id == current)


class SessionList(ListOut):
    """A page of sessions, newest first."""

    sessions: list[SessionOut]


class PasskeyName(Input):
    """The name of a passkey."""

    name: Line = Field(min_length=1, max_length=100)


class PasskeyOut(Output):
    """A passkey as its owner sees it."""

    passkey_id: int
    name: str
    created_at: Instant
    last_used_at: Instant | None


class PasskeyList(BaseModel):
    """All of somebody's passkeys."""

    passkeys: list[PasskeyOut]


class UserOut(Output):
    """An account as an admin sees it."""

    user_id: int
    email: str
    name: str
    is_admin: bool
    is_active: bool
    created_at: Instant
    last_seen_at: Instant | None


class UserQuery(PageQuery):
    """A choice of accounts to list."""

    q: Line | None = Field(None, max_length=MAX_EMAIL, description="Part of the e-mail address or name.")


class UserList(ListOut):
    """A page of accounts, oldest first."""

    users: list[UserOut]


class UserChanges(Changes):
    """The changes that an admin may make to an account."""

    is_admin: Flag | None = None
    is_active: Flag | None = None


class SiteOut(BaseModel):
    """The settings of the site."""

    registration_open: bool
    schedules_per_person: int | None = Field(
        description="How many schedules each person may have; null for as many as the server is configured for."
    )


class SiteChanges(Changes):
    """Settings of the site to change; what is left out stays."""

    nullable = ("schedules_per_person",)

    registration_open: Flag | None = None
    schedules_per_person: OptionalInteger = Field(
        None, ge=0, le=MAX_SCHEDULES, description="Null for as many as the server is configured for."
    )
