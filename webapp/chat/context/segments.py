"""A prompt's text as segments, rendered twice: as it is sent, and as it is stored with the reply. Pure.

A quoted memory, summary or message is stored as a mark that names it, so that deleting it leaves no copy.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from webapp.files.picture import Picture, with_parts
from webapp.text.tokens import estimate_tokens

_TAG = re.compile(r"<(?![\d=])")


def escape(text: str) -> str:
    """Make others' words unable to open or close a block: every `<` that could begin a tag becomes `&lt;`."""
    return _TAG.sub("&lt;", text) if "<" in text else text


def attribute(text: str) -> str:
    """Make a text fit between the quotes of an attribute: one line, 120 characters at most."""
    return " ".join(escape(text).replace('"', "'").replace(">", " ").split())[:120]


class Segment(NamedTuple):
    """A piece of a prompt; `mark` is stored in its place, None if the text itself is."""

    text: str
    mark: str | None = None


Line = Sequence[Segment]
_TEXT_OF = attrgetter("text")


def memory_mark(memory_id: int, revision: int) -> str:
    return f"[[memory {memory_id} revision {revision}]]"


def passage_mark(kind: str, passage_id: int, place: tuple[int, int] | None = None) -> str:
    """Return the mark of a message, document or chunk retrieved for a turn, or of a range of its characters."""
    return f"[[{kind} {passage_id} from {place[0]} to {place[1]}]]" if place else f"[[{kind} {passage_id}]]"


def summary_mark(chunk_id: int) -> str:
    """Return the mark of a summary of the conversation itself."""
    return f"[[summary {chunk_id}]]"


def filled_mark(placeholder: str) -> str:
    """Return the mark of a placeholder, given with its braces."""
    return f"[[filled {placeholder}]]"


def model_text(segments: Iterable[Segment]) -> str:
    return "".join(map(_TEXT_OF, segments))


def tokens_of(segments: Iterable[Segment]) -> int:
    """Return the tokens of the text as the model reads it."""
    return estimate_tokens(model_text(segments))


def stored_text(segments: Iterable[Segment]) -> str:
    return "".join([segment.text if segment.mark is None else segment.mark for segment in segments])


def join_segments(separator: str, texts: Iterable[Line]) -> list[Segment]:
    """Return texts with a separator between them; empty ones are left out."""
    result: list[Segment] = []
    for text in texts:
        if any(map(_TEXT_OF, text)):
            result += [Segment(separator), *text] if result else text
    return result


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of a prompt: segments, and a stored message in full, or shortened to `shortened_to` tokens."""

    role: str
    segments: tuple[Segment, ...] = ()
    message_id: int | None = None
    text: str = ""
    shortened_to: int | None = None
    pictures: tuple[Picture, ...] = ()

    def request_message(self) -> dict[str, Any]:
        """Return the message as it goes to the model; pictures are only referred to."""
        text = model_text(self.segments) + self.text
        return {"role": self.role, "content": with_parts(text, self.pictures) if self.pictures else text}

    def size(self) -> int:
        return estimate_tokens(model_text(self.segments) + self.text) + sum(picture.tokens for picture in self.pictures)

    def record(self) -> dict[str, Any]:
        """Return the message as it is stored: one of the conversation's is named by its id."""
        stored: dict[str, Any] = {"role": self.role}
        if self.message_id is not None:
            stored["message_id"] = self.message_id
        if self.shortened_to is not None:
            stored["shortened_to"] = self.shortened_to
        if self.segments or self.message_id is None:
            stored["content"] = stored_text(self.segments)
        if self.pictures:
            stored["pictures"] = [picture.label for picture in self.pictures]
        return stored
