"""The requests for lists and pages whose times must not grow with their rows."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from flask import Flask
from werkzeug.test import TestResponse

from testkit.account_rows import MAX_MEMORIES
from testkit.people import Person, browser_client
from webapp.conversations import lists
from webapp.conversations.schemas import ConversationQuery
from webapp.http.paging import Keyset
from webapp.memories.schemas import MemoryQuery


def list_requests(app: Flask, person: Person, conversation: int, size: int) -> dict[str, Callable[[], TestResponse]]:
    """Return requests, by name of the view, of a user for whom `fill` created this many rows."""
    browser = browser_client(app, person)
    client = app.test_client()
    token = {"Authorization": f"Bearer {person.token}"}

    def api(path: str) -> Callable[[], TestResponse]:
        return lambda: client.get(f"/api/{path}", headers=token)

    def page(path: str) -> Callable[[], TestResponse]:
        return lambda: browser.get(path)

    def part(path: str) -> Callable[[], TestResponse]:
        return lambda: browser.get(path, headers={"HX-Request": "true"})

    middle = size // 2
    deep = min(middle, MAX_MEMORIES // 2)
    listed = lists.keyset_of(person.user_id, ConversationQuery())
    beside = lists.keyset_of(person.user_id, ConversationQuery(), pinned_first=True)
    known = Keyset("memories", MemoryQuery(), datetime, int, scope=[person.user_id, ""])
    return {
        "API: conversations": api("conversations?limit=50"),
        "API: conversations from the middle": api(f"conversations?limit=50&cursor={listed.cursor(*_position(middle))}"),
        "API: conversation with messages": api(f"conversations/{conversation}"),
        "API: messages from the middle": api(f"conversations/{conversation}/messages?before={middle}&limit=50"),
        "API: memories": api("memories?limit=50"),
        "API: memories from the middle": api(f"memories?limit=50&cursor={known.cursor(*_position(deep))}"),
        "API: memories of a kind": api("memories?limit=50&memory_type=entity"),
        "API: memories that no longer hold": api("memories?limit=50&is_closed=true"),
        "sidebar": part("/sidebar"),
        "sidebar from the middle": part(f"/sidebar?cursor={beside.cursor(0, *_position(middle))}"),
        "conversation page": page(f"/c/{conversation}"),
        "conversation beside the sidebar": part(f"/c/{conversation}"),
        "conversation page, at the middle": page(f"/c/{conversation}?at={middle}"),
        "messages above": part(f"/c/{conversation}?before={middle}"),
        "memory panel": part(f"/memories/panel?part=rest&conversation={conversation}"),
        "memory panel, anew": part(f"/memories/panel?conversation={conversation}"),
        "memory list": part("/memories/list"),
        "memory page": page("/memory"),
    }


def _position(row: int) -> tuple[datetime, int]:
    """Return the sort key of the row with this number; conversations and memories are a second apart."""
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=row), 2**31 - 1
