"""What files ask of the domains that build on them."""

from __future__ import annotations

from blinker import Signal

documents_asked = Signal()
"""`conversation_id=`: which documents of spaces did replies of it draw on? Receivers return a list of their ids."""
