"""A turn's entries as server-sent HTML: what a page swaps in while a reply is being written."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

from flask import render_template
from markupsafe import Markup, escape
from sqlalchemy import select

from webapp.accounts.auth import current_user_id
from webapp.chat import sse
from webapp.chat.turns import turnlog
from webapp.chat.turns.turnlog import FINAL_KINDS, REASONING, SETTLED, TEXT_KINDS, WAIT_KINDS, Entry, order
from webapp.conversations.message_views import view_of
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.errors import NotFound
from webapp.markdown import StreamRenderer
from webapp.memories.history.change_sets import get_change_set

TOOL_STARTS = "tool_start"
TOOL_KINDS = (TOOL_STARTS, "tool")
# Named events for the page's scripts; they carry no data.
REPLY_FINISHED = "reply:finished"
MEMORIES_READING = "memories:reading"
MEMORIES_CHANGED = "memories:changed"


class _Page:
    """The state of one viewer's page of a reply."""

    def __init__(self, turn_id: int):
        self.turn_id = turn_id
        self.text = ""
        self.thoughts = ""
        self.thinks_since: int | None = None
        self.renderer: StreamRenderer | None = None
        self.calls: list[dict[str, Any]] = []

    def replace(self, text: str) -> str:
        """Return HTML that replaces whatever the page shows with this text."""
        self.text, self.renderer = text, StreamRenderer()
        update = self.renderer.feed(text)
        finished, tail = _join(update.finished_html), update.tail_html or ""
        return self._put("done", "innerHTML", finished) + self._put("tail", "innerHTML", tail)

    def advance(self, item: Entry) -> str:
        """Return HTML that takes the page to the text after an entry; empty if nothing changes."""
        after = turnlog.advance(self.text, item)
        if self.renderer is None or not after.startswith(self.text):
            return self.replace(after)
        grown, self.text = after[len(self.text) :], after
        update = self.renderer.feed(grown) if grown else None
        if update is None:
            return ""
        finished = self._put("done", "beforeend", _join(update.finished_html)) if update.finished_html else ""
        return finished + (self._put("tail", "innerHTML", update.tail_html) if update.tail_html is not None else "")

    def note(self, item: Entry) -> None:
        """Add a tool that begins or has ended; an entry for the same call is replaced."""
        running = item.kind == TOOL_STARTS
        number = item.data.get("number")
        self.calls = [call for call in self.calls if number is None or call.get("number") != number]
        self.calls.append({**item.data, "is_running": running})

    def tools(self) -> str:
        """Return HTML of the tools of this reply so far; empty if there are none."""
        return self._render("tools", calls=self.calls) if self.calls else ""

    def think(self, item: Entry) -> str:
        """Return HTML that updates the fold with the model's reasoning above the reply."""
        earlier, text = self.thoughts, str(item.data["text"])
        self.thinks_since = self.thinks_since or order(item.id)[0]
        self.thoughts = earlier[: item.offset] + text
        if earlier and item.offset == len(earlier):
            return self._put("thought", "beforeend", text)
        return self._render("thoughts", text=self.thoughts)

    def speak(self, item: Entry) -> str:
        """Return HTML for the fold when the reply begins: how long the model thought."""
        start, self.thinks_since = self.thinks_since, None
        return self._render("spoken", seconds=max(0, order(item.id)[0] - start) / 1000) if start else ""

    def wait(self, item: Entry) -> str:
        """Return HTML that tells what the reply waits for, and how much of the time should be over by now."""
        return self._render("wait", **item.data, elapsed=round(max(0.0, time.time() - order(item.id)[0] / 1000)))

    def finish(self) -> str:
        """Return HTML of the reply as it was stored."""
        message = db.session.get(Message, self.turn_id)
        try:
            return self._render("final", view=view_of(message)) if message is not None else ""
        finally:
            db.session.remove()  # no connection is held while the stream stays open

    def _put(self, place: str, swap: str, html: str) -> str:
        """Return what puts text or Markup in a place of the reply: without a template, as it comes with every token."""
        return f'<hx-partial hx-target="#m-{self.turn_id}-{place}" hx-swap="{swap}">{escape(html)}</hx-partial>'

    def _render(self, part: str, **context: object) -> str:
        return render_template("chat/_stream.html", part=part, id=self.turn_id, **context)


