"""Events of accounts, for the domains that build on them; sent inside the transaction that does it."""

from blinker import Signal

account_deleted = Signal()
"""`user_id=`: the account is about to be deleted, and with it everything that is its owner's alone."""

account_ending = Signal()
"""`user_id=`: it is certain that the account will be deleted, and others may have nothing of it any more. Receivers
return how much they took from others, by name, for the report."""

account_closed = Signal()
"""`user_id=`: the account is out of use from now on: an admin stopped it, its owner closed it, or it is deleted."""

account_event = Signal()
"""`user_id=, action=, target=`: something happened to an account that its owner should be able to read about later."""

provider_sign_in = Signal()
"""`user_id=, groups=`: an OpenID provider vouched for a user signing in; all the groups it says they are in."""


def end_account(user_id: int) -> dict[str, int]:
    """Withdraw what the account shared with others; safe to repeat. Returns how much there was, by name."""
    return {name: count for _, counts in account_ending.send(None, user_id=user_id) for name, count in counts.items()}


def note(user_id: int, action: str, target: str = "") -> None:
    """Report something that happened to an account, inside the transaction in which it did."""
    account_event.send(None, user_id=user_id, action=action, target=target)
