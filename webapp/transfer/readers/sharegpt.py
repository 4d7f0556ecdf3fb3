"""The ShareGPT format: an array of conversations, each a list of turns by `human` and `gpt`."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import Part, ReadConversation, ReadMessage, count_omissions, text_or_none
from webapp.transfer.readers.records import as_dict, read_records
from webapp.transfer.sources import Upload

_PEOPLE, _HIDDEN = ("human", "user"), ("system", "tool", "function", "function_call", "observation", "none")


class ShareGPT:
    """Reads files in the ShareGPT format."""

    name, label = "sharegpt", "ShareGPT"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the first item is a list of turns with `from` and `value`."""
        return upload.has_record(upload.json_names, _is_conversation)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations."""
        yield from read_records(upload, upload.json_names, _is_conversation, lambda item: [_conversation(item)])


def _is_conversation(item: Any) -> bool:
    turns = item.get("conversations") if isinstance(item, dict) else None
    return isinstance(turns, list) and any(isinstance(turn, dict) and "value" in turn for turn in turns)


def _conversation(item: Any) -> ReadConversation:
    if not _is_conversation(item):
        raise ValueError(N_("it has no turns"))
    messages = []
    for number, turn in enumerate(item["conversations"]):
        source = str(as_dict(turn).get("from")).lower()
        text = None if source in _HIDDEN else text_or_none(as_dict(turn).get("value"))
        if text:
            messages.append(ReadMessage(str(number), "user" if source in _PEOPLE else "assistant", text))
    # Many of these files have no ids: the same words are the same conversation.
    digest = hashlib.sha256(json.dumps(item["conversations"], sort_keys=True).encode()).hexdigest()[:32]
    return ReadConversation(
        source_id=str(item.get("id") or digest),
        title=text_or_none(item.get("title")),
        messages=messages,
        left_out=count_omissions(messages, item["conversations"], len(messages)),
    )