def html_events(
    turn_id: int, conversation_id: int, backlog: list[Entry], live: Iterable[Entry | None], *, has_reply: bool = False
) -> Iterator[bytes]:
    """Yield server-sent events for hx-sse: unnamed ones hold HTML, `settled` is the last.

    `backlog` is shown at once as one replacement, `live` follows it. A page rendered with the finished reply
    (`has_reply`) is not sent that again: something in it may be open.
    """
    page = _Page(turn_id)
    yield b": connected\n\n"
    yield from _catch_up(page, conversation_id, backlog, has_reply)
    if backlog and backlog[-1].kind == SETTLED:
        return
    for item in live:
        if item is None:
            yield b": waiting\n\n"
        elif item.kind in TEXT_KINDS:
            yield from _message(page.speak(item) + page.advance(item), item.id)
        elif item.kind == REASONING:
            yield from _message(page.think(item), item.id)
        else:
            yield from _other(page, conversation_id, item)
            if item.kind == SETTLED:
                return
    yield from _end_of_stream(conversation_id)


def _catch_up(page: _Page, conversation_id: int, backlog: list[Entry], has_reply: bool) -> Iterator[bytes]:
    if not any(item.kind in FINAL_KINDS for item in backlog):
        for item in backlog:
            if item.kind == REASONING:
                yield from _message(page.think(item), item.id)
        text = turnlog.text_of(backlog)
        if text:
            first = next(item for item in backlog if item.kind in TEXT_KINDS)
            yield from _message(page.speak(first) + page.replace(text), backlog[-1].id)
        for item in backlog:
            if item.kind in TOOL_KINDS:
                page.note(item)
        if not text and (wait := next((item for item in reversed(backlog) if item.kind in WAIT_KINDS), None)):
            yield from _message(page.wait(wait), wait.id)
        yield from _message(page.tools(), backlog[-1].id if backlog else "")
        return
    for item in backlog:
        if item.kind not in (*TEXT_KINDS, REASONING) and not (has_reply and item.kind in FINAL_KINDS):
            yield from _other(page, conversation_id, item)


def _other(page: _Page, conversation_id: int, item: Entry) -> Iterator[bytes]:
    if item.kind in FINAL_KINDS:
        try:
            yield from _message(page.finish(), item.id)
            yield sse.event(REPLY_FINISHED, "", item.id)
        except NotFound:
            return
    elif item.kind in TOOL_KINDS:
        page.note(item)
        yield from _message(page.tools(), item.id)
    elif item.kind in WAIT_KINDS:
        yield from _message(page.wait(item), item.id)
    elif item.kind == "title":
        yield from _message(_title_part(conversation_id, item.data.get("title", "")), item.id)
    elif item.kind == "extraction_start":
        yield sse.event(MEMORIES_READING, "", item.id)
    elif item.kind == "extraction_complete":
        yield from _message(_memory_line(page.turn_id, item), item.id)
        if page.calls or item.data.get("change_set_id") or _is_journey(conversation_id):
            yield sse.event(MEMORIES_CHANGED, "", item.id)
    elif item.kind == "summary_complete":
        yield sse.event(MEMORIES_CHANGED, "", item.id)
    elif item.kind == SETTLED:
        yield from _end_of_stream(conversation_id, item.id)


def _end_of_stream(conversation_id: int, event_id: str = "") -> Iterator[bytes]:
    """Yield the end of a stream, with the current title, which may have come on another turn's stream."""
    title = db.session.scalar(select(Conversation.title).where(Conversation.conversation_id == conversation_id))
    db.session.remove()
    if title:
        yield from _message(_title_part(conversation_id, title))
    yield sse.event(SETTLED, "", event_id)


def _is_journey(conversation_id: int) -> bool:
    """Return whether a conversation has points, which are read from what was said even if nothing is remembered."""
    statement = select(Conversation.journey_id).where(Conversation.conversation_id == conversation_id)
    journey_id = db.session.scalar(statement)
    db.session.remove()
    return journey_id is not None


def _title_part(conversation_id: int, title: str) -> str:
    return render_template("chat/_stream.html", part="title", conversation_id=conversation_id, title=title)


def _memory_line(turn_id: int, item: Entry) -> str:
    """Return the HTML of the line that says what was remembered from the turn; empty if nothing was."""
    change_set_id = item.data.get("change_set_id")
    if not isinstance(change_set_id, int):
        return ""
    try:
        view = get_change_set(current_user_id(), change_set_id)
        return render_template("chat/_stream.html", part="remembered", id=turn_id, views=[view])
    except NotFound:
        return ""  # undone or forgotten in the meantime
    finally:
        db.session.remove()


def _message(html: str, event_id: str = "") -> Iterator[bytes]:
    # A lone carriage return would end a line of the event.
    html = html.replace("\r\n", "\n").replace("\r", "\n").strip()
    if html:
        yield sse.event("", html, event_id)


def _join(blocks: Iterable[Markup]) -> Markup:
    return Markup("").join(blocks)
