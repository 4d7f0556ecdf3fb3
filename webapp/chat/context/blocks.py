"""Text from other people inside the marked blocks of a prompt."""

import re

_TAG = re.compile(r"<(?![\d=])")


def escape(text: str) -> str:
    """Make a text unable to open or close a block: every `<` that could begin a tag becomes `&lt;`."""
    return _TAG.sub("&lt;", text) if "<" in text else text


def attribute(text: str) -> str:
    """Make a text fit between the quotes of an attribute: one line, 120 characters at most."""
    return " ".join(escape(text).replace('"', "'").replace(">", " ").split())[:120]
