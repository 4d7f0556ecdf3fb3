"""Readers of conversations that a later domain provides: those of a legacy, for facts about its person.

Legacies come after memories, so the application says who reads (`init_subjects`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from flask import Flask, current_app

from webapp.conversations.models import Conversation
from webapp.extensions import Part
from webapp.memories.learning.results import Result

OnStart = Callable[[], None] | None
Read = Callable[[int, int, OnStart], Result]
"""Reads a conversation after a message; `more` and `through` of the result say whether and where to continue."""


@dataclass(frozen=True)
class SubjectReader:
    """Says which conversations it reads, and reads them."""

    covers: Callable[[Conversation], bool]
    read: Read


_reader: Part[SubjectReader] = Part("subject_reader")


def init_subjects(app: Flask, reader: SubjectReader) -> None:
    """Let `reader` read the conversations that it covers."""
    _reader.put(app, reader)


def reader_of(conversation: Conversation) -> Read | None:
    """Return the reader of a conversation that is not about its user; None for one that is."""
    if "subject_reader" not in current_app.extensions:
        return None
    reader = _reader()
    return reader.read if reader.covers(conversation) else None
