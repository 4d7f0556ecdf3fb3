"""A short title from the first thing the user said, by rules."""

from __future__ import annotations

import re
from typing import Any

from .request import TaskRequest

NAME = "conversation_title"

MAX_WORDS = 6
MAX_CHARS = 48
_MAX_CHARS_UNSPACED = 20
_FALLBACK = "New conversation"
_QUESTION_WORDS = 4
_CLAUSE_WORDS = 3
_BEGINNING = 4_000
"""Characters that are looked at."""

_NOISE = re.compile(r"```.*?(?:```|\Z)|<[^>\n]{1,80}>", re.DOTALL)
_URL = re.compile(r"https?://(?:www\.)?([^\s/?#)]+)[^\s)]*")
_MARKUP = re.compile(r"^[#>\s*+-]+|(?<!\w)[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?…。！？؟])\s+|(?<=[。！？])|\n+")
_EDGE = " \t\r\n.,;:!?…。！？、，؟¿¡-–—\"'“”‘’«»()[]"

_GREETING = re.compile(
    r"(?:hi+|hello+|hey+|hiya|howdy|yo|greetings|good\s+(?:morning|afternoon|evening|day)|dear\s+\w+|thanks(?:\s+in\s+advance)?"
    r"|thank\s+you|bonjour|bonsoir|salut|coucou|hallo|guten\s+(?:tag|morgen|abend)|servus|moin|hola|buen[oa]s?\s+\w+|ciao|salve"
    r"|buongiorno|ol[áa]|hej|ahoj|cze[śs][ćc]|merhaba|привет|здравствуйте|добрый\s+(?:день|вечер)|नमस्ते|你好|您好|こんにちは|안녕하세요|مرحبا|שלום)"
    r"(?:\s+(?:there|again|everyone|everybody|all|assistant|friend|à\s+tous|zusammen))?(?=$|[\s,.!;:…。！，、👋-])[\s,.!;:…。！，、👋-]*",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:please|pls|at\s+length|in\s+(?:some\s+|more\s+)?detail|briefly|(?:please\s+)?remember\s+that|so|ok(?:ay)?|well|um+|uh+|now|also|actually|basically|quick\s+question"
    r"|(?:can|could|would|will)\s+you(?:\s+(?:please|kindly|maybe|quickly))?"
    r"|(?:i\s+(?:want|need|would\s+like|wanted)|i['’]d\s+like)(?:\s+you)?\s+to(?:\s+(?:know|ask|understand))?"
    r"|i\s+(?:want|need)\s+(?:some\s+)?help\s+(?:with|in)|i\s+(?:was|am)\s+wondering|i['’]m\s+wondering|do\s+you\s+know"
    r"|(?:help|tell|show|teach|remind)\s+(?:me|us)(?:\s+(?:to|about|with|all\s+about))?|let['’]?s\s+talk\s+about|let\s+us|let['’]s"
    r"|i\s+have\s+a\s+question\s+about|if\s+you\s+can"
    r"|(?:write|give|make|create|draft|generate|find)(?:\s+me\b|(?=\s+(?:a|an|the|some|my)\s))|explain(?:\s+to\s+me)?|describe|what\s+about"
    r"|(?:what|who)(?:['’]s|\s+is|\s+are|\s+was|\s+were)(?=\s+(?:a|an|the)\s)"
    r"|s['’]il\s+(?:te|vous)\s+pla[iî]t|peux-tu|pouvez-vous|pourrais-tu|je\s+voudrais|aide-moi\s+à|m['’]aider\s+à|explique-moi"
    r"|bitte|kannst\s+du(?:\s+mir)?|können\s+sie(?:\s+mir)?|ich\s+möchte|erklär(?:e)?\s+mir"
    r"|por\s+favor|puedes|podrías|quiero|me\s+gustaría|ayúdame\s+a|explícame"
    r"|пожалуйста|можешь|расскажи(?:\s+мне)?|请问?|請)(?=$|[\s,.!:;，、]|[一-鿿])[\s,.!:;，、]*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:a|an|the|some)\s+(?=\S+\s+\S)", re.IGNORECASE)
