"""Placeholders in prompts: finding them, and filling them in one pass; pure.

`{{CONVERSATION_MEMORY}}` and its relatives behave as the guide to conversation memory says. What is filled in is never
scanned again: a placeholder in a value stays as it is.

`{{CONVERSATION_MEMORY}}` gives all keys, `{{CONVERSATION_MEMORY__action__main_topics}}` those named, in that order and
once each; unknown keys are ignored, and a placeholder without any valid key gives the same as an absent memory;
`{{CONVERSATION_MEMORY|20}}` takes at most 20 tokens. `{{CONVERSATION_MEMORY_JSON}}` is the memory as one JSON object.
A block such as `{{MEMORIES}}` lists its items, one per line; `{{MEMORIES|500}}` only as many of the first as fit into
500 tokens, each of them whole.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from webapp.text.tokens import estimate_tokens

MEMORY_KEYS = ("main_topics", "action", "typical_observation")
DIGEST = "CONVERSATION_MEMORY"
DIGEST_JSON = "CONVERSATION_MEMORY_JSON"
NO_MEMORY = "Conversation memory not available."
NOT_AVAILABLE = "[Not available]"
LEAD = "These are some details of the conversation till now."
MAX_BUDGET = 100_000
MAX_FILLED = 4_000_000

_TOKEN = re.compile(
    r"\{\{(?:(?P<json>CONVERSATION_MEMORY_JSON)|CONVERSATION_MEMORY(?P<keys>(?:__[A-Za-z0-9_]*)?)"
    r"(?:\|(?P<room>[0-9]{1,6}))?"
    r"|(?P<name>[A-Z][A-Z0-9_]*)(?:\|(?P<budget>[0-9]{1,6}))?)\}\}"
)
# What its author meant as a placeholder: a name after two braces, whether closed or not.
_PLACEHOLDER_LIKE = re.compile(r"\{\{\s*([A-Za-z][A-Za-z0-9_]*)[^{}\n]{0,40}(\}\}?)?")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder of a text: its base name, the keys of a digest it asks for, and the most tokens of a block."""

    text: str
    name: str
    keys: tuple[str, ...] = ()
    budget: int | None = None


def find(template: str) -> list[Placeholder]:
    """Return every placeholder in a text, in order, known or not."""
    return [_read(match) for match in _TOKEN.finditer(template)]


def malformed_placeholders(template: str) -> list[str]:
    """Return the parts that resemble placeholders but are none: unclosed, in lower case, with spaces."""
    spans = {match.start() for match in _TOKEN.finditer(template)}
    return [match[0] for match in _PLACEHOLDER_LIKE.finditer(template) if match.start() not in spans]


def fill(template: str, **values: Any) -> str:
    """Return the text with its placeholders filled, in one pass; `values` are those that `pieces` takes."""
    return "".join(text for text, _ in pieces(template, **values))


def pieces(
    template: str,
    *,
    digest: Mapping[str, Any] | None = None,
    blocks: Mapping[str, Sequence[str]] | None = None,
    texts: Mapping[str, str] | None = None,
) -> list[tuple[str, str | None]]:
    """Return the pieces that `fill` joins: the template's own text with None, and each value with its placeholder.

    `digest` is the conversation's memory or None, `blocks` are lists of lines by name, `texts` whole texts that are
    inserted unchanged. Other placeholders are left alone, and those after MAX_FILLED characters.
    """
    blocks, texts = blocks or {}, texts or {}
    versions_of = cache(lambda keys: _versions(digest or {}, keys))  # once, for whatever budgets

    @cache
    def text_of(placeholder: Placeholder) -> str | None:
        if placeholder.name == DIGEST:
            if placeholder.budget is None or not digest or not placeholder.keys:
                return snippet(digest, placeholder.keys)
            versions = versions_of(placeholder.keys)
            return next((text for tokens, text in versions if tokens <= placeholder.budget), versions[-1][1])
        if placeholder.name == DIGEST_JSON:
            return as_json(digest)
        if placeholder.name in texts:
            return texts[placeholder.name]
        if placeholder.name in blocks:
            return block(blocks[placeholder.name], placeholder.budget)
        return None

    result: list[tuple[str, str | None]] = []
    end = size = 0
    for match in _TOKEN.finditer(template):
        filled = text_of(_read(match))
        size += len(filled or "")
        if filled is not None and size <= MAX_FILLED:
            result += [(template[end : match.start()], None), (filled, match[0])]
            end = match.end()
    result.append((template[end:], None))
    return [piece for piece in result if piece[0]]


