"""What was learned and found for a turn, as the context takes it."""

from __future__ import annotations

from functools import partial

from webapp.chat.context_types import Retrieved
from webapp.chat.space_context import Place
from webapp.memories.always import NEW
from webapp.retrieval.focus import core_of
from webapp.retrieval.service import Result

_SPEAKERS = {"user": "user", "assistant": "you"}


def learned(place: Place) -> list[Retrieved]:
    """What was learned since the prompt's beginning was fixed: it goes with the last message, and breaks no cache."""
    return [
        Retrieved(
            "memory",
            item.id,
            item.content,
            item.importance,
            "learned recently",
            item.revision,
            f"shared by {item.by}, who says this" if item.by else "",
        )
        for item in place.known
        if item.group == NEW
    ]


def retrieved(found: Result) -> list[Retrieved]:
    """What was looked up, best first, as candidates for the excerpts of a prompt."""
    return [
        Retrieved(
            item.kind,
            item.id,
            item.content,
            item.score,
            item.reason,
            item.revision,
            item.source,
            start=item.start,
            end=item.start + len(item.content),
            length=item.length,
            core=partial(core_of, item.content, found.asked) if item.kind == "message" else None,
            # What was said in one conversation on one day stands together.
            group=(item.conversation_id or 0) * 1_000_000 + item.at.toordinal() if item.kind == "message" else 0,
            speaker=_SPEAKERS.get(item.role or "", ""),
        )
        for item in found.items
    ]
