"""Words about oneself, as others note them: "my wife" becomes "their wife", "ma femme" "sa femme"; pure.

German and Arabic have no gender-neutral form, so the generic masculine is used, as in "der Nutzer".
"""

from __future__ import annotations

import re

_Rules = tuple[tuple[re.Pattern[str], str], ...]


def _rules(*pairs: tuple[str, str]) -> _Rules:
    return tuple((re.compile(pattern, re.IGNORECASE), replacement) for pattern, replacement in pairs)


_PERSPECTIVES: dict[str, _Rules] = {
    "en": _rules(
        (r"\b(?:i am|i['’]m)\b", "they are"),
        (r"\b(?:i have|i['’]ve)\b", "they have"),
        (r"\b(?:my|our)\b", "their"),
        (r"\b(?:mine|ours)\b", "theirs"),
        (r"\bmyself\b", "themselves"),
        (r"\b(?:me|us)\b", "them"),
        (r"\b(?:i|we)\b", "they"),
    ),
    "de": _rules(
        (r"\bmein(e[nmrs]?)?\b", r"sein\1"), (r"\bunser(e[nmrs]?)?\b", r"ihr\1"), (r"\b(?:mir|mich)\b", "sich")
    ),
    "fr": _rules(
        (r"\bmon\b", "son"), (r"\bma\b", "sa"), (r"\bmes\b", "ses"), (r"\bnotre\b", "leur"), (r"\bnos\b", "leurs")
    ),
    "es": _rules((r"\b(?:mi|nuestr[oa])\b", "su"), (r"\b(?:mis|nuestr[oa]s)\b", "sus"), (r"\bconmigo\b", "consigo")),
    "pt": _rules(
        (r"\bmeu(s?)\b", r"seu\1"),
        (r"\bminha(s?)\b", r"sua\1"),
        (r"\bnosso(s?)\b", r"seu\1"),
        (r"\bnossa(s?)\b", r"sua\1"),
    ),
    "it": _rules(
        (r"\bmio\b", "suo"),
        (r"\bmia\b", "sua"),
        (r"\bmiei\b", "suoi"),
        (r"\bmie\b", "sue"),
        (r"\bnostr[oaie]\b", "loro"),
    ),
    "zh": _rules((r"我们?", "自己")),
    "ar": _rules((r"(?<=\w\w)تي(?!\w)", "ته")),
}
# Only for nouns known to be relatives or possessions: many other words end in the same letter.
_ARABIC_OWN = re.compile(r"(?<!\w)((?:ال)?(?:عمل|بيت|أخ|أب|أم|ابن|صديق|كلب|طفل|أولاد|أطفال|والد|جد|منزل|عائل))ي(?!\w)")
_GOES_ON = re.compile(
    r"(?<!\s),?\s+(?:weil|dass|wenn|wo|seit|parce\s+que|depuis\s+que|quand|lorsque|car|où|qu[ei]|porque|cuando|desde\s+que|donde|"
    r"quando|onde|perché|che|dove)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_SELF = re.compile(r"\b(?:ich|wir|je|nous|yo|nosotros|eu|nós|io|noi)\b|\bj['’]", re.IGNORECASE)


def third_person(text: str, language: str = "en") -> str:
    """The words in the third person; except in English, a clause that continues about the speaker is dropped."""
    if (clause := _GOES_ON.search(text)) and language != "en" and _SELF.search(clause[0]):
        text = text[: clause.start()]
    for pattern, replacement in _PERSPECTIVES[language]:
        text = pattern.sub(replacement, text)
    return _ARABIC_OWN.sub(r"\1ه", text) if language == "ar" else text
