"""The catalogue of prompts and the check of a text for one; pure, except for shipped texts."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from webapp.prompts.placeholders import DIGEST, DIGEST_JSON, MAX_BUDGET, find, malformed_placeholders

MAX_BYTES = 32_768
_SHARED_BYTES = 12_000
"""The most bytes of prompts that share a budget with what they are about, or that are added to another."""
_DEFAULTS = Path(__file__).resolve().parent / "defaults"

BLOCKS = ("USER_PROFILE", "MEMORIES", "JOURNEY")
_ABOUT_A_CONVERSATION = (DIGEST, DIGEST_JSON, *BLOCKS)


@dataclass(frozen=True, slots=True)
class Definition:
    """A prompt the product sends; `aliases` are other names for it in the API."""

    name: str
    title: str
    purpose: str
    allowed: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    max_bytes: int = MAX_BYTES


CATALOGUE: dict[str, Definition] = {
    definition.name: definition
    for definition in (
        Definition(
            "chat",
            "Replies",
            "Comes first in the prompt for every reply.",
            _ABOUT_A_CONVERSATION,
            aliases=("simplified_conversation",),
        ),
        Definition("titles", "Titles", "Names a conversation after its first exchange.", max_bytes=2_000),
        Definition(
            "summaries",
            "Summaries",
            "Turns a closed part of a long conversation into a summary.",
            max_bytes=_SHARED_BYTES,
        ),
        Definition(
            "extraction", "Memories", "Finds what is worth remembering in what the user said.", max_bytes=_SHARED_BYTES
        ),
        Definition(
            "digests",
            "Digests",
            "Sums up a conversation: topics, suggested actions, an observation.",
            ("CONVERSATION",),
            required=("CONVERSATION",),
            aliases=("memory_generation",),
        ),
        Definition(
            "points",
            "Topics of a journey",
            "Added to the memory prompt when a journey has open topics.",
            max_bytes=4_000,
        ),
        Definition(
            "assistant_initiated",
            "Opening a topic",
            "Used when the assistant starts talking about a topic.",
            ("POINT", *_ABOUT_A_CONVERSATION),
            required=("POINT",),
        ),
    )
}

NAMES = {alias: name for name, definition in CATALOGUE.items() for alias in (name, *definition.aliases)}


def definition_of(name: str) -> Definition | None:
    """Return the prompt of that name or alias; None if there is none."""
    return CATALOGUE.get(NAMES.get(name, ""))


@cache
def default_text(name: str) -> str:
    """Return the text that this release ships for a prompt."""
    return (_DEFAULTS / f"{name}.md").read_text(encoding="utf-8").strip()


def problems_of(definition: Definition, text: str) -> list[str]:
    """Return why a text cannot be this prompt, in sentences; empty if it can."""
    if not text.strip():
        return ["is empty"]
    size = len(text.encode())
    limit = definition.max_bytes
    problems = [] if size <= limit else [f"is {size:,} bytes long; at most {limit:,} are allowed"]
    problems += [f"does not parse: “{part}” is not a complete placeholder" for part in malformed_placeholders(text)[:5]]
    placeholders = find(text)
    names = {placeholder.name for placeholder in placeholders}
    for placeholder in placeholders:
        if placeholder.name not in definition.allowed:
            allowed = ", ".join(f"{{{{{name}}}}}" for name in definition.allowed) or "no placeholders"
            problems.append(f"holds {placeholder.text}, which this prompt does not have; it can hold {allowed}")
        elif placeholder.budget is not None and placeholder.name not in BLOCKS:
            problems.append(f"holds {placeholder.text}: only lists can have a limit")
        elif placeholder.budget is not None and not 1 <= placeholder.budget <= MAX_BUDGET:
            problems.append(f"holds {placeholder.text}: the limit must be from 1 to {MAX_BUDGET:,} tokens")
    missing = [name for name in definition.required if name not in names]
    problems += [f"lacks {{{{{name}}}}}, without which it cannot work" for name in missing]
    return list(dict.fromkeys(problems))


def changes_the_prefix(text: str) -> bool:
    """Return whether the filled text differs from turn to turn, so that providers cannot cache what follows it."""
    return any(placeholder.name in _ABOUT_A_CONVERSATION for placeholder in find(text))
