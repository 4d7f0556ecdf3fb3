"""Memories and passages of a turn, in the form that the context builder takes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from webapp.chat.context.space_context import Place
from webapp.chat.context.values import Message, RetrievedPassage
from webapp.files.picture import pictures_of_document
from webapp.files.pictures import size_of_views
from webapp.memories.prompt.always_used import NEW
from webapp.retrieval.excerpt import core_of
from webapp.retrieval.lookup import Result

_SPEAKERS = {"user": "user", "assistant": "you"}


def changes_since_beginning(place: Place) -> list[RetrievedPassage]:
    """Return what was learned since the prompt's beginning was fixed: it goes with the last message, so no cache is
    lost.
    """
    return [
        RetrievedPassage(
            "memory",
            item.id,
            item.content,
            item.importance,
            "learned recently",
            item.revision,
            f"shared by {item.author}, who says this" if item.author else "",
        )
        for item in place.known
        if item.group == NEW
    ]


def excerpt_candidates(result: Result) -> list[RetrievedPassage]:
    """Return what was retrieved, best first, as candidates for the excerpts of a prompt."""
    return [
        RetrievedPassage(
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
            core=partial(core_of, item.content, result.query_terms) if item.kind == "message" else None,
            # What was said in one conversation on one day is shown together.
            group=(item.conversation_id or 0) * 1_000_000 + item.at.toordinal() if item.kind == "message" else 0,
            speaker=_SPEAKERS.get(item.role or "", ""),
        )
        for item in result.items
    ]


def with_retrieved_pictures(history: Sequence[Message], result: Result, room: int) -> Sequence[Message]:
    """Return the messages, the last with the retrieved pictures and pictured pages, as many as there is room for."""
    documents = [item.extra["picture"] for item in result.items if "picture" in item.extra]
    if not documents or not history or history[-1].role != "user":
        return history
    room -= sum(picture.tokens for picture in history[-1].pictures)
    pictures = []
    for title, digest, media_type, pages in documents:
        for picture in pictures_of_document(title, digest, media_type, pages, size_of_views()):
            if picture.tokens <= room:
                room -= picture.tokens
                pictures.append(picture)
    return [*history[:-1], replace(history[-1], pictures=(*history[-1].pictures, *pictures))]
