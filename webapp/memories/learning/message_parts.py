"""A message cut into a few parts for the extraction call, each with a number of its own; pure.

Small models give one answer for each number and then move on: of a long message they would read only the end.
"""

from __future__ import annotations

import re

from webapp.text.provenance import spans_of_others

PART = 80
"""Characters; a quarter of them is enough for a part if a sentence ends there."""
MOST_PARTS = 40
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


def parts_of(text: str) -> list[str]:
    """The parts of a message, in order, verbatim; cut between sentences, and never inside what is pasted."""
    least = max(PART, len(text) // MOST_PARTS)
    pasted = spans_of_others(text)
    parts: list[str] = []
    start = 0
    for seam in _SENTENCE_END.finditer(text):
        inside = any(span.start < seam.end() and seam.start() < span.end for span in pasted)
        # The rest must be worth a number too: a final "Thanks!" stays with what comes before it.
        if inside or seam.start() - start < least // 4 or len(text) - seam.end() < least // 4:
            continue
        parts.append(text[start : seam.end()])
        start = seam.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()] or [text]
