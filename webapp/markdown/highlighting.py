"""Source code as escaped HTML with the short classes of Pygments, loaded (5 MB) when there is code to colour."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# Beyond these a lexer's regular expressions cost more than colour is worth.
MAX_HIGHLIGHTED = 30_000
MAX_HIGHLIGHTED_LINE = 2_000
# Between two full passes over a growing block its new lines stay plain; a pass is due when they are a quarter more.
REHIGHLIGHT_GROWTH = 4
SHORT_CODE = 1_500  # cheap enough to highlight at every new line

_LANGUAGE = re.compile(r"[\w+#.-]{1,32}", re.ASCII)


def language_of(info: str) -> str:
    """Return the language named by a fence's info string; "text" if there is none or it is not a plain word."""
    words = info.split(maxsplit=1)
    match = _LANGUAGE.fullmatch(words[0].strip("{}.")) if words else None
    return match.group().lower() if match else "text"


def highlight(code: str, language: str) -> str:
    """Return HTML of `code`, escaped, with token spans if the language is known and the code is not excessive."""
    lexer = _lexer_class(language)
    if lexer is None or len(code) > MAX_HIGHLIGHTED or max(map(len, code.split("\n"))) > MAX_HIGHLIGHTED_LINE:
        return escape(code)
    from pygments import highlight as coloured  # noqa: PLC0415
    from pygments.formatters import HtmlFormatter  # noqa: PLC0415

    # ensurenl adds the final newline some lexers rely on; an empty or unended block keeps its own ending.
    html = coloured(code, lexer(stripnl=False, ensurenl=True), HtmlFormatter(nowrap=True))
    return html if code.endswith("\n") else html.removesuffix("\n")


class GrowingCode:
    """Highlights the code blocks of a growing text, told apart by their position, in time linear in their length."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[str, str, str]] = {}

    def highlight(self, position: int, code: str, language: str) -> str:
        """Return HTML of the block at `position`; what has arrived since its last full pass is not coloured yet."""
        known_language, prefix, html = self._cache.get(position, ("", "", ""))
        rest = code[len(prefix) :]
        continues = known_language == language and code.startswith(prefix)
        due = "\n" in rest and (len(code) <= SHORT_CODE or len(rest) * REHIGHLIGHT_GROWTH > len(prefix))
        if due or not continues:
            # Whole lines only: half a word could be coloured as a different one.
            prefix, end, rest = code.rpartition("\n")
            prefix += end
            html = highlight(prefix, language)
            self._cache[position] = (language, prefix, html)
        return html + escape(rest)

    def reset(self) -> None:
        """Start over, for the next text."""
        self._cache.clear()


@lru_cache(maxsize=256)
def _lexer_class(language: str) -> type[Lexer] | None:
    if language == "text":
        return None
    from pygments.lexers import find_lexer_class_by_name  # noqa: PLC0415
    from pygments.util import ClassNotFound  # noqa: PLC0415

    try:
        return find_lexer_class_by_name(language)
    except ClassNotFound:
        return None
