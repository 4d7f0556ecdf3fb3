"""Questions of files to the domains that build on them."""

from __future__ import annotations

from blinker import Signal

documents_asked = Signal()
"""`conversation_id=`: which documents of spaces did its replies draw on? Receivers return a list of their ids."""
