"""An admin's actions on other accounts; the rules for accounts in general are in webapp/accounts/service.py."""

from webapp.accounts import deletion, service, tokens
from webapp.accounts.models import User
from webapp.accounts.passwords import random_code
from webapp.accounts.schemas import NewUser, Registration, UserChanges
from webapp.conversations.models import Conversation
from webapp.db.base import count_rows, db
from webapp.errors import Conflict, Invalid

# Without letters and digits that look alike: the password is read out or typed.
PASSWORD = (4, 5)
"""Groups and characters of a password to hand over: about 99 bits."""


def add(data: NewUser) -> tuple[User, str]:
    """Create an account for somebody; return it and the password to hand over."""
    password = random_code(*PASSWORD)
    user = service.create_user(Registration(email=data.email, name=data.name, password=password))
    return _note_shown_password(user), password


def change(admin_id: int, user_id: int, changes: UserChanges) -> User:
    """Make or unmake an admin, (de)activate an account. Raises Conflict for oneself and for the last admin."""
    _require_other_user(admin_id, user_id)
    return service.update_user(user_id, changes)


def reset_password(admin_id: int, user_id: int) -> tuple[User, str]:
    """Return a new password to hand over; the user's sessions end. Raises Conflict for oneself."""
    _require_other_user(admin_id, user_id)
    password = random_code(*PASSWORD)
    return _note_shown_password(service.reset_password(user_id, password)), password


def delete(admin_id: int, user_id: int, typed_email: str) -> str:
    """Delete an account and everything in it, if its address was typed; returns that. Raises Invalid, Conflict."""
    _require_other_user(admin_id, user_id)
    email = service.get_user(user_id).email
    if typed_email.strip().casefold() != email.casefold():
        raise Invalid.field("email", "does not belong to this account")
    deletion.delete_now(user_id)
    return email


def count_contents(user_id: int) -> dict[str, int]:
    """Return how many conversations and usable tokens a user has."""
    return {"conversations": count_rows(Conversation.user_id == user_id), "tokens": len(tokens.list_tokens(user_id))}


def _note_shown_password(user: User) -> User:
    """Record that an admin has seen the user's password: it is good only for choosing another one."""
    user.must_change_password = True
    db.session.flush()
    return user


def _require_other_user(admin_id: int, user_id: int) -> None:
    if admin_id == user_id:
        raise Conflict("This is your own account. Change it in your settings, or ask another admin.")
