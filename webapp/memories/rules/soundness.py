"""Whether what a model made of a quote is true to it: the words of the statement, its key and its value.

Errors of form are forgiven: the part of the quote that says it is found, a statement that says too little gives way to
the user's own words, and a key whose value is not the user's is dropped. Errors of substance are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from webapp.memories.rules.normal_forms import numerals, same_day
from webapp.memories.rules.speech import is_question
from webapp.text.canonical import canonical_statement, plain_text
from webapp.text.quotes import Span
from webapp.text.words import MONTHS, WEEKDAYS, stems, words

_SENTENCES = re.compile(r"(?:[^.!?…\n。！？]|[.](?=\w)|(?<=\d)[.](?=\s\w+\s\d{4}))+[.!?…。！？]*[\"'”’)]*")
_GENERIC = frozenset(
    stems(
        words(
            "user is called name named likes like prefers prefer wants want uses use has have works work lives "
            "live always "
            "never gets get keeps keep does currently now person called "
            "please bitte also just really thanks too btw remember know on"
        )
    )
)
LATIN_OR_CYRILLIC = re.compile(r"[A-Za-zÀ-ÿА-я]")
_LEAST_PREFIX = 4
_TRIMMED = " \t\n.,;:!?…–—-。，！"
_SHORT_CONTENT = 300
_MOST_WORDS = 25
_FILLERS = re.compile(
    r"^(?:(?:oh|and|so|ok|okay|well|also|btw|by\s+the\s+way|basically|anyway|hey|hi|hello|hallo|hola|bonjour|ciao|olá|background|update|und|übrigens|et|"
    r"alors|y|bueno|e)\b[\s,:!.…-]+)+(?=\S)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[:.,/-][^\W_]+)*")
_NO_NAMES = frozenset(("i", "i'm", "i've", "i'd", "i'll"))
_ENGLISH_WORDS = (
    "is are has have the a an of to with for from and at called lives works eats plays likes prefers wants owns speaks "
    "drinks uses named always never name user"
)
_OTHER_WORDS = (
    "habe hat haben wohne arbeite heiße heisse appelle habite llamo vivo "
    "bitte auf antworte immer réponds toujours "
    "responde siempre sempre trabajo chiamo lavoro chamo moro heet woon tengo ho ai avons tenho temos heb hebben "
    "ich bin mein meine mich mir wir und der die das ein eine einen ist nicht je suis mon ma mes le les un une et est "
    "nous yo soy mi mis el los una y es io sono mio mia il gli e è eu sou meu minha o os uma ik ben mijn het een en van"
)
_ELSEWHERE_TOO = frozenset(("a", "an", "is", "on", "for", "at", "of", "name", "has"))
"""Words that also mean something in other languages."""
_SHARED = frozenset(("me", "die", "mi", "a", "no", "so", "is", "le", "son", "las", "des", "den", "was", "un"))
_CALENDAR = frozenset(stems((*MONTHS, *WEEKDAYS)))
_LATIN = re.compile(r"[A-Za-z]")
_ENGLISH, _NOT_ENGLISH = frozenset(_ENGLISH_WORDS.split()), frozenset(_OTHER_WORDS.split())
_CLAUSES = re.compile(
    r"[;.!?…—]+\s|:\s|,\s+(?=(?:i|i['’]\w+|we|we['’]\w+|ich|wir|je|j['’]\w+|nous|yo|io|eu)\b)|,?\s+(?:and|but|so|because|und|aber|weil|denn|et|mais|car|y|pero|porque|e|ma)\s+"
    r"(?=(?:i|i['’]\w+|my|we|we['’]\w+|our|ich|mein\w*|wir|je|j['’]\w+|mon|ma|mes|nous|yo|mis?|io|eu|meu|minha)\b)",
    re.IGNORECASE,
)


class Fit(StrEnum):
    """How a statement relates to its quote."""

    SAYS_IT = "says_it"
    FOREIGN = "foreign"


def telling(text: str) -> list[str]:
    """The telling terms of a text: stemmed, without stop words, "我" and what every statement says."""
    return [term for term in stems(words(text)) if term not in _GENERIC and not term.startswith("我")]


def is_said(term: str, terms: set[str]) -> bool:
    """Whether a term is among others, in any form: "vegetarisch" says "vegetarian"."""
    if term in terms:
        return True
    need = max(_LEAST_PREFIX, -(-len(term) * 2 // 3))
    return len(term) >= _LEAST_PREFIX and any(other[:need] == term[:need] for other in terms if len(other) >= need)


def narrowed(span: Span, message: str, content: str) -> Span:
    """The sentences of the quote at `span` that say what the statement says: models quote more than they mean.

    All of it if the statement shares nothing with it.
    """
    wanted = set(telling(content))
    sentences = [
        (Span(span.start + found.start(), span.start + found.end()), set(stems(words(found.group()))))
        for found in _SENTENCES.finditer(message[span.start : span.end])
        if found.group().strip()
    ]
    sentences = [(place, terms) for place, terms in sentences if not is_question(place, message)] or sentences
    holding = [n for n, (_, terms) in enumerate(sentences) if any(is_said(term, terms) for term in wanted)]
    if not holding:
        return span
    # The fewest adjacent sentences with everything that any of them has: a word said twice is needed only once.
    best: tuple[int, int] | None = None
    held = {term for term in wanted if any(is_said(term, sentences[n][1]) for n in holding)}
    for first in holding:
        for last in (n for n in holding if n >= first):
            terms = set().union(*(sentences[n][1] for n in range(first, last + 1)))
            if all(is_said(term, terms) for term in held) and (best is None or last - first < best[1] - best[0]):
                best = (first, last)
    if best is None:
        return span
    start, end = sentences[best[0]][0].start, sentences[best[1]][0].end
    while start < end and message[start].isspace():
        start += 1
    while end > start and message[end - 1].isspace():
        end -= 1
    return Span(start, end)


def fit(content: str, quote: str) -> Fit:
    """Whether a statement shares a telling word with its quote."""
    said = set(stems(words(quote))) | numerals(quote)
    wanted = telling(content)
    if not wanted or any(is_said(term, said) for term in wanted):
        return Fit.SAYS_IT
    return Fit.FOREIGN


def value_stands(value: str | None, quote: str) -> bool:
    """Whether the quote contains the value of a key, or its normal form (dates, numbers, plurals)."""
    wanted = stems(words(value or "")) or words(value or "")
    said = set(stems(words(quote))) | set(words(quote)) | numerals(quote)
    return bool(wanted) and (all(is_said(term, said) for term in wanted) or same_day(value or "", quote))


def is_complete(
    content: str, quote: str, value: str | None = None, *, is_name: bool = False, beside: tuple[str, ...] = ()
) -> bool:
    """Whether a statement keeps what its quote says: every name and number and, if in the quote's words, most of it.

    If it has the `value` of a key, only names and numbers must be kept, and with the user's own name nothing else. What
    other statements of the same words say (`beside`) need not be repeated.
    """
    held = bool(value) and all(is_said(term, set(stems(words(content)))) for term in stems(words(value or "")))
    if held and is_name:
        return True
    part = _part_of(content, quote)
    kept = set(stems(words(" ".join((content, *beside)))))
    if len(part.split()) > _MOST_WORDS:
        terms = set(telling(part))
        return 3 * sum(is_said(term, kept) for term in terms) >= len(terms)
    if any(not is_said(term, kept) for term in _particulars(part)):
        return False
    if held:
        return True
    known = telling(part)
    said = set(stems(words(part)))
    if not known or any(not is_said(term, said) for term in telling(content)):
        return True  # reworded, not cut short
    return 10 * sum(is_said(term, kept) for term in known) > 6 * len(known)


def is_miscounted(content: str, quote: str) -> bool:
    """Whether a statement has another number, in figures or words, in place of one of its quote's."""
    made, said = numerals(content), numerals(quote)
    return bool(made - said) and bool(said - made)


