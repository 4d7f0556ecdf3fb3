"""The answers of a perfect extractor to the labelled cases, so that only the rules are tested.

Each statement is given as `about|key|quote|content`; the known memories that it changes are found by their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webapp.memories.learning.prompt import ExtractionCall
from webapp.memories.rules.state import KnownMemory

_SAYS: dict[tuple[str, int], tuple[str, ...]] = {
    ("single-01", 0): ("user|called|please call me Nadia|Prefers to be called Nadia",),
    ("single-02", 0): ("how_to_answer||I always want metric units in recipes|Metric units in recipes",),
    ("single-03", 0): (
        (
            "user|project|I'm building a birdsong classifier on a Raspberry Pi, it's called Chirpbox|"
            "Building Chirpbox, a birdsong classifier on a Raspberry Pi"
        ),
    ),
    ("single-04", 0): (
        "user|decision|we're going with a heat pump instead of a new gas boiler|Going with a heat pump, no gas boiler",
    ),
    ("single-05", 0): ("family_friend_pet||My dog Biscuit is a beagle|Dog Biscuit is a beagle",),
    ("multi-01", 0): (
        "user|name|I'm Tomasz|Is called Tomasz",
        "user|job|I work as a physiotherapist in Leeds|Works as a physiotherapist in Leeds",
        "family_friend_pet||I have two kids, Oliwia and Kacper|Has two kids, Oliwia and Kacper",
    ),
    ("multi-02", 0): (
        "user||I'm on Fedora|Uses Fedora",
        "user||I write everything in Neovim|Writes everything in Neovim",
        "user|preference|I prefer tabs over spaces|Prefers tabs over spaces",
        "how_to_answer||please answer me in short bullet points, no essays|Short bullet points, no essays",
    ),
    ("multi-04", 0): (
        "user|project|I'm training for the Valencia marathon in December|Trains for the Valencia marathon in December",
        "user||My best half marathon is 1:42|Best half marathon is 1:42",
        "user||I run on Tuesdays, Thursdays and Sundays|Runs on Tuesdays, Thursdays and Sundays",
        "user||My left knee has an old meniscus injury|Old meniscus injury in the left knee",
    ),
    ("correct-01", 0): ("user|home|I live in Bristol|Lives in Bristol",),
    ("correct-01", 1): ("user|home|home is Cardiff now|Lives in Cardiff",),
    ("correct-03", 0): (
        (
            "user|preference|I take my coffee black, no sugar, four cups a day|"
            "Takes coffee black without sugar, four cups a day"
        ),
    ),
    ("correct-03", 1): ("user|preference|I only drink rooibos these days|Only drinks rooibos|coffee",),
    ("correct-06", 0): ("user|decision|the shop's database will be PostgreSQL|The shop's database will be PostgreSQL",),
    ("correct-06", 1): ("user|decision|the shop moves to MySQL|The shop's database will be MySQL|postgres",),
    ("correct-06", 2): ("user|decision|PostgreSQL it is for the shop|The shop's database is PostgreSQL|mysql",),
    ("secret-01", 0): (
        "user|job|I'm the sysadmin of a small maritime museum|Sysadmin of a small maritime museum",
        "secret||The admin password is Ankerwinde-77-Zebra",
    ),
    ("secret-02", 0): (
        (
            "user|decision|I've decided to leave the climbing gym at the end of the season|"
            "Leaves the climbing gym at the end of the season"
        ),
        "secret||4111 1111 1111 1111, exp 11/29, CVV 842",
    ),
    ("inject-02", 0): ("user|job|I own a bakery|Owns a bakery",),
    ("lang-de-01", 0): (
        "user|name|ich heiße Anneliese|Heißt Anneliese",
        "user|home|wohne in Freiburg|Wohnt in Freiburg",
        "user|diet|Ich ernähre mich vegetarisch|Ernährt sich vegetarisch",
        "user||spiele Violine in einem Laienorchester|Spielt Violine in einem Laienorchester",
        "somebody_else||Mein Nachbar ist übrigens allergisch gegen Katzen",
    ),
    ("lang-de-01", 1): ("user|home|wohne jetzt in Potsdam|Wohnt in Potsdam",),
    ("long-01", 0): (
        "user|name|I'm Wouter|Is called Wouter",
        "user|home|I live in Ghent|Lives in Ghent",
        (
            "user|job|I've been a freight dispatcher for eleven years, mostly nights|"
            "Freight dispatcher for eleven years, mostly nights"
        ),
        "user|decision|we're buying a cargo bike instead of a second car|Buying a cargo bike instead of a second car",
        (
            "user|project|Operation Attic, that's our name for turning the attic into a workshop|"
            "Operation Attic: turning the attic into a workshop"
        ),
        "user|preference|restore old radios, my big hobby|Restores old radios, a big hobby",
        "how_to_answer||always give me prices in euros with tax included|Prices in euros with tax included",
    ),
}
_KINDS = ("preference", "project", "decision")
_VALUES = {
    "called": "Nadia",
    "home": None,
    "name": None,
    "job": None,
    "diet": "vegetarisch",
}


def perfect_answer(
    case: str, session: int, memories: Sequence[KnownMemory], call: ExtractionCall
) -> list[dict[str, Any]]:
    """The statements of one session."""
    return [_statement(said, memories, call) for said in _SAYS.get((case, session), ())]


def _statement(said: str, memories: Sequence[KnownMemory], call: ExtractionCall) -> dict[str, Any]:
    about, word, quote, *rest = said.split("|")
    content = rest[0] if rest else ""
    number = next(s.number for s in call.sources if quote in s.content)
    found: dict[str, Any] = {"message": number, "quote": quote, "about": about}
    if not content:
        return found
    found |= {"content": content, "confidence": 0.9}
    if about == "user":
        key = word if word in _VALUES else "none"
        value = (_VALUES.get(key) or _last_name(content, key)) if key != "none" else ""
        found |= {"kind": word if word in _KINDS else "fact", "key": key, "value": value}
    if len(rest) > 1:  # what it replaces, by a word of it
        by_ref = {memory.ref: memory.content.casefold() for memory in memories}
        number = next(n for n, ref in call.numbered.items() if rest[1] in by_ref.get(ref, ""))
        found |= {"action": "supersede", "memory": number}
    return found


def _last_name(content: str, key: str) -> str:
    """The value as it is in the quote: a name or place is the last word of its statement."""
    if key in ("home", "name"):
        return content.rsplit(" ", 1)[1]
    return {"W": "physiotherapist", "S": "sysadmin", "O": "bakery", "F": "freight dispatcher"}[content[0]]
