"""When two statements are close enough to be one, and when close means opposed."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from enum import StrEnum

import numpy as np

from webapp.text.words import stems, words

_NEGATION_WORDS = (
    "not no never without cannot cant dont doesnt didnt isnt arent wasnt wont wouldnt havent hasnt stopped quit "
    "nicht kein keine keinen nie pas jamais nunca não nao non niet geen не нет никогда không"
)
_DISLIKE_WORDS = "dislike dislikes hate hates detest detests avoid avoids loathe loathes déteste hasse odio"
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_DISLIKES = frozenset(_DISLIKE_WORDS.split())
_CJK_NEGATION = re.compile(r"(?<!差)不(?![错過过但仅])|没(?!关系)|沒|ない|ません|안 |않|못")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


_ALIKE = (
    "like likes liked love loves loved enjoy enjoys enjoyed adore adores " + _DISLIKE_WORDS,
    "live lives living reside resides",
    "has have had own owns",
)
_SYNONYMS = {word: group.split()[0] for group in _ALIKE for word in group.split()}


MORE_SAME_AT = 0.93
"""The cosine below which one more telling word makes another statement."""


class Likeness(StrEnum):
    """How one statement relates to another."""

    SAME = "same"
    OPPOSED = "opposed"
    DIFFERENT = "different"


def cosine(left: np.ndarray | None, right: np.ndarray | None) -> float:
    """The cosine of two vectors of the same length; 0 if one is missing or zero, or their lengths differ."""
    if left is None or right is None or left.shape != right.shape:
        return 0.0
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.dot(left, right)) / norm if norm > 0 else 0.0


def compare(left: str, right: str, similarity: float, same_at: float, opposed_at: float) -> Likeness:
    """Judge two statements by the similarity of their vectors and by what vectors do not show.

    Vectors hardly reflect a "not", a number or a name, so those decide: the same except for a negation is a
    contradiction; the same except for a name or number is another statement, and so is one with a word exchanged.
    """
    if similarity < min(same_at, opposed_at) or _particulars(left) != _particulars(right):
        return Likeness.DIFFERENT
    negative = is_negative(left)
    if negative != is_negative(right):
        return Likeness.OPPOSED if similarity >= opposed_at else Likeness.DIFFERENT
    if not negative and is_ending(left) != is_ending(right):
        return Likeness.DIFFERENT  # someone who used to be a nurse no longer is one; "stopped" and "not" say the same
    if similarity < same_at or swaps_a_word(left, right):
        return Likeness.DIFFERENT
    if similarity < MORE_SAME_AT and _terms(left) != _terms(right):
        return Likeness.DIFFERENT  # a daughter's allergy is not the user's, and rarely eating meat is not eating meat
    return Likeness.SAME


def may_be_same(left: str, right: str, similarity: float, maybe_at: float) -> bool:
    """Whether two statements may say the same in other words, so that somebody has to read them to tell."""
    alike = similarity >= maybe_at and _particulars(left) == _particulars(right)
    return alike and is_negative(left) == is_negative(right)


def swaps_a_word(left: str, right: str) -> bool:
    """Whether one statement has a different word in the place of one of the other's: "bought a house", "sold a house".

    In scripts without spaces, a different character.
    """
    changes = SequenceMatcher(None, _terms(left), _terms(right), autojunk=False).get_opcodes()
    return any(kind == "replace" for kind, *_ in changes)


def _terms(statement: str) -> list[str]:
    """The telling words, stemmed, without negations; all words of liking count as one, as do those of having."""
    plain = [word for word in words(statement) if word.replace("'", "") not in _NEGATIONS]
    return stems([_SYNONYMS.get(word, word) for word in plain]) or plain


def is_negative(statement: str) -> bool:
    """Whether a statement denies something: an odd number of negations and words of dislike."""
    words = [word.replace("'", "").replace("’", "") for word in _WORD.findall(statement.casefold())]
    turns = sum(word in _NEGATIONS or word in _DISLIKES for word in words)
    return (turns + len(_CJK_NEGATION.findall(statement))) % 2 == 1


_ENDING = re.compile(
    r"(?<!\w)(?:gave\s+up|given\s+up|giving\s+up|quit|stopped|no\s+longer|(?:not|n['’]t)\b.*\bany\s?more|any\s?more|used\s+to|"
    r"gone\s+off|split\s+up|broke(?:n)?\s+up|instead\s+of|aufgegeben|aufgehört|nicht\s+mehr|kein\w*\b.*\bmehr|statt|arrêté|ne\b.*\bplus|n['’]\w+.*\bplus|"
    r"au\s+lieu\s+de|dejé\s+de|dejado\s+de|ya\s+no|en\s+vez\s+de|smesso|non\b.*\bpiù|invece\s+di|parei\s+de|deixei\s+de|já\s+não|"
    r"em\s+vez\s+de|gestopt|niet\s+meer|geen\b.*\bmeer|больше\s+не|перестал\w*|бросил\w*)(?!\w)|不再|もう.*ない|やめ",
    re.IGNORECASE,
)


def negates_in_cjk(text: str) -> bool:
    """Whether a text in a script without spaces, or in Korean, denies something: an odd number of negations."""
    return len(_CJK_NEGATION.findall(text)) % 2 == 1


def ending_in(statement: str) -> re.Match[str] | None:
    """Where a statement says that something is over."""
    return _ENDING.search(statement)


def is_ending(statement: str) -> bool:
    """Whether a statement says that something is over: given up, no longer, not any more."""
    return _ENDING.search(statement) is not None


_CORRECTING = re.compile(
    r"(?<!\w)(?:actually|correction|update|now|instead|rather|changed|moved|switched|no\s+longer|i\s+meant|sorry|"
    r"slip(?:s|ped)|postponed|rescheduled|delayed|put\s+off|push(?:es|ed)\s+(?:back\s+)?to|brought\s+forward|new\s+date|after\s+all|"
    r"verschoben|verlegt|vertagt|reporté\w*|décalé\w*|aplaza\w+|pospuest\w+|rinviat\w+|spostat\w+|adiad\w+|uitgesteld|verzet|"
    r"jetzt|inzwischen|doch|korrektur|geändert|statt|eigentlich|maintenant|désormais|finalement|en\s+fait|plutôt|ahora|"
    r"en\s+realidad|cambi\w+|corrección|adesso|ora|anzi|invece|agora|na\s+verdade|nu|voortaan|eigenlijk|теперь)(?!\w)",
    re.IGNORECASE,
)


def is_correcting(statement: str) -> bool:
    """Whether a statement says that something differs from before, or from what was said."""
    return _CORRECTING.search(statement) is not None


def differs_in_particulars(left: str, right: str) -> bool:
    """Whether two statements each contain a name or number that the other does not."""
    mine, theirs = _particulars(left), _particulars(right)
    return bool(mine - theirs) and bool(theirs - mine)


def particulars_of(statement: str) -> frozenset[str]:
    """The numbers and names of a statement, folded."""
    return _particulars(statement)


def _particulars(statement: str) -> frozenset[str]:
    """Numbers, names (capitals within the sentence) and emoji: what makes a statement about this and not that."""
    found = set()
    for match in _WORD.finditer(statement):
        word = match.group()
        if any(ch.isdigit() for ch in word) or (match.start() > 0 and word[0].isupper() and word not in {"I", "I'm"}):
            found.add(re.sub(r"['’]s$", "", word).casefold())
    found.update(ch for ch in statement if unicodedata.category(ch) == "So")
    return frozenset(found)
