"""Values of placeholders in a conversation: each domain registers the source of its own values."""

from collections.abc import Callable, Mapping
from typing import Any

from webapp.conversations.models import Conversation
from webapp.prompts.catalogue import BLOCKS
from webapp.prompts.placeholders import DIGEST, DIGEST_JSON, find, pieces

Source = Callable[[Conversation], Any]

_sources: dict[str, Source] = {}


def source_of(name: str) -> Callable[[Source], Source]:
    """Make a function the source of a placeholder's value: a block's lines, best first, or a digest or None."""

    def register(source: Source) -> Source:
        _sources[name] = source
        return source

    return register


def fill_for(conversation: Conversation, template: str, *, texts: Mapping[str, str] | None = None) -> str:
    """Return a prompt's text with its placeholders filled for a conversation; only those it mentions are looked up."""
    return "".join(text for text, _ in pieces_for(conversation, template, texts=texts))


def pieces_for(
    conversation: Conversation, template: str, *, texts: Mapping[str, str] | None = None
) -> list[tuple[str, str | None]]:
    """Return the pieces that `fill_for` joins: the template's own text with None, values with their placeholder."""
    names = {placeholder.name for placeholder in find(template)}
    digest = _sources[DIGEST](conversation) if DIGEST in _sources and names & {DIGEST, DIGEST_JSON} else None
    blocks = {name: _sources[name](conversation) if name in _sources else () for name in BLOCKS if name in names}
    return pieces(template, digest=digest, blocks=blocks, texts=texts)
