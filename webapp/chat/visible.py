"""What of a model's text a person sees: all but the prompt's own marks and the offers at its end; pure."""

from __future__ import annotations

from webapp.chat.echoes import Echoes
from webapp.chat.offers import Offer, Trailer


class Visible:
    """A filter over the text of one answer, whose end may hold offers where the model was asked for them."""

    def __init__(self, *, offers: bool) -> None:
        self._echoes = Echoes()
        self._trailer = Trailer() if offers else None

    def feed(self, text: str) -> str:
        """What of the text so far may be shown."""
        text = self._echoes.feed(text)
        return self._trailer.feed(text) if self._trailer else text

    def end(self) -> tuple[str, Offer]:
        """What is left to show, and what is offered."""
        rest = self._echoes.end()
        if self._trailer is None:
            return rest, Offer()
        rest = self._trailer.feed(rest)
        left, offer = self._trailer.end()
        return rest + left, offer
