"""Rewords a statement as a person would note it, and detects what is only about the act of saying; pure."""

from __future__ import annotations

import re

from webapp.memories.rules.phrases import CLOSE_NAMED, FIRST_PERSON, any_of
from webapp.memories.rules.soundness import is_said
from webapp.text.words import stems, words

_SUBJECT = re.compile(
    r"^(?:(?:the\s+)?user|(?:der|die)\s+(?:be)?nutzer(?:in)?|l['’]utilisat(?:eur|rice)|(?:el|la)\s+usuari[oa]|l['’]utente|"
    r"[oa]\s+(?:utilizador|usuári[oa])|de\s+gebruiker)"
    r"(?P<owns>['’]s)?\s+(?=[^\W\d_])(?!(?:and|or|und|oder|et|ou|y|o|e|en|of|who|named|called|whose|in|on|at|with)\b)",
    re.IGNORECASE,
)
_COPULA = re.compile(
    r"^is\s+(?=(?:\w+ly\s+)?(?:allergic|intolerant|vegan|vegetarian|married|single|divorced|engaged|widowed|retired|from|afraid|"
    r"\d+\s+years|training|learning|working|building|planning|writing|studying|preparing|interested)\b)",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"^(?:was\s+)?"
    + any_of(
        "updat(?:ed?|es) chang(?:ed|es) correct(?:ed|s) mention(?:ed|s) stat(?:ed|es) express(?:ed|es) "
        "shar(?:ed|es) said says provid(?:ed|es) introduc(?:ed|es) ask(?:ed|s) confirm(?:ed|s) told tells "
        "clarif(?:ied|ies) "
        "inform(?:ed|s) request(?:ed|s) describ(?:ed|es) answer(?:ed)?_with indicat(?:ed|es) declar(?:ed|es)"
    )
    + r"(?!\w)",
    re.IGNORECASE,
)


def plainly(statement: str) -> str:
    """A statement without "The user" in front, if the rest can stand alone: "Lives in Porto", "Dog is called Rex"."""
    found = _SUBJECT.match(statement)
    if found is None:
        return statement
    rest = statement[found.end() :]
    if _SUBJECT.search(rest) or re.search(r"(?<!\w)(?:the\s+)?user(?!\w)", rest, re.IGNORECASE):
        return statement
    if found["owns"] is None:
        rest = _COPULA.sub("", rest)
    return rest[:1].upper() + rest[1:]


def tells_of_telling(statement: str, quote: str) -> bool:
    """Whether a statement says that something was said, changed or asked, in a word that the quote does not have:
    "Updated coffee habit"."""
    found = _TELLING.match(statement)
    return found is not None and not any(
        is_said(term, set(stems(words(quote)))) for term in stems(words(found.group()))
    )


def speaks_as_another(statement: str, quote: str) -> bool:
    """Whether a statement says "I" or "my" in words other than those of its quote: "Calls me Nadia"."""
    if FIRST_PERSON.search(statement) is None or CLOSE_NAMED.search(statement):
        return False
    made, said = words(statement), words(quote)
    return not any(said[start : start + len(made)] == made for start in range(len(said) - len(made) + 1))
