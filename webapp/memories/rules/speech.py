"""How a quote is meant: told about the user, or asked, supposed, joked, reported, pasted, or about somebody else.

Rules for what models get wrong however they are instructed. They look at the quote and the sentence around it, know the
most common words of some languages, and hold back only if the words leave no doubt.
"""

from __future__ import annotations

import re
from enum import StrEnum

from webapp.memories.rules.asides import DAYDREAM, IN_JEST, ON_CONDITION, REQUEST, WILL_DO
from webapp.memories.rules.phrases import (
    ANSWERING,
    ASKING,
    CLAUSE,
    CLOSE,
    CLOSE_NAMED,
    CLOSE_SUBJECT,
    CLOSE_WORD,
    CONDITION,
    FENCED,
    FIRST_PERSON,
    IF,
    JOKE,
    LANGUAGE,
    LETTER,
    MOOD,
    NOW,
    OTHERS_SUBJECT,
    OWNED,
    PASSING_NOW,
    POSSESSIVE,
    QUOTED,
    ROLE,
    SAID,
    SENTENCE,
    STANDING,
    SUBJECT_I,
    SUBJECT_THEY,
    TASK,
    TEXT_WORK,
    THIRD,
    UNSPACED,
    WH,
    WOULD,
    WOULD_BE,
)
from webapp.text.quotes import Span
from webapp.text.words import stems, words


class Speech(StrEnum):
    """How something was said."""

    TOLD = "told"
    ASKED = "asked"
    SUPPOSED = "supposed"
    JOKED = "joked"
    REPORTED = "reported"
    PASTED = "pasted"
    OF_OTHERS = "of_others"
    PASSING = "passing"


_MOST_SEARCHED = 20_000
_NAME = r"[A-ZÀ-ÞА-Я][\w’'-]+"
_NAMED_CLOSE = re.compile(
    rf"(?<!\w)(?i:{CLOSE})(?!\w),?\s+(?i:(?:is|are|was)?\s*(?:called|named)\s+|heißt\s+|s['’]appelle\s+|se\s+llama\s+|si\s+chiama\s+|"
    rf"chama-se\s+|heet\s+)?(?P<after>{_NAME})|(?P<before>{_NAME}),?\s+(?i:{POSSESSIVE})\s+(?:\w+\s+)?(?i:{CLOSE})(?!\w)"
)
"""A name next to the word for whose it is: in other languages nouns may be capitalised, too."""


def speech_of(span: Span, message: str) -> Speech:
    """How the quote at `span` of the user's own `message` is meant."""
    quote = message[span.start : span.end]
    if any(block.start <= span.start and span.end <= block.end for block in pasted_spans(message)):
        return Speech.PASTED
    if ROLE.search(message[: span.end]) and ROLE.search(sentence_around(span, message, before=3)):
        return Speech.SUPPOSED
    sentence = sentence_around(span, message)
    if IF.search(_upto(span, message)) or DAYDREAM.search(sentence) or (WOULD.search(quote) and IF.search(sentence)):
        return Speech.SUPPOSED
    if _is_condition(span, message, sentence) or _depends(span, message):
        return Speech.SUPPOSED
    if (
        IN_JEST.match(message[span.start :])
        or JOKE.search(sentence)
        or JOKE.match(message[span.end :].lstrip(" .!?…\n")[:40])
    ):
        return Speech.JOKED
    if is_question(span, message) or REQUEST.match(quote):
        return Speech.ASKED
    if MOOD.search(quote) and (NOW.search(sentence) or not STANDING.search(sentence)) and len(quote.split()) <= 12:
        return Speech.PASSING
    if PASSING_NOW.search(quote) and NOW.search(sentence) and not STANDING.search(sentence):
        return Speech.PASSING
    if OTHERS_SUBJECT.search(quote) or (OTHERS_SUBJECT.search(sentence) and not SUBJECT_I.search(quote)):
        return Speech.OF_OTHERS
    if (
        THIRD.search(quote)
        and not FIRST_PERSON.search(quote)
        and not CLOSE_NAMED.search(sentence_around(span, message, before=2))
    ):
        return Speech.OF_OTHERS
    if (said := SAID.search(_upto(span, message, whole=True))) and not FIRST_PERSON.search(
        message[said.end() : span.end]
    ):
        return Speech.REPORTED if not SUBJECT_I.search(quote) and _begins_with_others(sentence) else Speech.TOLD
    return Speech.TOLD


