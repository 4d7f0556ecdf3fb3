"""How the pages of a file stand in a prompt, and what they take of it; pure."""

from __future__ import annotations

from webapp.text.tokens import estimate_tokens


def marked_page(number: int, text: str) -> str:
    """A page with its number around it."""
    return f'<page n="{number}">\n{text}\n</page>'


def tokens_of_page(number: int, text: str) -> int:
    """What a page takes, its marks included; an estimate that errs upwards."""
    return estimate_tokens(marked_page(number, text) + "\n")
