"""What happens to accounts, for the domains that build on them; sent inside the transaction that does it."""

from __future__ import annotations

from blinker import Signal

account_deleted = Signal()
"""`user_id=`: the account is about to be deleted, and with it everything that is its owner's alone."""

account_event = Signal()
"""`user_id=, action=, what=`: something happened to an account that its owner should be able to read about later."""

vouched_for = Signal()
"""`user_id=, groups=`: an OpenID provider vouched for a user signing in; all the groups it says they are in."""


def note(user_id: int, action: str, what: str = "") -> None:
    """Say that something happened to an account, inside the transaction in which it did."""
    account_event.send(None, user_id=user_id, action=action, what=what)
