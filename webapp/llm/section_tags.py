"""Tags of the sections of our own prompts: their names, and texts that cannot open or close one; pure."""

import re

SECTION_TAGS = (
    "known",
    "summaries",
    "reference",
    "request",
    "client",
    "files",
    "file_pages",
    "said",
    "tool_result",
)
"""Sections of a reply's prompt, whose tags are never shown."""
_OWN_TAGS = "|".join((*SECTION_TAGS, "context", "item", "file", "page", "message", "earlier_summary", "known_facts"))
"""With those around and inside them, and those of other prompts."""
_OWN = re.compile(rf"<(?=\s*/?\s*(?:{_OWN_TAGS})\b)", re.IGNORECASE)
OWN_LINE = re.compile(
    rf"^[ \t]*(?P<tag></?(?:{_OWN_TAGS})(?:\s[^<>\n]{{0,400}})?>)[ \t]*$", re.IGNORECASE | re.MULTILINE
)
"""A line with nothing but one of these tags."""


def escape_own_tags(text: str) -> str:
    """Return a text that neither opens nor closes a section; other tags stay, as in somebody's code."""
    return _OWN.sub("&lt;", text)
