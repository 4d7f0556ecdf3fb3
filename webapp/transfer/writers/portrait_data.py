"""The content of a portrait's PDF, as plain data that goes to the process which makes it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PrintedSource:
    """A memory that sentences rest on, with the quotes behind it and where each was said; `by`: who shares it."""

    content: str
    quotes: Sequence[tuple[str, str]] = ()
    by: str = ""


@dataclass(frozen=True, slots=True)
class PrintedPortrait:
    """All texts of a portrait in its reader's language; the marks of a sentence count `sources` from 1."""

    title: str
    heading: str
    written: str
    foot: str
    rests_on: str
    sentences: Sequence[tuple[str, Sequence[int]]]
    sources: Sequence[PrintedSource] = field(default_factory=list)
    tag: str = "en"
    is_rtl: bool = False

    def as_json(self) -> bytes:
        """Return what the program reads."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()


def read_printed(data: bytes) -> PrintedPortrait:
    """Return the portrait in what `as_json` returned."""
    fields: dict[str, Any] = json.loads(data)
    sources = [PrintedSource(**source) for source in fields.pop("sources")]
    return PrintedPortrait(**fields, sources=sources)