_ADDRESS = re.compile(r"^(?:how)\s+(?:do|can|should|would|could)\s+(?:i|we|you|one)\s+(?=\S)", re.IGNORECASE)
_TRAILING = re.compile(
    r"(?<![\s,])[\s,]+(?:please|pls|at length|in (?:some |more )?detail|briefly|thanks|thank you|to me|for me|bitte"
    r"|por favor|s['’]il (?:te|vous) pla[iî]t)$",
    re.IGNORECASE,
)
_NEXT_CLAUSE = re.compile(
    r"(?<!\s),?\s+(?:and|but|so|because)\s+(?:i|my|we|our|you|he|she|it|they|how|what|why|when|where|who|which|work)\b",
    re.IGNORECASE,
)
_AS_A_PHRASE = (
    (re.compile(r"i(?:['’]m|\s+am)\s+allergic\s+to\s+(\S.*)", re.IGNORECASE), r"Allergy to \1"),
    (re.compile(r"i(?:['’]m|\s+am)?\s+(?:live|living)\s+in\s+(\S.*)", re.IGNORECASE), r"Life in \1"),
    (re.compile(r"(my\s+\w+)(?:\s+is|['’]s)\s+(?:called|named)\s+(\S.*)", re.IGNORECASE), r"\1 \2"),
)
"""What people tell of themselves, worded as a topic."""
_DANGLING_WORDS = """
i we a an the of to for and or with in on at by from as is are was my your our their that which who if but about
into than de du des la le les un une et à der die das und mit von für ein eine el los las y con para о и в на с
"""
_DANGLING = frozenset(_DANGLING_WORDS.split())


def run(request: TaskRequest) -> dict[str, Any]:
    """`{"title": …}` for the conversation."""
    turns = request.user_turns()
    return {"title": title_of(turns[0] if turns else "")}


def title_of(text: str) -> str:
    """At most six words in sentence case, without greetings, politeness or final punctuation; never empty."""
    cleaned = _URL.sub(r"\1", _NOISE.sub(" ", text[:_BEGINNING]))
    cleaned = _MARKUP.sub("", cleaned)
    sentences = [" ".join(part.split()) for part in _SENTENCE.split(cleaned)]
    # Someone who introduces themselves and then asks is there for the question.
    questions = [part for part in sentences if part.endswith(("?", "؟")) and len(part.split()) >= _QUESTION_WORDS]
    core = next((found for part in [*questions, *sentences] if (found := _core(part))), "")
    if not core:  # only a greeting or an emoji: then that is the topic
        core = " ".join(cleaned.split()).strip(_EDGE)
    return _shortened(core) or _FALLBACK


def _core(sentence: str) -> str:
    """The sentence without what comes before the actual subject; empty if nothing is left."""
    rest = sentence.strip(_EDGE)
    while True:
        found = _GREETING.match(rest) or _FILLER.match(rest)
        if not found or not found.end():
            break
        rest = rest[found.end() :].lstrip(_EDGE)
    while (shorter := _TRAILING.sub("", rest)) != rest:
        rest = shorter
    rest = _ADDRESS.sub("how to ", rest)
    if (clause := _NEXT_CLAUSE.search(rest)) and len(rest[: clause.start()].split()) >= _CLAUSE_WORDS:
        rest = rest[: clause.start()]
    rest = next((pattern.sub(phrase, rest) for pattern, phrase in _AS_A_PHRASE if pattern.fullmatch(rest)), rest)
    rest = _ARTICLE.sub("", rest, count=1) if _ARTICLE.match(rest) else rest
    return rest if any(char.isalnum() for char in rest) else ""


def _shortened(core: str) -> str:
    words = core.split()
    if len(words) > MAX_WORDS:
        words = words[:MAX_WORDS]
        while len(words) > 2 and words[-1].strip(_EDGE).lower() in _DANGLING:
            words.pop()
    while len(words) > 1 and len(" ".join(words)) > MAX_CHARS:
        words.pop()
    title = " ".join(words).strip(_EDGE)
    limit = _MAX_CHARS_UNSPACED if _unspaced(title) else MAX_CHARS
    if len(title) > limit:
        title = title[: limit - 1].rstrip() + "…"
    if title.isupper() and " " in title:
        title = title.lower()
    if title[1:2].isupper():  # iPhone, eBay
        return title
    return title[:1].upper() + title[1:]


def _unspaced(text: str) -> bool:
    """Return whether the text is in a script written without spaces."""
    return sum("\u3040" <= char <= "\u9fff" for char in text) * 2 > len(text)
