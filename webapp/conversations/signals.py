"""Events of conversations, for the domains that build on them; sent inside the transaction that does it."""

from blinker import Signal

messages_changed = Signal()
"""`conversation=` and `first_id=`: messages from that id on were taken out of the conversation or put back into it."""

conversation_moved = Signal()
"""`conversation=`, `to=` (a space or None) and `confirmed=`: it is about to be moved; a receiver may raise Conflict."""

conversation_deleted = Signal()
"""`conversation=` and `forget=`: it is about to be deleted for good; with `forget` what rests on it alone, too."""

conversation_shown = Signal()
"""`conversation=`: it was hidden, brought back, or is about to be deleted."""