def snippet(digest: Mapping[str, Any] | None, keys: Sequence[str] = MEMORY_KEYS) -> str:
    """Return a digest in one sentence for a prompt, as the guide words it."""
    return _sentence({key: digest.get(key) for key in keys}) if digest and keys else NO_MEMORY


def _versions(digest: Mapping[str, Any], keys: Sequence[str]) -> list[tuple[int, str]]:
    """Return a digest in one sentence, whole and then ever shorter, each with its tokens: items, then parts, then words
    are dropped from the end, never the first word."""
    values: dict[str, Any] | None = {key: digest.get(key) for key in keys}
    versions = []
    while values:
        text = _sentence(values)
        versions.append((estimate_tokens(text), text))
        values = _shorter(values)
    return versions


def _sentence(values: Mapping[str, Any]) -> str:
    listing = ", ".join(f'`{key}` is "{_escape(_value(value))}"' for key, value in values.items())
    return f"{LEAD} {listing}."


def _shorter(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the values with a little less in them; None if there is nothing to spare."""
    lists = {key: value for key, value in values.items() if isinstance(value, list | tuple) and len(value) > 1}
    if lists:
        longest = max(lists, key=lambda key: len(lists[key]))
        return {**values, longest: list(lists[longest][:-1])}
    if len(values) > 1:
        return dict(list(values.items())[:-1])
    key, value = next(iter(values.items()))
    words = _value(value).removesuffix("…").split()
    return {key: f"{' '.join(words[:-1])}…"} if len(words) > 1 else None


def as_json(digest: Mapping[str, Any] | None) -> str:
    """Return a digest as one JSON object with the documented keys only, or the sentence that there is none."""
    if not digest:
        return NO_MEMORY
    return json.dumps({key: digest[key] for key in MEMORY_KEYS if key in digest}, ensure_ascii=False)


def block(lines: Sequence[str], budget: int | None = None) -> str:
    """Return lines as a list, the first that fit into `budget` tokens; what does not fit is left out whole."""
    entries: list[str] = []
    left = budget
    for line in lines:
        row = f"- {' '.join(line.split())}"
        if left is not None:
            left -= estimate_tokens(row) + 1
            if left < 0:
                break
        entries.append(row)
    return "\n".join(entries) or NOT_AVAILABLE


def _read(match: re.Match[str]) -> Placeholder:
    if match["json"]:
        return Placeholder(match[0], DIGEST_JSON)
    if match["name"]:
        return Placeholder(match[0], match["name"], budget=int(match["budget"]) if match["budget"] else None)
    room = int(match["room"]) if match["room"] else None
    if not match["keys"]:
        return Placeholder(match[0], DIGEST, MEMORY_KEYS, budget=room)
    keys = list(dict.fromkeys(match["keys"][2:].split("__")))
    return Placeholder(match[0], DIGEST, tuple(key for key in keys if key in MEMORY_KEYS), room)


def _value(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, Sequence):
        text = ", ".join(part for item in value if (part := " ".join(str(item).split())))
    else:
        text = ""
    return " ".join(text.split()) or NOT_AVAILABLE


def _escape(value: str) -> str:
    # The backslash too: otherwise one at the end of a value would undo the escaping of the quote after it.
    return value.replace("\\", "\\\\").replace('"', '\\"')