def is_question(span: Span, message: str) -> bool:
    """Whether a quote only asks, or sets a task: no clause of it states anything."""
    quote = message[span.start : span.end]
    rest = message[span.end :]
    mark = re.match(r"[^.!?…\n。！？,;:，；：]*([.!?…。！？,;:，；：\n]|$)", rest)
    asks = quote.rstrip(" \"'”’)").endswith(("?", "？", "؟")) or bool(mark and mark[1] in ("?", "？", "؟") and mark[1])
    if _is_asked_about(span, message, asks):
        return True
    sentences = [part for part in re.split(r"(?<=[.!?…。！？])\s+", quote.strip()) if part]
    for number, sentence in enumerate(sentences):
        last = number == len(sentences) - 1
        sentence_asks = sentence.rstrip(" \"'”’)").endswith(("?", "？", "؟")) or (last and asks)
        clauses = [clause for clause in CLAUSE.split(sentence) if clause and clause.strip(" .!?¿¡\"'")]
        for place, clause in enumerate(clauses):
            final = place == len(clauses) - 1
            told = sentence.endswith(".") and WH.match(clause)  # "what is still open is the attic."
            if ASKING.match(clause) and (sentence_asks or not (told or FIRST_PERSON.search(clause))):
                # What follows an interrogative clause belongs to the question.
                break
            if (
                sentence_asks
                and final
                and (
                    UNSPACED.search(clause)
                    or not (SUBJECT_I.match(clause.lstrip(" ¿")) or place == 0 and FIRST_PERSON.match(clause.lstrip()))
                )
            ):
                continue
            if TASK.match(clause) and not STANDING.search(sentence):
                break
            return False
    return bool(sentences)


def _is_asked_about(span: Span, message: str, asks: bool) -> bool:
    """Whether a quote is part of a question or a task: "Should [I become a vegetarian]?"."""
    sentence = next((part for part in SENTENCE.finditer(message) if part.start() <= span.start < part.end()), None)
    before = message[sentence.start() : span.start] if sentence else ""
    clause = CLAUSE.split(before)[-1].strip(" ¿\"'“‘")
    if asks and 0 < len(clause.split()) <= 2 and ASKING.fullmatch(clause):
        return True
    return TASK.match(clause) is not None and not FIRST_PERSON.search(message[span.start - len(clause) - 1 : span.end])


def is_one_off(span: Span, message: str) -> bool:
    """Whether a wish about the answer is for this time only."""
    sentence = sentence_around(span, message)
    return bool(NOW.search(sentence)) and not STANDING.search(message[span.start : span.end])


def names_language(text: str) -> bool:
    """Whether a wish names the language to answer in."""
    return LANGUAGE.search(text) is not None and ANSWERING.search(text) is not None


