"""Conversations as lists of turns: ShareGPT's, by `human` and `gpt`, and a model's API's, by role."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import Part, ReadConversation, ReadMessage, count_omissions, text_or_none
from webapp.transfer.readers.records import as_dict, as_list, read_records
from webapp.transfer.sources import Upload

_PEOPLE = ("human", "user")
_HIDDEN = ("system", "developer", "tool", "function", "function_call", "observation", "none")


class ShareGPT:
    """Reads files of lists of turns."""

    name, label = "sharegpt", "ShareGPT"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether an item is a list of turns."""
        return upload.has_record(upload.json_names, _is_conversation)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations."""
        yield from read_records(upload, upload.json_names, _is_conversation, lambda item: [_conversation(item)])


def _turns(item: Any) -> list[Any]:
    return as_list(as_dict(item).get("conversations") or as_dict(item).get("messages"))


def _is_conversation(item: Any) -> bool:
    return any({"value", "content"} & as_dict(turn).keys() and {"from", "role"} & turn.keys() for turn in _turns(item))


def _conversation(item: Any) -> ReadConversation:
    if not _is_conversation(item):
        raise ValueError(N_("it has no turns"))
    messages = []
    for number, turn in enumerate(map(as_dict, _turns(item))):
        source = str(turn.get("from") or turn.get("role")).lower()
        text = None if source in _HIDDEN else _text(turn.get("value") or turn.get("content"))
        if text:
            messages.append(ReadMessage(str(number), "user" if source in _PEOPLE else "assistant", text))
    # Many of these files have no ids: the same words are the same conversation.
    digest = hashlib.sha256(json.dumps(_turns(item), sort_keys=True).encode()).hexdigest()[:32]
    return ReadConversation(
        source_id=str(item.get("id") or digest),
        title=text_or_none(item.get("title") or item.get("name")),
        messages=messages,
        left_out=count_omissions(messages, _turns(item), len(messages)),
    )


def _text(content: Any) -> str | None:
    """Return a text, or those of its parts."""
    parts = filter(None, (text_or_none(as_dict(part).get("text")) for part in as_list(content)))
    return text_or_none("\n\n".join(parts) if isinstance(content, list) else content)
