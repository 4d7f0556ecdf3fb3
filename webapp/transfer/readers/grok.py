"""Grok's data export: one JSON object with all conversations, each a tree of responses.

As the Portable AI Memory specification found it in real exports (importer mappings, section 5, 2026): everything is
wrapped twice, who spoke is written in four ways, and the dates of responses are MongoDB's.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from webapp.transfer.content import Part, ReadConversation, ReadProject
from webapp.transfer.field_values import text_or_none
from webapp.transfer.readers.records import as_dict, as_list, convert_records
from webapp.transfer.readers.turns import read_conversation
from webapp.transfer.sources import Upload

_MAIN = re.compile(r"(?:^|/)prod-grok-backend\.json$", re.IGNORECASE)


class Grok:
    """Reads Grok's export."""

    name, label = "grok", "Grok"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the file that Grok calls its backend is in it, or a file with such a conversation is it."""
        return bool(_files(upload)) if upload.is_archive else upload.has_record(upload.json_names, _is_conversation)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield conversations, and projects with their instructions."""
        for name in _files(upload) if upload.is_archive else upload.names:
            yield from convert_records(name, upload.items_under(name, "conversations", "projects"), _parts)


def _is_conversation(item: Any) -> bool:
    return isinstance(item, dict) and "conversation" in item and "responses" in item


def _files(upload: Upload) -> list[str]:
    return [name for name in upload.names if _MAIN.search(name)]


def _parts(entry: tuple[str, Any]) -> Iterable[Part]:
    key, item = entry
    return _projects(item) if key == "projects" else [_conversation(item)]


def _conversation(item: Any) -> ReadConversation:
    about, responses = as_dict(as_dict(item).get("conversation")), as_list(as_dict(item).get("responses"))
    rows = [as_dict(as_dict(row).get("response")) for row in responses]
    turns = [{**row, "id": row.get("_id")} for row in rows]
    return read_conversation({**about, "messages": turns, "currentId": about.get("leaf_response_id")})


def _projects(item: Any) -> Iterator[ReadProject]:
    if isinstance(item, dict) and (title := text_or_none(item.get("name"))):
        instructions = text_or_none(item.get("custom_personality")) or ""
        yield ReadProject(str(item.get("id") or title), title, instructions=instructions)
