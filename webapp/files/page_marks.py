"""The form of a file's pages in a prompt, and their tokens; pure."""

from __future__ import annotations

from webapp.text.tokens import estimate_tokens


def marked_page(number: int, text: str) -> str:
    """A page with its number marked around it."""
    return f'<page n="{number}">\n{text}\n</page>'


def tokens_of_page(number: int, text: str) -> int:
    """The tokens a page takes, including the marks; a high estimate."""
    return estimate_tokens(marked_page(number, text) + "\n")
