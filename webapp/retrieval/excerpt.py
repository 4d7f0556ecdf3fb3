"""The part of a found text that shows why it was found, with the positions of the query's words."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from webapp.retrieval.weights import CORE
from webapp.text.message_pieces import pieces_of
from webapp.text.quotes import merge_spans
from webapp.text.sentences import sentences_of
from webapp.text.words import stems, words

_TOKEN = re.compile(r"\w+(?:['’\u0300-\u036f\u0900-\u0dff\u0e31-\u0e4e]+\w*)*")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text and the spans (start, end) in it to be highlighted, in order and without overlaps."""

    text: str
    spans: tuple[tuple[int, int], ...]


def matches(text: str, query: str) -> list[tuple[int, int, str]]:
    """Return where a text has the query's words in any form: start, end, term; one at its very end may continue."""
    query_words = words(query)
    terms = set(stems(query_words))
    beginning = query_words[-1] if query_words and query[-1].isalnum() else None
    hits: list[tuple[int, int, str]] = []
    cache: dict[str, str | None] = {}
    for token in _TOKEN.finditer(text):
        run, start = token.group(), token.start()
        if run not in cache:
            cache[run] = _match(run, terms, beginning)
        if (term := cache[run]) == "":
            hits += _pairs(run, start, terms)
        elif term:
            hits.append((start, token.end(), term))
    return hits


def _match(run: str, terms: set[str], beginning: str | None) -> str | None:
    """Return the term a run of word characters stands for, None if it is not in the query, "" if it has no spaces."""
    run_words = words(run)
    if len(run_words) > 1 or (run_words and len(run_words[0]) == 2 and not run_words[0].isascii()):
        return ""
    for word, term in zip(run_words, stems(run_words, keep_stop_words=True), strict=True):
        if term in terms or (beginning and word.startswith(beginning)):
            return term or word
    return None


def excerpt(text: str, query: str, length: int = 240) -> Excerpt:
    """Return at most about `length` characters of a text around most of the query's words, at word boundaries."""
    hits = matches(text, query)
    start = 0 if len(text) <= length else _best_start(text, hits, length)
    end = min(len(text), start + length)
    if end < len(text):
        space = max(text.rfind(mark, start, end) for mark in (" ", "\n"))
        end = space if space > start + length * 0.6 else end
    before, after = _ELLIPSIS if start else "", _ELLIPSIS if end < len(text) else ""
    shift = len(before) - start
    spans = merge_spans([(a + shift, b + shift) for a, b, _ in hits if a >= start and b <= end])
    return Excerpt(f"{before}{text[start:end]}{after}", spans)


def _pairs(run: str, offset: int, terms: set[str]) -> list[tuple[int, int, str]]:
    """Find terms that are pairs of characters inside an unspaced run."""
    lowercase = run.casefold()
    run = lowercase if len(lowercase) == len(run) else run
    return [
        (offset + place, offset + place + 2, run[place : place + 2])
        for place in range(len(run) - 1)
        if run[place : place + 2] in terms
    ]


def _best_start(text: str, hits: list[tuple[int, int, str]], length: int) -> int:
    """Return where to begin so that most distinct words, then most words, show, at a sentence start if one is near."""
    best, start = (-1, -1), 0
    for index, (place, _, _) in enumerate(hits):
        terms = [term for a, b, term in hits[index : index + 60] if b <= place + length * 3 // 4 and a >= place]
        score = (len(set(terms)), len(terms))
        if score > best:
            best, start = score, place
    if not hits:
        return 0
    earliest = max(0, start - length // 4)
    if earliest == 0:
        return 0
    if len(sentences := sentences_of(text[earliest : start + 1])) > 1:
        return earliest + sentences[1].start
    space = text.find(" ", earliest, start)
    return space + 1 if space >= 0 else earliest


def core_of(text: str, terms: Collection[str]) -> tuple[int, int] | None:
    """Return the range, in whole sentences, with most of a question's stemmed terms; None for a short text."""
    parts = pieces_of(text, CORE, 0)
    if len(parts) < 2:
        return None
    # In most languages a stem is how a word begins: searching for it is an order of magnitude cheaper than stemming.
    lowercase = text.casefold()
    haystack = lowercase if len(lowercase) == len(text) else text
    counts = [sum(term in haystack[part.start : part.end] for term in terms) for part in parts]
    best = max(range(len(parts)), key=lambda place: (counts[place], -place))
    return parts[best].start, parts[best].end
