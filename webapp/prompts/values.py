"""Values of placeholders in a conversation: each domain registers the source of its own values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webapp.conversations.models import Conversation
from webapp.prompts.catalogue import BLOCKS
from webapp.prompts.placeholders import DIGEST, DIGEST_JSON, find, pieces

Lines = Callable[[Conversation], Sequence[str]]
Digest = Callable[[Conversation], Mapping[str, Any] | None]

_lines: dict[str, Lines] = {}
_digest: list[Digest] = []


def lines_for(name: str) -> Callable[[Lines], Lines]:
    """Make a function the source of a block's lines, best first: `@lines_for("MEMORIES")`."""

    def register(source: Lines) -> Lines:
        _lines[name] = source
        return source

    return register


def digest_source(source: Digest) -> Digest:
    """Make a function the source of a conversation's digest."""
    _digest[:] = [source]
    return source


def fill_for(conversation: Conversation, template: str, *, texts: Mapping[str, str] | None = None) -> str:
    """Return a prompt's text with its placeholders filled for a conversation; only those it mentions are looked up."""
    return "".join(text for text, _ in pieces_for(conversation, template, texts=texts))


def pieces_for(
    conversation: Conversation, template: str, *, texts: Mapping[str, str] | None = None
) -> list[tuple[str, str | None]]:
    """The pieces that `fill_for` joins: the template's own text with None, and each value with its placeholder."""
    names = {placeholder.name for placeholder in find(template)}
    digest = _digest[0](conversation) if _digest and names & {DIGEST, DIGEST_JSON} else None
    blocks = {name: _lines[name](conversation) if name in _lines else () for name in BLOCKS if name in names}
    return pieces(template, digest=digest, blocks=blocks, texts=texts)
