"""What happens to accounts, for the domains that build on them; sent inside the transaction that does it."""

from __future__ import annotations

from blinker import Signal

account_deleted = Signal()
"""`user_id=`: the account is about to be deleted, and with it everything that is theirs alone."""
