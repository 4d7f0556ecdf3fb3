"""What the shipped journeys say, in the languages of the interface: `fixtures/languages`, by the English text.

A journey is stored as its file says, and prompts and the API give it so; people read it in their language. A text that
is not of a shipped journey, or was changed, has no translation there and stays as it was written.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import cast

from webapp.languages import SOURCE

FOLDER = Path(__file__).resolve().parent / "fixtures" / "languages"


def in_language(text: str, code: str) -> str:
    """A text of a journey in a language of the interface; as it is where it has no translation."""
    return text if code == SOURCE else texts_in(code).get(text, text)


@lru_cache(maxsize=16)
def texts_in(code: str) -> dict[str, str]:
    """The translations into a language by the English text; none for a language that is not there."""
    place = FOLDER / f"{code}.json"
    return cast(dict[str, str], json.loads(place.read_text("utf-8"))) if place.exists() else {}
