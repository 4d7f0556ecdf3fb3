"""A message cut into a few parts for the extraction call, each with a number of its own; pure.

Small models give one answer for each number and then move on: of a long message they would read only the end.
"""

from itertools import pairwise

from webapp.text.provenance import spans_of_others
from webapp.text.sentences import sentences_of

PART = 80
"""Characters; a quarter of them is enough for a part if a sentence ends there."""
MOST_PARTS = 40


def parts_of(text: str) -> list[str]:
    """Split a message into verbatim parts in order, between sentences and never inside a pasted text."""
    least = max(PART, len(text) // MOST_PARTS)
    pasted = spans_of_others(text)
    parts: list[str] = []
    start = 0
    for before, after in pairwise(sentences_of(text)):
        is_inside = any(span.start < after.start and before.end < span.end for span in pasted)
        # The rest must be worth a number too: a final "Thanks!" stays with what comes before it.
        if is_inside or before.end - start < least // 4 or len(text) - after.start < least // 4:
            continue
        parts.append(text[start : after.start])
        start = after.start
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()] or [text]
