"""A turn's entries as server-sent events of the JSON contract."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Response

from webapp.chat import turnlog
from webapp.chat.turnlog import TEXT_KINDS, Entry

HEADERS = {
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Type": "text/event-stream; charset=utf-8",
}


def event(name: str, data: Any, event_id: str = "") -> bytes:
    """One event; without a name it is the default `message`."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    lines = "".join(f"data: {line}\n" for line in text.split("\n"))
    return f"{f'event: {name}' + chr(10) if name else ''}{f'id: {event_id}' + chr(10) if event_id else ''}{lines}\n".encode()


def response(chunks: Iterable[bytes]) -> Response:
    """A response that streams; proxies are asked not to buffer it."""
    return Response(chunks, headers=HEADERS, direct_passthrough=True)


def json_events(entries: Iterable[Entry | None], *, seen: str = "") -> Iterator[bytes]:
    """The contract's events. The concatenated deltas equal the reply, whatever happened to the stream meanwhile.

    `seen` is the text a resuming client already has.
    """
    text = seen
    announced = False
    yield b": connected\n\n"
    for item in entries:
        if item is None:
            yield b": waiting\n\n"
        elif item.kind in TEXT_KINDS:
            after = turnlog.advance(text, item)
            if len(after) > len(text):
                yield event("delta", {"text": after[len(text) :]}, item.id)
                text = after
        elif item.kind == "turn":
            if not announced:
                yield event("turn", item.data, item.id)
            announced = True
        else:
            content = (item.data.get("message") or {}).get("content", "") if item.kind in turnlog.FINAL_KINDS else ""
            if len(content) > len(text) and content.startswith(text):
                yield event("delta", {"text": content[len(text) :]})
                text = content
            yield event(item.kind, item.data, item.id)
