"""A summary by extraction: what the user said, in the first sentences of their own messages."""

from __future__ import annotations

import re
from typing import Any

from .request import TaskRequest

NAME = "conversation_summary"

MAX_CHARS = 1_400
LEAST_CHARS = 160
SHARE = 0.4
"""A summary is this share of what the user said, but at least a sentence or two, and shorter than everything said."""
BEGINS = "The user said: "
MAX_FACTS = 30
SENTENCES = 2
LEAST_WORDS = 3
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
# What a summary of summaries need not repeat for each of them.
_RETOLD = re.compile(rf"^(?:\(\d{{1,2}} \w+ \d{{4}}\) )?(?:{BEGINS})?")
_MARKUP = re.compile(r"```.*?(?:```|\Z)|[*_`#>|]+", re.DOTALL)
# Sentences in which the user says something about themselves, which a summary should keep before others.
_OWN = re.compile(r"\b(?:i|i['’]m|i['’]ve|my|we|our|me)\b|\d", re.IGNORECASE)
_PERSON = re.compile(r"with a memorial agent and about (.{1,300}?)\. (?:Besides the summary|Give)")
_PRONOUN = re.compile(r"^(she|he|her|his)\b", re.IGNORECASE)
_CATEGORIES = tuple(
    (category, re.compile(rf"\b(?:{words})", re.IGNORECASE))
    for category, words in (
        ("occupation", "work|job|teach|taught|nurse|doctor|engineer|farm|shop|retire|career|profession"),
        ("milestone", "born|birth|died|married|wedding|moved|graduat|emigrat"),
        ("relationship", "wife|husband|son|daughter|child|brother|sister|mother|father|friend|grand"),
        ("hobby", "garden|paint|sing|sang|danc|fish|sail|knit|play|read|hik|collect|cook|bak"),
        ("preference", "love|like|favou?rite|prefer|hate|enjoy|adore"),
        ("habit", "always|every|never|used to|often|usually"),
        ("personality", "kind|patient|stubborn|funny|generous|shy|brave|gentle|strict|warm|proud"),
    )
)
_SMALL_TALK = re.compile(
    r"^\W*(?:hi|hello|hey|thanks|thank you|ok(?:ay)?|yes|no|great|cool|bye)\b[\s\w]{0,12}\W*$", re.IGNORECASE
)


def run(request: TaskRequest) -> dict[str, Any]:
    """`{"summary": …}`, and in a legacy the facts that the user plainly tells about its person."""
    turns = request.turns()
    answer: dict[str, Any] = {"summary": summary_of(turns)}
    if "facts" in (request.schema.get("properties") or {}):
        name = person_in(request)
        answer["facts"] = facts_of(turns, name) if name else []
    return answer


def person_in(request: TaskRequest) -> str:
    """The person the conversation is about, as the instructions name them; empty if it is about nobody."""
    named = _PERSON.search("\n".join(request.texts("system")))
    return named[1].strip() if named else ""


def facts_of(turns: list[tuple[str, str]], name: str) -> list[dict[str, Any]]:
    """Return what the user says about a person: sentences with their name, and following ones beginning with "she"
    or "he".
    """
    found: list[dict[str, Any]] = []
    # "Grandma Rose", "Rosa de Almeida": match any word of it that is a name.
    names = "|".join(re.escape(word) for word in name.split() if not word.islower() and len(word) > 1)
    about = True  # in a conversation about one person, "she" is that person until somebody else comes up
    for number, (role, text) in enumerate(turns, 1):
        if role != "user":
            continue
        for sentence in _sentences(text, most=20):
            called = re.search(rf"(?<!\w)(?:{re.escape(name)}|{names or re.escape(name)})(?!\w)", sentence)
            about = bool(called) or (about and bool(_PRONOUN.match(sentence)))
            if not about or sentence.endswith(("?", "？")) or len(sentence.split()) < LEAST_WORDS:
                continue
            content = sentence if called else _PRONOUN.sub(lambda found: _named(found, name), sentence, count=1)
            found.append(
                {"category": _category(sentence), "content": content, "message": number, "quote": sentence.rstrip(".")}
            )
    return found[:MAX_FACTS]


def _named(found: re.Match[str], name: str) -> str:
    return f"{name}'s" if found[1].lower() in ("her", "his") else name


def _category(sentence: str) -> str:
    return next((category for category, words in _CATEGORIES if words.search(sentence)), "other")


def summary_of(turns: list[tuple[str, str]]) -> str:
    """At most MAX_CHARS of the user's own sentences, preferring those about themselves; never empty.

    If too little was said for that, only the number of messages.
    """
    parts = [_sentences(text) for role, text in turns if role == "user"]
    said = list(dict.fromkeys(sentence for part in parts for sentence in part))
    # The first sentence of every message before any second one: no part of a long conversation is left out for details.
    first = {part[0] for part in parts if part}
    said_of_first = sorted(said, key=lambda sentence: sentence not in first)
    theirs, length = sum(len(text) for role, text in turns if role == "user"), sum(len(text) for _, text in turns)
    kept = _within(said_of_first, min(MAX_CHARS, max(int(SHARE * theirs), LEAST_CHARS), length - len(BEGINS)))
    if not kept:
        return f"{len(turns)} messages."
    return BEGINS + " ".join(sentence for sentence in said if sentence in kept)


def _sentences(text: str, most: int = SENTENCES) -> list[str]:
    """The first sentences of a message, without markup; greetings and thanks do not count."""
    text = _MARKUP.sub(" ", text.replace("&lt;", "<"))
    parts = [_RETOLD.sub("", " ".join(part.split())) for part in _SENTENCE.split(text)]
    parts = [part for part in parts if any(char.isalnum() for char in part) and not _SMALL_TALK.match(part)]
    return [part if part[-1] in ".!?…。！？" else f"{part}." for part in (cut[:300] for cut in parts[:most])]


def _within(sentences: list[str], limit: int) -> set[str]:
    """The sentences that fit, up to the first that does not: statements about the user first, questions last."""
    kept: set[str] = set()
    for sentence in sorted(sentences, key=lambda item: (not _OWN.search(item), item.endswith("?"))):
        if len(sentence) < limit:
            kept.add(sentence)
            limit -= len(sentence) + 1
        elif kept:
            break
    return kept
