"""Documents that a model writes beside a conversation, step by step: ChatGPT's canvases, Claude's artifacts and files.

Each step says the whole text or what to change in it; every version becomes text at its place in the conversation.
"""

import re
from dataclasses import dataclass, field

_LITERAL = re.compile(r"\\(.)", re.DOTALL)
_MATCH_ALL = (".*", "(?s).*", "[\\s\\S]*")
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
        previous = self._by_key.get(key, _Document())
        document = _Document(title or previous.title or key.rpartition("/")[2], language or previous.language, text)
        self._by_key[key] = document
        return _markdown(document)

    def replace(self, key: str, old: str, new: str, *, replace_all: bool = False) -> str | None:
        """Replace some words of a document; returns it as it is shown, None if they are not in it."""
        previous = self._by_key.get(key)
        if previous is None or not old or old not in previous.text:
            return None
        previous.text = previous.text.replace(old, new) if replace_all else previous.text.replace(old, new, 1)
        return _markdown(previous)

    def substitute(self, key: str, pattern: str, new: str, *, replace_all: bool = False) -> str | None:
        """Replace what a pattern stands for, if it is the whole text or literal: others' patterns are not run."""
        if pattern in _MATCH_ALL:
            return self.write(key, new)
        return self.replace(key, _LITERAL.sub(r"\1", pattern), new, replace_all=replace_all)

    def latest(self) -> str:
        """Return the key of the document written last; empty if there is none."""
        return next(reversed(self._by_key), "")


def _markdown(document: _Document) -> str:
    head = f"**{document.title}**\n\n" if document.title else ""
    if document.language.lower() in _PROSE:
        return head + document.text
    longest = max((len(run) for run in _FENCE.findall(document.text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{head}{fence}{document.language}\n{document.text}\n{fence}"
