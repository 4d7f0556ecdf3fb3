"""The making of a memory from a matched phrase, worded as a person would note it ("Lives in Porto"); pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .memory_perspective import third_person

_PETS = frozenset(["dog", "cat", "horse", "parrot", "hamster", "rabbit"])
_TAIL = re.compile(
    r"(?<![\s,])[\s,]*(?:\b(?:please|though|by the way|btw|now|nowadays|these days|currently|actually|too|as well|"
    r"from now on|any ?more|after all|and you|if possible|thanks|thank you)\b|[.!,;:…。！]|:\)|\)){1,20}\s*$",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"(?:it|that|this|these|those|how|what|your|you|to\s+know|when|the\s+way)\b", re.IGNORECASE)
# Where the name of a place or company ends and the story continues.
_CUT = re.compile(
    r"[.!;]\s|(?<!\s),?\s+(?:since|with|because|where|which|who|and|but|so|while|until|last|this|recently|a\s+\w+\s+ago|in\s+\d{4})\b",
    re.IGNORECASE,
)
_LONGEST = 480
"""Characters that are looked at; half of them without what is taken off the end."""


@dataclass(frozen=True)
class Finding:
    """One statement about the user, not necessarily naming them, with what a memory operation needs."""

    content: str
    memory_type: str = "fact"
    category: str | None = None
    fact_key: str | None = None
    fact_value: str | None = None
    confidence: float = 0.9
    importance: float = 0.6


Maker = Callable[[re.Match[str]], Iterator[Finding]]


def tidy(text: str, words: int = 24) -> str:
    """A phrase without filler and punctuation at its end; empty if it is too long to be a statement."""
    trimmed = text[:_LONGEST].strip(" \t\"'“”")
    while (shorter := _TAIL.sub("", trimmed)) != trimmed:
        trimmed = shorter
    return trimmed if len(trimmed.split()) <= words and len(trimmed) <= _LONGEST / 2 else ""


def _fact(key: str, value: str, content: str, importance: float = 0.6, confidence: float = 0.9) -> Iterator[Finding]:
    value = tidy(value, words=10)
    if value:
        statement = content.format(value=value)
        yield Finding(
            statement[:1].upper() + statement[1:], "fact", key.split("/")[0], key, value, confidence, importance
        )


def _plain(kind: str, category: str, content: str, importance: float, confidence: float = 0.9) -> Iterator[Finding]:
    yield Finding(content, kind, category, confidence=confidence, importance=importance)


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text.casefold()).strip("_")[:40]


_IN_LANGUAGES = (
    (r"ich\s+hei|mein\s+name", "Heißt {value}"),
    (r"je\s+m|mon\s+nom", "S’appelle {value}"),
    (r"me\s+llamo|mi\s+nombre", "Se llama {value}"),
    (r"mi\s+chiamo", "Si chiama {value}"),
    (r"меня", "Зовут {value}"),
    (r"(?:me\s+)?chamo|meu\s+nome", "Chama-se {value}"),
    (r"اسمي", "الاسم {value}"),
    (r"我", "叫{value}"),
    (r"私", "名前は{value}"),
)


def _in_its_language(said: str) -> str:
    """Return how to note a name, in the language in which it was given."""
    found = (told for pattern, told in _IN_LANGUAGES if re.match(pattern, said.strip(), re.IGNORECASE))
    return next(found, "Name is {value}")


def name(match: re.Match[str]) -> Iterator[Finding]:
    name = tidy(match["name"], words=4)
    if name and name.casefold() not in {"not", "a", "the", "hard", "on", "in", "difficult", "unusual", "too"}:
        yield from _fact("identity/name", name, _in_its_language(match[0]), 0.9, 1.0)


def nickname(match: re.Match[str]) -> Iterator[Finding]:
    yield from _fact("identity/preferred_name", match["name"], "Prefers to be called {value}", 0.9, 0.9)


def call_me(match: re.Match[str]) -> Iterator[Finding]:
    # Said in passing, it is a weak hint at the name: enough if none is known, never against a known one.
    yield from _fact("identity/name", match["name"], "Name is {value}", 0.9, 0.6)


def relative(match: re.Match[str]) -> Iterator[Finding]:
    relation = match["relation"].lower()
    family = "pet" if relation in _PETS else "people"
    content = f"{relation.capitalize()} is called {{value}}"
    for finding in _fact(f"{family}/{_slug(relation)}_name", match["name"], content, 0.7):
        yield replace(finding, memory_type="entity")


def relative_told(match: re.Match[str]) -> Iterator[Finding]:
    """ "My dog Biscuit is a beagle": theirs, and said so."""
    if rest := tidy(match["rest"]):
        content = f"{match['relation'].capitalize()} {match['called']} {third_person(rest)}"
        yield from _plain("entity", "pet" if match["relation"].lower() in _PETS else "people", content, 0.7)


def allergies(match: re.Match[str]) -> Iterator[Finding]:
    for item in re.split(r",\s*(?:and\s+)?|(?<!\s)\s+(?:and|or)\s+", tidy(match["rest"], words=12)):
        if item := tidy(item.removeprefix("to "), words=4):
            yield from _fact(f"health/allergy_{_slug(item)}", item, "Allergic to {value}", 1.0, 0.95)


def diet(match: re.Match[str]) -> Iterator[Finding]:
    yield from _fact("health/diet", match["rest"].lower(), "Is {value}", 0.9)


def aversion(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"], words=6):
        yield from _plain("fact", "health", f"Does not {match['verb'].lower()} {rest}", 0.8)


def answer_language(match: re.Match[str]) -> Iterator[Finding]:
    for finding in _fact("instruction/answer_language", match["language"], "Wants answers in {value}", 0.9):
        yield replace(finding, memory_type="preference")


def instruction(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"]):
        how = match["how"].lower()
        yield from _plain("preference", "instruction", f"{how.capitalize()} {third_person(rest)}", 0.8)


def preference(match: re.Match[str]) -> Iterator[Finding]:
    if (rest := tidy(match["rest"])) and not re.match(r"(?:not\s+to\s+say|it|that|this)\b", rest, re.IGNORECASE):
        yield from _plain("preference", "preference", f"Prefers {third_person(rest)}", 0.6)


def taste(match: re.Match[str]) -> Iterator[Finding]:
    verb, rest = " ".join(match["verb"].lower().replace("’", "'").split()), tidy(match["rest"], words=8)
    if not rest or _VAGUE.match(rest):
        return
    third = {"can't stand": "cannot stand", "don't like": "does not like", "do not like": "does not like"}
    yield from _plain(
        "preference", "taste", f"{third.get(verb, verb + 's').capitalize()} {third_person(rest)}", 0.5, 0.85
    )


def favourite(match: re.Match[str]) -> Iterator[Finding]:
    thing = match["thing"].lower()
    key, content = f"preference/favourite_{_slug(thing)}", f"Favourite {thing} is {{value}}"
    for finding in _fact(key, match["rest"], content, 0.6):
        yield replace(finding, memory_type="preference")


def keyed(key: str, content: str, importance: float = 0.7) -> Maker:
    def make(match: re.Match[str]) -> Iterator[Finding]:
        yield from _fact(key, _CUT.split(match["rest"])[0], content, importance)

    return make


def lives_with(match: re.Match[str]) -> Iterator[Finding]:
    """ "I live in Lisbon with my dog Rex": the place, and whom they share it with."""
    yield from keyed("identity/location", "Lives in {value}")(match)
    yield from relative(match)


def moved(match: re.Match[str]) -> Iterator[Finding]:
    yield from _fact("identity/location", _CUT.split(match["rest"])[0], "Lives in {value}", 0.8)


def decision(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"], words=30):
        together = "" if match["who"].lower() == "i" else " together"
        verb = "agreed" if "agreed" in match["verb"].lower() else "decided"
        yield from _plain("decision", "decision", f"{verb.capitalize()}{together} {third_person(rest)}", 0.7)


def project(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"]):
        yield from _plain("project", "project", f"Project {third_person(rest)}", 0.7)


def works_on(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"]):
        yield from _plain("project", "project", f"{match['verb'].capitalize()} {third_person(rest)}", 0.6)


_TAIL_ELSEWHERE = re.compile(
    r"(?<![\s,])[\s,]*(?:\b(?:bitte|danke|s['’]il\s+te\s+pla[iî]t|merci|por\s+favor|gracias|grazie|per\s+favore|obrigad[oa])|[.!,;:…。！]){1,20}\s*$",
    re.IGNORECASE,
)


_AT = re.compile(r"^(?:à|en|aux?|em|no|na)\s+", re.IGNORECASE)
_WITH = re.compile(r"(?<!\s)\s+(?:avec|mit|con|com)\s.*", re.IGNORECASE)


def noted(told: str, key: str | None, language: str) -> Maker:
    """A maker of a statement worded as `told`, with `{value}` for what was said and `{who}` for whom it is about."""

    def make(match: re.Match[str]) -> Iterator[Finding]:
        said = tidy(_TAIL_ELSEWHERE.sub("", _CUT.split(match["rest"])[0]), words=10)
        groups = match.groupdict()
        who = (groups.get("who") or "").strip()
        if not said and "{value}" in told or _VAGUE.match(said):
            return
        content = told.format(value=third_person(said, language), who=who)
        content = content[:1].upper() + content[1:]
        kind = "entity" if who else "fact"
        value = _WITH.sub("", _AT.sub("", said)) if key == "identity/location" else said
        yield Finding(
            content, kind, key.split("/")[0] if key else "people" if who else None, key, value if key else None
        )

    return make


def allergy_as_said(match: re.Match[str]) -> Iterator[Finding]:
    """An allergy in the words and language in which it was mentioned."""
    said = tidy(_TAIL_ELSEWHERE.sub("", match[0]), words=10)
    value = tidy(_TAIL_ELSEWHERE.sub("", match["rest"]), words=6)
    if said and value:
        key = f"health/allergy_{_slug(value)}"
        yield Finding(said[:1].upper() + said[1:], "fact", "health", key, value, 0.95, 1.0)


def wish(match: re.Match[str]) -> Iterator[Finding]:
    """Yield how to answer, in the words of the request."""
    if said := tidy(_TAIL_ELSEWHERE.sub("", match["rest"])):
        yield from _plain("preference", "instruction", said[:1].upper() + third_person(said[1:]), 0.8)


def introduced(match: re.Match[str]) -> Iterator[Finding]:
    """ "I'm Anna, 34, from Oslo": a name, and what follows it."""
    yield from name(match)
    yield from _fact("identity/age", match["age"], "{value} years old", 0.5)
    if match["place"]:
        yield from _fact("identity/origin", match["place"], "From {value}", 0.6)


def plainly(verb: str, kind: str = "fact", words: int = 12) -> Maker:
    """A maker of what somebody does: `verb`, and what they said about it."""

    def make(match: re.Match[str]) -> Iterator[Finding]:
        rest = tidy(match["rest"], words=words)
        if rest and not _VAGUE.match(rest):
            category = {"project": "project", "entity": "people"}.get(kind)
            content = f"{verb} {third_person(rest)}"
            yield Finding(content[:1].upper() + content[1:], kind, category)

    return make


def reminder(match: re.Match[str]) -> Iterator[Finding]:
    """ "Remember that my flight is on 3 June": without the request."""
    if rest := tidy(match["rest"]):
        rest = third_person(rest)
        yield Finding(rest[:1].upper() + rest[1:], "fact", None)


def fan(match: re.Match[str]) -> Iterator[Finding]:
    """ "I'm a fan of jazz and study at night": two things, though "I" is said once."""
    if rest := tidy(match["rest"], words=8):
        yield from _plain("preference", "taste", f"Fan of {third_person(rest)}", 0.5, 0.85)
    if match["verb"] and (more := tidy(match["more"], words=10)):
        third = {"study": "studies", "teach": "teaches"}.get(match["verb"].lower(), f"{match['verb'].lower()}s")
        yield Finding(f"{third.capitalize()} {third_person(more)}")


def pain(match: re.Match[str]) -> Iterator[Finding]:
    """ "My knee hurts": without the "my"."""
    if said := tidy(match["rest"], words=10):
        yield from _plain("fact", "health", third_person(said[:1].upper() + said[1:]), 0.7)
