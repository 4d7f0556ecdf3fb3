"""Exports of turns (`turns.py`): LibreChat's, and those of every program that writes who speaks and what."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import Part, text_or_none
from webapp.transfer.readers.records import as_dict, as_list, read_records
from webapp.transfer.readers.transcripts import title_of, turns_of
from webapp.transfer.readers.turns import (
    BLOCKS,
    IDS,
    TITLES,
    as_turns,
    first_of,
    in_order,
    is_conversation,
    is_said,
    is_turn,
    read_conversation,
    turns_in,
)
from webapp.transfer.sources import TEXTS, Upload

_LARGE = 64 * 1024**2
_TALKS = (
    *("topicId", "topic_id", "conversationId", "conversation_id", "sessionId", "session_id"),
    *("threadId", "thread_id", "conversation"),
)


class LibreChat:
    """Reads LibreChat's export: one conversation per file, or several in an array."""

    name, label = "librechat", "LibreChat"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether a conversation of LibreChat's is in it."""
        return upload.has_record(upload.json_names, _is_of_librechat)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations."""
        yield from read_records(upload, upload.json_names, _is_of_librechat, lambda item: [read_conversation(item)])


def _is_of_librechat(item: Any) -> bool:
    return isinstance(item, dict) and "conversationId" in item and ("messages" in item or "messagesTree" in item)


class ShareGPT:
    """Reads lists of turns."""

    name, label = "sharegpt", N_("Other chats (ShareGPT, LobeChat, Chatbox …)")

    def looks_like(self, upload: Upload) -> bool:
        """Return whether turns are in it, or something that has a list of them."""
        is_ours = upload.has_record(upload.record_names, lambda item: is_conversation(item) or is_turn(item))
        return is_ours or bool(_transcript(upload))

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations; turns that nothing holds together, not even the name of one, are one with the name
        of their file."""
        if turns := _transcript(upload):
            title = title_of(upload.peek(upload.filename)) or PurePosixPath(upload.filename).stem
            yield read_conversation({"title": title, "messages": turns})
        for name in upload.record_names:
            if upload.first_record(name, is_conversation) is not None:
                convert = partial(_conversations, _blocks(upload, name), _titles(upload, name))
                yield from read_records(upload, [name], is_conversation, convert)
            elif upload.first_record(name, is_turn) is not None:
                talks: dict[str, list[Any]] = {}
                yield from read_records(upload, [name], is_turn, partial(_collect, talks))
                yield from _talks(talks, _titles(upload, name) if any(talks) else {}, PurePosixPath(name).stem)


def _transcript(upload: Upload) -> list[dict[str, str]]:
    """Return the turns in a text that was uploaded alone."""
    is_text = not upload.is_archive and upload.filename.lower().endswith(TEXTS)
    return turns_of(upload.text(upload.filename, _LARGE)) if is_text and upload.size(upload.filename) <= _LARGE else []


def _collect(talks: dict[str, list[Any]], item: Any) -> tuple[Part, ...]:
    for turn in filter(is_said, as_turns(item)):
        talks.setdefault(str(first_of(turn, _TALKS) or ""), []).append(turn)
    return ()


def _blocks(upload: Upload, name: str) -> dict[str, Any]:
    """Return the parts of turns by their ids, of a program that keeps them apart."""
    with suppress(ValueError):
        blocks = map(as_dict, (item for _, item in upload.items_under(name, "indexedDB", "message_blocks")))
        return {str(block.get("id")): block for block in blocks}
    return {}


def _talks(talks: dict[str, list[Any]], titles: dict[str, str], name: str) -> Iterator[Part]:
    """Yield the conversations that turns name, by that name; what names none has one of its own."""
    for key, rows in talks.items():
        title = titles.get(key) or (rows[0].get("conversation") if key else name)
        yield read_conversation({"id": key, "title": title, "messages": in_order(rows) if key else rows})


def _conversations(blocks: dict[str, Any], titles: dict[str, str], item: Any) -> list[Part]:
    """Return a conversation, those that it grew out of (Chatbox's threads), or those that its turns name."""
    talks: dict[str, list[Any]] = {}
    if not first_of(as_dict(item), (*IDS, *TITLES)):
        for turn in turns_in(item):
            _collect(talks, turn)
    if len(talks) > 1:
        return list(_talks(talks, titles, ""))
    if blocks:
        turns = [{**turn, "parts": list(map(blocks.get, as_list(turn.get(BLOCKS))))} for turn in turns_in(item)]
        item = {**item, "messages": turns}
    return [read_conversation(item), *map(read_conversation, as_list(as_dict(item).get("threads")))]


def _titles(upload: Upload, name: str) -> dict[str, str]:
    """Return the titles of conversations by their ids, from lists beside that of the turns."""
    titles: dict[str, str] = {}
    with suppress(ValueError):
        for _, item in upload.items_under(name, "state", "data", "topics", "sessions", "threads"):
            row = as_dict(item)
            if title := text_or_none(first_of(row, TITLES) or first_of(as_dict(row.get("meta")), TITLES)):
                titles[str(row.get("id"))] = title
    return titles