def _part_of(content: str, quote: str) -> str:
    """The clauses of a quote that contain the statement's terms."""
    wanted = telling(content)
    clauses = [clause for clause in _CLAUSES.split(quote) if clause.strip()]
    holding = [c for c in clauses if any(is_said(term, set(stems(words(c)))) for term in wanted)]
    return " ".join(holding) if holding else quote


def _particulars(text: str) -> set[str]:
    """The numbers of a text, and the names: capitalised words that do not begin it."""
    found = set()
    for match in _WORD.finditer(text):
        word = match.group()
        name = word[0].isupper() and match.start() > 0 and not re.search(r"[.!?:]\s*$", text[: match.start()])
        if any(ch.isdigit() for ch in word) or (name and word.casefold() not in _NO_NAMES):
            found |= set(stems(words(word)))
    return found


def names_unsaid(content: str, quote: str, texts: Iterable[str]) -> set[str]:
    """The names in an English statement, made from an English quote, that occur nowhere in `texts`."""
    made, heard = set(_WORD.findall(content.casefold())), set(_WORD.findall(quote.casefold()))
    if not quote.isascii() or not content.isascii() or (made | heard) & (_NOT_ENGLISH - _ENGLISH - _SHARED):
        return set()
    names = {
        found.group()
        for found in _WORD.finditer(content)
        if found.start() and found.group().istitle() and len(found.group()) >= _LEAST_PREFIX
    }
    terms = {stem: name for name in names for stem in stems(words(name)) if stem not in _CALENDAR}
    if not terms:
        return set()
    said = set(stems(words(" ".join((quote, *texts)))))
    return {name for term, name in terms.items() if not is_said(term, said)}


