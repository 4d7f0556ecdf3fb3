"""JSON that other programs write wrongly, as a strict parser takes it; pure."""

import re
from typing import TextIO

_TOKEN = re.compile(
    r'["\x00-\x1f]|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>\\u[dD][89a-fA-F]\w\w)|'
    r'\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}|\\|-?Infinity|NaN|,(?=\s*[\]}])'
)
_LONGEST = 100
"""The most characters that decide about one place."""


class StrictText:
    """Makes strict JSON of a text: of control characters, wrong escapes and halves of pairs in strings, of numbers that
    are none, and of commas before the end of a list."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._rest = ""
        self._in_string = False

    def read(self, size: int = -1) -> bytes:
        """Return more of it in UTF-8; nothing at its end."""
        while True:
            more = self._text.read(size)
            text, self._rest = self._rest + more, ""
            result = self._strict(text, is_end=not more)
            if result or not more:
                return result.encode("utf-8", "replace")

    def _strict(self, text: str, *, is_end: bool) -> str:
        pieces: list[str] = []
        index = 0
        limit = len(text) if is_end else len(text) - _LONGEST
        for match in _TOKEN.finditer(text):
            if match.start() >= limit:
                break
            pieces += text[index : match.start()], self._token(match)
            index = match.end()
        end = max(index, limit)
        self._rest = text[end:]
        return "".join([*pieces, text[index:end]])

    def _token(self, match: re.Match[str]) -> str:
        token = match[0]
        if token == '"':
            self._in_string = not self._in_string
        elif self._in_string:
            if match["half"] or token < " ":
                return "\\ufffd" if match["half"] else f"\\u{ord(token):04x}"
            return "\\\\" if token == "\\" else token
        elif token == ",":
            return ""
        elif token in ("NaN", "Infinity", "-Infinity"):
            return "null"
        elif token < " ":
            return token if token.isspace() else " "
        return token
