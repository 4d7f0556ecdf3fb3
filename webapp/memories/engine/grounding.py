"""Is a quote really the user's own words? The rule that every memory rests on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from webapp.memories.engine.normalise import canonical_statement

# Blocks that the application itself puts in front of a user's message (retrieved memories, documents). Whatever
# stands in one is not something the user said.
INJECTED_TAGS = (
    "reference",
    "known",
    "summaries",
    "retrieved_context",
    "retrieved",
    "context",
    "memory",
    "memories",
    "documents",
    "document",
)
_INJECTED = re.compile(
    rf"<(?P<tag>{'|'.join(INJECTED_TAGS)})(?:\s[^<>]*)?>.*?(?:</(?P=tag)\s*>|\Z)", re.DOTALL | re.IGNORECASE
)

# Saying yes to what the assistant proposed quotes nothing: the words would be the assistant's.
_ASSENTS = (
    "yes|yeah|yep|yup|ok|okay|sure|right|correct|exactly|no|nope|thanks|thank you|please|go on|continue|true|fine|"
    "great|good|cool|yes please|no thanks|that's right|that is right|sounds good|of course|got it|perfect|"
    "ja|nein|genau|stimmt|danke|bitte|oui|non|merci|d'accord|si|sí|no gracias|gracias|vale|claro|sim|não|obrigado|"
    "sì|grazie|va bene|да|нет|спасибо|хорошо|はい|いいえ|ありがとう|是|是的|对|好|好的|不|谢谢|네|아니요|예|نعم|لا"
)
BARE_ASSENT = frozenset(_ASSENTS.split("|"))

_CURLY = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'})
# Scripts that part words by spaces: there a quote must not begin or end inside a word ("Al" in "Alexander").
_SPACED = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "DIGIT")
_WIDE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
MIN_LETTERS = 4
_SALIENT_LETTERS = 4
_COMMON_WORDS = (
    "user users user's their they them there that this these those with from have has been about would could should "
    "which what when where will does into onto over under than then also very much more most some name named called "
    "likes like prefers prefer wants want uses using always never every"
)
_COMMON = frozenset(_COMMON_WORDS.split())
BORROWED_SHARE = 2 / 3


class Span(NamedTuple):
    """A half-open range of characters of the original message."""

    start: int
    end: int


def find_quote(quote: str, message: str) -> Span | None:
    """The first place where `quote` stands verbatim in the user's own part of `message`, or None.

    White space, case, curly or straight quotation marks and Unicode normal forms are set aside; nothing else is.
    A match may not lie in an injected block, split a character, or begin or end inside a word.
    """
    # Stripped before it is folded: there are characters that fold to a space and a mark, such as "¸".
    needle, _ = _fold(quote.strip())
    if not needle.strip():
        return None
    haystack, origins = _fold(message)
    blocks = injected_spans(message)
    at = haystack.find(needle)
    while at >= 0:
        end = at + len(needle)
        if _on_boundaries(origins, at, end):
            span = Span(origins[at][0], origins[end - 1][1])
            if not _splits_word(message, span) and not any(b.start < span.end and span.start < b.end for b in blocks):
                return span
        at = haystack.find(needle, at + 1)
    return None


def has_substance(quote: str, message: str) -> bool:
    """Whether a quote says enough to carry a memory: more than an assent, and more than a crumb of its message.

    A short answer ("42", "🍕") counts when it is the whole of what the user said.
    """
    said = canonical_statement(quote)
    if said in BARE_ASSENT:
        return False
    if _weight(quote) >= MIN_LETTERS:
        return True
    own = canonical_statement(user_words(message))
    return said == own and any(ch.isalnum() or unicodedata.category(ch) == "So" for ch in said)


def injected_spans(message: str) -> list[Span]:
    """The marked blocks of `message` that are not the user's words; an unclosed block runs to the end."""
    return [Span(*match.span()) for match in _INJECTED.finditer(message)]


def user_words(message: str) -> str:
    """`message` without the blocks that were injected into it."""
    return _INJECTED.sub(" ", message)


def is_borrowed(statement: str, message: str, others: Iterable[str]) -> bool:
    """Whether a statement repeats what others said (assistant, memory, document) and nothing of the user's message.

    Only telling words count (names, numbers, words of four letters and more). A statement with one telling word of
    the user's own is not borrowed, nor is one that takes only a word or so from the others: it may well be a
    translation of what the user said.
    """
    telling = _telling_words(statement)
    own = _stems(user_words(message))
    if not telling or telling & own:
        return False
    return any(len(telling & _stems(text)) >= BORROWED_SHARE * len(telling) for text in others)


# All operations of a call quote the same few messages; the bound keeps what stays in memory small.
@lru_cache(maxsize=16)
def _fold(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The comparable form of `text` and, for each of its characters, the range of the original it came from."""
    folded: list[str] = []
    origins: list[tuple[int, int]] = []
    index, size = 0, len(text)
    while index < size:
        end = index + 1
        if text[index].isspace():
            while end < size and text[end].isspace():
                end += 1
            piece = " "
        else:
            # A character and the marks on it are folded as one, so that composed and decomposed forms agree.
            while end < size and unicodedata.combining(text[end]):
                end += 1
            piece = _fold_cluster(text[index:end])
        folded.append(piece)
        origins.extend([(index, end)] * len(piece))
        index = end
    return "".join(folded), origins


def _fold_cluster(cluster: str) -> str:
    if len(cluster) == 1 and cluster.isascii():
        return cluster.lower()
    decomposed = unicodedata.normalize("NFKD", cluster.translate(_CURLY))
    return unicodedata.normalize("NFKD", decomposed.casefold())


def _on_boundaries(origins: list[tuple[int, int]], start: int, end: int) -> bool:
    begins = start == 0 or origins[start - 1] != origins[start]
    ends = end == len(origins) or origins[end - 1] != origins[end]
    return begins and ends


def _splits_word(message: str, span: Span) -> bool:
    return any(
        0 < edge < len(message) and _in_spaced_word(message[edge - 1]) and _in_spaced_word(message[edge])
        for edge in span
    )


def _in_spaced_word(char: str) -> bool:
    if char.isascii():
        return char.isalnum()
    return char.isalnum() and unicodedata.name(char, "").startswith(_SPACED)


def _weight(text: str) -> int:
    """Letters and digits of a text, those of scripts that say much with few counting double."""
    return sum(
        2 if not ch.isascii() and unicodedata.name(ch, "").startswith(_WIDE) else 1 for ch in text if ch.isalnum()
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text))


def _telling_words(statement: str) -> set[str]:
    return {
        _stem(word)
        for word in _words(statement)
        if word.casefold() not in _COMMON and (len(word) >= _SALIENT_LETTERS or word[0].isupper() or word.isdigit())
    }


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in _words(text)}


def _stem(word: str) -> str:
    """A crude English stem: enough to see "lives" and "living" in "live"."""
    word = word.casefold()
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