def split_language(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The languages that a wish names, and what else it says."""
    named = frozenset(found.group().casefold() for found in LANGUAGE.finditer(text))
    rest = STANDING.sub(" ", LANGUAGE.sub(" ", text))
    return named, frozenset(stems(words(rest))) - {"pleas", "bitt", "instead", "on"}


def with_whom(span: Span, message: str, content: str) -> Span:
    """A quote about "her" or "him", with the preceding sentence that says who it is, unless the statement does."""
    quote = message[span.start : span.end]
    if not THIRD.search(quote) or FIRST_PERSON.search(quote) or CLOSE_WORD.search(content):
        return span
    around = sentence_around(span, message, before=2)
    start = message.find(around)
    named = list(CLOSE_NAMED.finditer(message, max(0, start), span.start))
    if not named or names_somebody(content, message[named[-1].start() : span.start]):
        return span
    sentence = next(
        (part for part in SENTENCE.finditer(message) if part.start() <= named[-1].start() < part.end()), None
    )
    start = sentence.start() if sentence else named[-1].start()
    return Span(start + len(message[start:]) - len(message[start:].lstrip()), span.end)


def of_them(quote: str) -> str:
    """The last sentence of a quote that names somebody and continues about them, with the name in place of "she"."""
    *before, last = [part.group().strip() for part in SENTENCE.finditer(quote)] or [quote]
    named = list(CLOSE_NAMED.finditer(" ".join(before)))
    if not named:
        return quote
    whom = named[-1].group()
    put = re.sub(SUBJECT_THEY, whom, last, count=1)
    return put if put != last else f"{whom}: {last}"


def told_of_them(quote: str) -> bool:
    """Whether a quote names somebody close and continues about them: "My sister moved. She is a pilot."."""
    *before, last = [part.group() for part in SENTENCE.finditer(quote)] or [""]
    return bool(before) and bool(THIRD.search(last)) and CLOSE_NAMED.search(" ".join(before)) is not None


def about_somebody_close(quote: str, value: str | None = None) -> bool:
    """Whether a quote is about somebody close to the user (or their pet): as its subject or, with `value`, its owner.

    "My dog Biscuit is a beagle" is; "I live with my dog" is not, but "I have a dog, Biscuit" is for "Biscuit".
    """
    if CLOSE_SUBJECT.search(quote) or told_of_them(quote):
        return True
    if not value:
        return False
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", quote, re.IGNORECASE)
    return found is not None and OWNED.search(quote[: found.start()]) is not None


def names_somebody(content: str, quote: str) -> bool:
    """Whether a statement says whom it is about: it has the word for them ("dog") or the name given in the quote."""
    subject = CLOSE_SUBJECT.search(quote)
    others = {found.group().casefold() for found in CLOSE_WORD.finditer(quote, subject.end())} if subject else set()
    if any(found.group().casefold() not in others for found in CLOSE_WORD.finditer(content)):
        return True
    return any((found["after"] or found["before"]) in content for found in _NAMED_CLOSE.finditer(quote))


def pasted_spans(message: str) -> list[Span]:
    """The parts of a message that are quoted text: fenced, quoted at length, a letter, or given to be worked on."""
    text = message[:_MOST_SEARCHED]
    spans = [Span(*found.span()) for pattern in (FENCED, QUOTED, LETTER) for found in pattern.finditer(text)]
    if work := TEXT_WORK.match(text):
        spans.append(Span(work.end(), len(message)))
    return spans


def _is_condition(span: Span, message: str, sentence: str) -> bool:
    """Whether a quote is in the condition of a hypothetical: "if I moved to Peru, what would I miss?"."""
    upto = _upto(span, message)
    found = list(CONDITION.finditer(upto))
    if not found or WOULD_BE.search(sentence, found[-1].end()) is None:
        return False
    between = upto[found[-1].end() : len(upto) - (min(span.end, span.start + 60) - span.start)]
    return not re.search(r"[,;:–—]", between)


def _depends(span: Span, message: str) -> bool:
    """Whether a quote is what will be done under a condition that it leaves out: "if it rains, [I'll stay at home]"."""
    before = _upto(Span(span.start, span.start), message)
    return ON_CONDITION.match(before) is not None and WILL_DO.match(message[span.start : span.end]) is not None


def _begins_with_others(sentence: str) -> bool:
    said = SAID.search(sentence)
    return bool(said) and not SUBJECT_I.search(sentence[: said.start()] if said else "")


def sentence_around(span: Span, message: str, before: int = 0) -> str:
    """The sentences that a quote touches, from the beginning of the first to the end of the last, and `before` more."""
    found = list(SENTENCE.finditer(message))
    inside = [n for n, part in enumerate(found) if part.start() < span.end and part.end() > span.start]
    if not inside:
        return message[span.start : span.end]
    return message[found[max(0, inside[0] - before)].start() : found[inside[-1]].end()]


def _upto(span: Span, message: str, whole: bool = False) -> str:
    """The sentence of a quote up to a few words into the quote, or up to its end."""
    found = next((part for part in SENTENCE.finditer(message) if part.start() <= span.start < part.end()), None)
    start = found.start() if found else span.start
    return message[start : span.end] if whole else message[start : min(span.end, span.start + 60)]
