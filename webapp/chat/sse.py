"""A turn's entries as server-sent events of the JSON contract."""

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Response
from werkzeug.wsgi import ClosingIterator

from webapp.chat.turns.turnlog import (
    FINAL_KINDS,
    REASONING,
    TEXT_KINDS,
    Entry,
    preceding_id,
    to_json,
)
from webapp.errors import TooMany
from webapp.extensions import app_settings

HEADERS = {
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Type": "text/event-stream; charset=utf-8",
}


def event(name: str, data: Any, event_id: str = "") -> bytes:
    """Return one event; without a name it is the default `message`."""
    lines = (data if isinstance(data, str) else to_json(data)).replace("\n", "\ndata: ")
    head = (f"event: {name}\n" if name else "") + (f"id: {event_id}\n" if event_id else "")
    return f"{head}data: {lines}\n\n".encode()


class OpenStreams:
    """Counts what each person has open in this process, as each open stream holds a thread."""

    def __init__(self) -> None:
        self.owners: dict[object, int] = {}
        self._lock = threading.Lock()

    def open(self, user_id: int, chunks: Iterable[Any], each: int, total: int) -> ClosingIterator:
        """Return a stream that counts as open until it is closed. Raises TooMany beyond these limits."""
        stream = object()

        def leave() -> None:
            self.owners.pop(stream, None)

        with self._lock:
            if list(self.owners.values()).count(user_id) >= each or len(self.owners) >= total:
                raise TooMany("Too many event streams are open. Close one.", retry_after=30)
            self.owners[stream] = user_id
        return ClosingIterator(chunks, leave)


open_streams = OpenStreams()


def viewer_stream(user_id: int, chunks: Iterable[Any]) -> ClosingIterator:
    """Return a stream by which somebody follows a turn that runs anyway. Raises TooMany: pages need threads, too."""
    threads = app_settings().web_threads
    return open_streams.open(user_id, chunks, max(1, threads * 5 // 8), max(1, threads * 7 // 8))


def response(chunks: Iterable[bytes]) -> Response:
    """Return a response that streams; proxies are asked not to buffer it."""
    return Response(chunks, headers=HEADERS, direct_passthrough=True)


def json_events(entries: Iterable[Entry | None], *, seen: int = 0, resumed: bool = False) -> Iterator[bytes]:
    """Yield the documented API's events, whose deltas joined equal the reply.

    `seen` characters a client that has `resumed` already has; each event's id is a turnlog.Cursor.
    """
    length = seen
    announced = resumed
    is_over = False
    yield b": connected\n\n"
    for item in entries:
        if item is None:
            yield b": waiting\n\n"
        elif item.kind in TEXT_KINDS:
            grown = item.offset + len(item.data["text"])
            if item.kind == "snapshot" and grown < length:  # part of it was a thought, as only its end told
                yield event(item.kind, item.data, f"{item.id}:{grown}")
                length = grown
            if item.offset <= length < grown:
                yield event("delta", {"text": item.data["text"][length - item.offset :]}, f"{item.id}:{grown}")
                length = grown
        elif item.kind == REASONING:
            yield event(item.kind, {**item.data, "offset": item.offset}, f"{item.id}:{length}")
        elif item.kind == "turn":
            if not announced:
                yield event("turn", item.data, f"{item.id}:{length}")
            announced = True
        elif item.kind not in FINAL_KINDS:
            yield event(item.kind, item.data, f"{item.id}:{length}")
        elif not is_over:  # an entry written twice, because Redis did not answer the first time, is sent once
            content = (item.data.get("message") or {}).get("content", "")
            if len(content) > length:
                # A client that resumes from this id has all the text, and lacks the end.
                missing, length = content[length:], len(content)
                yield event("delta", {"text": missing}, f"{preceding_id(item.id)}:{length}")
            yield event(item.kind, item.data, f"{item.id}:{length}")
            is_over = True
