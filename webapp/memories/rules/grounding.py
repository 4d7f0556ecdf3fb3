"""Is a quote really the user's own words? Every memory rests on this rule."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from webapp.text.canonical import canonical_statement
from webapp.text.quotes import Span, places_of
from webapp.text.words import stem

# Blocks that the application itself puts before a user's message (retrieved memories, documents). The user did not say
# what is in them.
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
    "tool_result",
)
_BLOCK = r"<(?P<tag>{})(?:\s[^<>]*)?>.*?(?:</(?P=tag)\s*>|\Z)"
_INJECTED = re.compile(_BLOCK.format("|".join(INJECTED_TAGS)), re.DOTALL | re.IGNORECASE)
# In prompts also files, and what a program says about its request.
_READ_TAGS = (*INJECTED_TAGS, "files", "file_pages", "request", "client")
_READ = re.compile(_BLOCK.format("|".join(_READ_TAGS)), re.DOTALL)

# Saying yes to the assistant's proposal quotes nothing: the words would be the assistant's.
_ASSENTS = (
    "yes|yeah|yep|yup|ok|okay|sure|right|correct|exactly|no|nope|thanks|thank you|please|go on|continue|true|fine|"
    "great|good|cool|yes please|no thanks|that's right|that is right|sounds good|of course|got it|perfect|"
    "ja|nein|genau|stimmt|danke|bitte|oui|non|merci|d'accord|si|sí|no gracias|gracias|vale|claro|sim|não|obrigado|"
    "sì|grazie|va bene|да|нет|спасибо|хорошо|はい|いいえ|ありがとう|是|是的|对|好|好的|不|谢谢|네|아니요|예|نعم|لا"
)
BARE_ASSENT = frozenset(_ASSENTS.split("|"))

_PUT_AROUND = re.compile(
    r"^[\"'“”‘’„«»\s…•*]*(?:user\s*:)?[\"'“”‘’„«»\s…]*|[\"'“”‘’«»\s.…,;:!?。！？*]+$", re.IGNORECASE
)
"""What models write before and after the words they copy."""
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


def find_quote(quote: str, message: str) -> Span | None:
    """The first place where `quote` occurs verbatim in the user's own part of `message`, or None.

    Only white space, case, the style of quotation marks and dashes, marks of emphasis, Unicode normal forms and
    punctuation around the words are ignored. A match may not lie in an injected block, split a character, or begin or
    end in a word.
    """
    blocks = injected_spans(message)
    bare = _PUT_AROUND.sub("", quote)
    for form in (quote, bare) if bare and bare != quote else (quote,):
        for span in places_of(form, message):
            if not any(block.start < span.end and span.start < block.end for block in blocks):
                return span
    return None


def has_substance(quote: str, message: str) -> bool:
    """Whether a quote says enough to support a memory: more than an assent, and more than a fragment of its message.

    A short answer ("42", "🍕") counts if it is everything the user said.
    """
    said = canonical_statement(quote)
    if said in BARE_ASSENT:
        return False
    if _weight(quote) >= MIN_LETTERS:
        return True
    own = canonical_statement(user_words(message))
    return said == own and any(ch.isalnum() or unicodedata.category(ch) == "So" for ch in said)


def is_whole(quote: str, message: str) -> bool:
    """Whether a quote is everything the user said."""
    said = canonical_statement(quote)
    return bool(said) and said == canonical_statement(user_words(message))


def injected_spans(message: str) -> list[Span]:
    """The marked blocks of `message` that are not the user's words; an unclosed block extends to the end."""
    return [Span(*match.span()) for match in _INJECTED.finditer(message)]


def injected_into(prompt: Iterable[str]) -> list[str]:
    """What is in the marked blocks of a prompt, given by its messages."""
    return [found.group() for text in prompt for found in _READ.finditer(text)]


def user_words(message: str) -> str:
    """`message` without the blocks that were injected into it."""
    return _INJECTED.sub(" ", message)


def is_borrowed(statement: str, message: str, others: Iterable[str]) -> bool:
    """Whether a statement repeats what others said (assistant, memory, document) and nothing of the user's message.

    Only telling words count (names, numbers, words of four or more letters). A statement with one telling word of the
    user's own is not borrowed, nor is one that shares only a word or so with the others: it may well be a translation
    of what the user said.
    """
    telling = _telling_words(statement)
    own = _stems(user_words(message))
    if not telling or telling & own:
        return False
    if len(telling) == 1:  # exactly this word: "lovely" is not "loves"
        made = {word.casefold() for word in _words(statement) if stem(word.casefold()) in telling}
        return any(made <= {word.casefold() for word in _words(text)} for text in others)
    return any(len(telling & _stems(text)) >= BORROWED_SHARE * len(telling) for text in others)


def _weight(text: str) -> int:
    """The letters and digits of a text, counting double in scripts that say much with few characters."""
    return sum(
        2 if not ch.isascii() and unicodedata.name(ch, "").startswith(_WIDE) else 1 for ch in text if ch.isalnum()
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text))


def _telling_words(statement: str) -> set[str]:
    return {
        stem(word.casefold())
        for word in _words(statement)
        if word.casefold() not in _COMMON and (len(word) >= _SALIENT_LETTERS or word[0].isupper() or word.isdigit())
    }


def _stems(text: str) -> set[str]:
    return {stem(word.casefold()) for word in _words(text)}
