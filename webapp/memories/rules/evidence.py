"""The place of a quote in what the user wrote, and whose words stand around it. Every memory rests on this."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from webapp.text.canonical import canonical_statement
from webapp.text.provenance import blank_out, overlaps_any
from webapp.text.quotes import Span, places_of
from webapp.text.sentences import clauses_of, is_question, sentence_around

_WRAPPING = re.compile(r"^[\"'“”‘’„«»\s…•*]*(?:user\s*:)?[\"'“”‘’„«»\s…]*|[\"'“”‘’«»\s.…,;:!?。！？*]+$", re.IGNORECASE)
"""What models write before and after the words they copy."""
_PARENTHESIS = re.compile(r"[(（]([^()（）]+)[)）]")
_WIDE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
MIN_LETTERS = 4


def find_quote(quote: str, text: str, other_spans: Sequence[Span] = ()) -> Span | None:
    """Return where `quote` first occurs verbatim in `text`, outside `other_spans`; or None.

    Only white space, case, the style of quotation marks and dashes, marks of emphasis, Unicode normal forms and
    punctuation around the words are ignored. A match may not split a character, or begin or end in a word.
    """
    bare = _WRAPPING.sub("", quote)
    forms = (quote, bare) if bare and bare != quote else (quote,)
    places = (span for form in forms for span in places_of(form, text))
    return next((span for span in places if not overlaps_any(span, other_spans)), None)


def has_substance(quote: str, message: str) -> bool:
    """Return whether a quote is more than a fragment of its message; a short answer ("42", "🍕") is all of it."""
    if _weight(quote) >= MIN_LETTERS:
        return True
    is_whole = canonical_statement(quote) == canonical_statement(message)
    return is_whole and any(ch.isalnum() or unicodedata.category(ch) == "So" for ch in quote)


def own_sentence(span: Span, message: str, other_spans: Iterable[Span] = ()) -> str:
    """Return the sentence around a quote in its author's words, before any question; empty if all of it asks.

    Of a question, brackets that the quote stands in are a sentence by themselves, and never cut.
    """
    own_text = blank_out(message, other_spans)
    place = sentence_around(span, own_text)
    sentence = own_text[place.start : place.end]
    if not is_question(sentence):
        return sentence.strip()
    asides = [Span(*aside.span(1)) for aside in _PARENTHESIS.finditer(own_text, place.start, place.end)]
    parts = list(clauses_of(blank_out(own_text, asides)[place.start : place.end]))
    if len(parts) > 1 and span.start < place.start + parts[-1].start:
        return sentence[: parts[-1].start].rstrip(" \t\n,;:–—-")
    aside = next((own_text[start:end] for start, end in asides if start <= span.start and span.end <= end), "?")
    return "" if is_question(aside) else aside.strip()


def label_and_quote(span: Span, message: str) -> str:
    """Return a quote with the words before it that a colon or the like joins to it: they say what it is."""
    before = message[: span.start].rstrip(" \t\n*_`\"'")
    label = before[before.rfind("\n") + 1 :] if before.endswith((":", "=", "|")) else ""
    return label + message[span.start : span.end]


def _weight(text: str) -> int:
    """Count the letters and digits of a text, twice in scripts that say much with few characters."""
    return sum(
        2 if not ch.isascii() and unicodedata.name(ch, "").startswith(_WIDE) else 1 for ch in text if ch.isalnum()
    )
