"""Exports of turns (`turns.py`): LibreChat's, and those of every program that writes who speaks and what."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import Part, Unreadable
from webapp.transfer.field_values import text_or_none
from webapp.transfer.json_text import MAX_SAMPLE
from webapp.transfer.readers.gemini import markdown_of
from webapp.transfer.readers.memory_rows import MEMORY_FILE, is_gone, memory_of, read_rows
from webapp.transfer.readers.pasted_list import fenced_json
from webapp.transfer.readers.records import RecordReader, as_dict, as_list, read_records
from webapp.transfer.readers.transcripts import talks_of
from webapp.transfer.readers.turns import (
    BLOCKS,
    FIELDS,
    as_turns,
    as_whole,
    first_of,
    in_order,
    is_conversation,
    is_message,
    is_turn,
    read_conversation,
    turns_in,
)
from webapp.transfer.sources import PAGES, TEXTS, Upload

_LARGE = 64 * 1024**2


class ShareGPT:
    """Reads lists of turns."""

    name, label = "sharegpt", N_("Other chats (ShareGPT, LobeChat, Chatbox …)")

    def looks_like(self, upload: Upload) -> bool:
        """Return whether turns are in it, or something that has a list of them."""
        if upload.has_record(upload.record_names, lambda item: is_conversation(item) or is_turn(item)):
            return True
        texts = _texts(upload)[:MAX_SAMPLE]
        if texts and 2 * sum(bool(talks_of(_text(upload, name), name)) for name in texts) >= len(texts):
            return True
        return not upload.is_archive and any(
            self.looks_like(block) for name in texts for block in fenced_json(_text(upload, name), name)
        )

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations, and what is remembered beside them; turns that nothing holds together, not even the
        name of one, are one with the name of their file."""
        for name in _texts(upload):
            text = _text(upload, name)
            if found := talks_of(text, PurePosixPath(name).stem):
                yield from map(read_conversation, found)
            elif upload.is_archive:
                yield Unreadable(name, N_("it has no turns"))
            else:
                for block in filter(self.looks_like, fenced_json(text, name)):
                    yield from self.read(block)
        titles = dict[str, str]()  # that stand in files of their own (Jan)
        for name in upload.json_names if upload.is_archive else ():
            titles |= _title(upload.first_item(name))
        for name in upload.record_names:
            if upload.first_record(name, is_conversation) is not None:
                convert = partial(_conversations, _blocks(upload, name), _titles(upload, name))
                yield from read_records(upload, [name], is_conversation, convert)
            elif upload.first_record(name, is_turn) is not None:
                talks: dict[str, list[Any]] = {}
                yield from read_records(upload, [name], is_turn, partial(_collect, talks))
                beside = titles | _titles(upload, name) if any(talks) else {}
                yield from _grouped(talks, beside, PurePosixPath(name).stem)
            else:
                yield from read_rows(upload, filter(MEMORY_FILE.search, [name]))


def _is_of_librechat(item: Any) -> bool:
    return isinstance(item, dict) and "conversationId" in item and ("messages" in item or "messagesTree" in item)


LIBRECHAT = RecordReader("librechat", "LibreChat", _is_of_librechat, lambda item: [read_conversation(item)])
"""LibreChat's export: one conversation per file, or several in an array."""


def _texts(upload: Upload) -> list[str]:
    """Return the texts and pages that may be transcripts: those uploaded alone, or in a ZIP without JSON."""
    names = [] if upload.is_archive and upload.json_names else upload.names
    return [name for name in names if name.lower().endswith((*TEXTS, *PAGES)) and upload.size(name) <= _LARGE]


def _text(upload: Upload, name: str) -> str:
    """Return a text, of a page that as Markdown; empty if it cannot be read."""
    with suppress(ImportRefused):
        text = upload.text(name, _LARGE)
        return markdown_of(text) if name.lower().endswith(PAGES) else text
    return ""


def _collect(talks: dict[str, list[Any]], item: Any) -> tuple[Part, ...]:
    for turn in filter(is_message, as_turns(item)):
        talks.setdefault(str(first_of(turn, FIELDS.talks) or ""), []).append(turn)
    return ()


def _blocks(upload: Upload, name: str) -> dict[str, Any]:
    """Return the parts of turns by their ids, of a program that keeps them apart."""
    with suppress(ValueError):
        blocks = map(as_dict, (item for _, item in upload.items_under(name, "indexedDB", "message_blocks")))
        return {str(block.get("id")): block for block in blocks}
    return {}


def _grouped(talks: dict[str, list[Any]], titles: dict[str, str], name: str) -> Iterator[Part]:
    """Yield a conversation for each name that turns give theirs, and one for all turns that give none."""
    for key, rows in talks.items():
        title = titles.get(key) or (first_of(rows[0], FIELDS.named) if key else name)
        yield read_conversation({"id": key, "title": title, "messages": in_order(rows) if key else rows})


def _conversations(blocks: dict[str, Any], titles: dict[str, str], item: Any) -> list[Part]:
    """Return a conversation, those that it grew out of (Chatbox's threads), or those that its turns name; or what is
    remembered beside conversations."""
    if not is_conversation(item) and (memory := memory_of(item)):
        return [] if is_gone(item) else [memory]
    talks: dict[str, list[Any]] = {}
    if not first_of(as_whole(item), (*FIELDS.ids, *FIELDS.titles)):
        for turn in turns_in(item):
            _collect(talks, turn)
    if len(talks) > 1:
        return list(_grouped(talks, titles, ""))
    if blocks:
        turns = [{**turn, "parts": list(map(blocks.get, as_list(turn.get(BLOCKS))))} for turn in turns_in(item)]
        item = {**item, "messages": turns}
    return [read_conversation(item), *map(read_conversation, as_list(as_dict(item).get("threads")))]


def _titles(upload: Upload, name: str) -> dict[str, str]:
    """Return the titles of conversations by their ids, from lists beside that of the turns."""
    titles: dict[str, str] = {}
    with suppress(ValueError):
        for _, item in upload.items_under(name, "state", "data", "topics", "sessions", "threads"):
            titles |= _title(item)
    return titles


def _title(item: Any) -> dict[str, str]:
    """Return the title of a conversation that is told without its turns, by its id."""
    row = as_dict(item)
    title = text_or_none(first_of(row, FIELDS.titles) or first_of(as_dict(row.get("meta")), FIELDS.titles))
    return {str(row.get("id")): title} if title else {}
