"""Documents that a model writes beside a conversation, step by step: ChatGPT's canvases, Claude's artifacts and files.

Each step says the whole text or what to change in it; every version becomes text at its place in the conversation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_LITERAL = re.compile(r"\\(.)", re.DOTALL)
_WHOLE = (".*", "(?s).*", "[\\s\\S]*")
_FENCE = re.compile(r"`{3,}")
_PROSE = ("", "document", "markdown", "md", "txt", "text")


@dataclass
class _Document:
    title: str = ""
    language: str = ""
    text: str = ""


@dataclass
class SideDocuments:
    """The documents of one conversation by their key, as far as it has come."""

    _by_key: dict[str, _Document] = field(default_factory=dict)

    def write(self, key: str, text: str, title: str = "", language: str = "") -> str:
        """Give a document a text; returns it as it is shown, in Markdown."""
        known = self._by_key.get(key, _Document())
        made = _Document(title or known.title or key.rpartition("/")[2], language or known.language, text)
        self._by_key[key] = made
        return _markdown(made)

    def replace(self, key: str, old: str, new: str, *, everywhere: bool = False) -> str | None:
        """Replace some words of a document; returns it as it is shown, None if they are not in it."""
        known = self._by_key.get(key)
        if known is None or not old or old not in known.text:
            return None
        known.text = known.text.replace(old, new) if everywhere else known.text.replace(old, new, 1)
        return _markdown(known)

    def substitute(self, key: str, pattern: str, new: str, *, everywhere: bool = False) -> str | None:
        """Replace what a pattern stands for, if it is the whole text or literal: others' patterns are not run."""
        if pattern in _WHOLE:
            return self.write(key, new)
        return self.replace(key, _LITERAL.sub(r"\1", pattern), new, everywhere=everywhere)

    def latest(self) -> str:
        """Return the key of the document written last; empty if there is none."""
        return next(reversed(self._by_key), "")


def _markdown(document: _Document) -> str:
    head = f"**{document.title}**\n\n" if document.title else ""
    if document.language.lower() in _PROSE:
        return head + document.text
    longest = max((len(found) for found in _FENCE.findall(document.text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{head}{fence}{document.language}\n{document.text}\n{fence}"
