"""The language of a text, by its script and its most common words: enough to choose a stemmer."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ENGLISH = "english"
_SCRIPTS = (
    ("\u0400", "\u052f", "russian"),
    ("\u0370", "\u03ff", "greek"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0b80", "\u0bff", "tamil"),
)


def _fold(word: str) -> str:
    return word.translate(str.maketrans("éèêàáâãçñíóôõúüöäßış", "eeeaaaacniooouuoasis"))


_LISTED: dict[str, list[str]] = json.loads(Path(__file__).with_name("stop_words.json").read_text("utf-8"))
STOP_WORDS = {language: frozenset(map(_fold, words)) for language, words in _LISTED.items()}
"""The commonest words by language (Snowball's lists, shortened), folded like `webapp.text.words` does: not indexed."""
_SPEAKING: dict[str, tuple[str, ...]] = {
    word: tuple(language for language, known in STOP_WORDS.items() if word in known)
    for known in STOP_WORDS.values()
    for word in known
}
_LATIN = ("german", "french", "spanish", "portuguese", "italian", "dutch", "turkish")


def language_of(folded_words: Sequence[str]) -> str:
    """Return the language of folded words: that of the script, or the one with the most common words among them.

    English wins if in doubt.
    """
    longest = max(folded_words, key=len, default="")
    first = longest[:1]
    if first > "\u02ff":
        return next((language for low, high, language in _SCRIPTS if low <= first <= high), ENGLISH)
    votes = Counter(language for word in folded_words[:200] for language in _SPEAKING.get(word, ()))
    best = max(_LATIN, key=lambda language: votes[language])
    return best if votes[best] > votes[ENGLISH] else ENGLISH