def is_translated(content: str, quote: str) -> bool:
    """Whether a statement puts into English what was said in another language, as far as words and script tell."""
    said, made = set(_WORD.findall(quote.casefold())), set(_WORD.findall(content.casefold()))
    if not LATIN_OR_CYRILLIC.search(quote):
        return len(_LATIN.findall(content)) > len(content) // 2
    return (
        bool(said & _NOT_ENGLISH)
        and not said & (_ENGLISH - _ELSEWHERE_TOO)
        and bool(made & _ENGLISH - said - {"a"})
        and not made & _NOT_ENGLISH
    )


def places(value: str, text: str) -> list[tuple[int, int]]:
    """Where a value occurs in a text as separate words, ignoring case."""
    spaced = LATIN_OR_CYRILLIC.search(value) is not None or value.isascii()
    edge = r"(?<!\w){}(?!\w)" if spaced else "{}"
    return [found.span() for found in re.finditer(edge.format(re.escape(value)), text, re.IGNORECASE)]


def own_words(quote: str, value: str | None = None) -> str:
    """The user's words as a statement: the clause with the value, or the entire quote, on one line."""
    text = plain_text(quote)
    if value and (found := places(value, text)):
        place, end_of_value = found[0]
        start = max((text.rfind(mark, 0, place) for mark in (": ", "; ", "! ", "? ", ". ")), default=-1)
        ends = [end for mark in (", ", "; ", "! ", "? ", ". ") if (end := text.find(mark, end_of_value)) >= 0]
        text = text[start + 2 if start >= 0 else 0 : min(ends, default=len(text))]
    text = _FILLERS.sub("", text.strip(_TRIMMED), count=1).strip(_TRIMMED)[:_SHORT_CONTENT] or text
    return text[:1].upper() + text[1:]


def is_bare(content: str, value: str | None) -> bool:
    """Whether a statement says nothing besides the value of its key."""
    return bool(value) and canonical_statement(content) == canonical_statement(value or "")


def says_more(content: str, than: str, similarity: float) -> bool:
    """Whether a statement says something that another does not: two more telling words, and not the same meaning."""
    known = set(stems(words(than)))
    return similarity < 0.8 and sum(not is_said(term, known) for term in telling(content)) >= 2
