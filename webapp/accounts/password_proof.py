"""A session whose user gives the password once more, or changes the credentials it rests on."""

from webapp.accounts import auth, service, sessions
from webapp.accounts.models import User
from webapp.db.base import db


def renew_session(user: User) -> None:
    """Commit the new credentials of a user; the session that changed them continues, the others have ended."""
    db.session.commit()
    auth.reset_attempts("password", str(user.user_id))
    auth.start_session(user, is_renewed=True)


def prove_password(password: str) -> None:
    """Note in this session that its user has just given the password; commits. Raises Invalid, TooMany."""
    identity = auth.require_identity()
    account = str(identity.user_id)
    auth.count_attempt("password", account)
    service.prove_password(identity.user_id, password)
    if identity.session_id is not None:
        sessions.prove(identity.session_id)
    db.session.commit()
    auth.reset_attempts("password", account)
