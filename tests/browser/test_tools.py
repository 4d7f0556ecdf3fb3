"""Tools in the browser: the question before one that writes, what runs, what was used, sources, settings."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect

from testkit.people import Person
from tests.support.live import LiveServer
from tests.tools.mcp_server import RealServer, serve_mcp
from tests.tools.servers import serve
from webapp.db.base import write_transaction
from webapp.tools.schemas import NewToolServer, ToolServerChanges
from webapp.tools.servers import create_server, try_server, update_server

from .conftest import on_every_screen, replies, script_title, scrolls_sideways, serious_findings

HELLO = "^(?!memory_operations|conversation_title|# |User:)"


@pytest.fixture
def garden(app: Any) -> Iterator[RealServer]:
    """The official MCP server, everybody's, with two of its tools on."""

    def add(url: str) -> None:
        with app.app_context():
            with write_transaction():
                row = create_server(0, NewToolServer(name="Garden", url=url, for_everyone=True), is_admin=True)
            row = try_server(row)
            with write_transaction():
                update_server(row, ToolServerChanges(tools_on=["count_herons", "write_note"]))

    with serve_mcp() as real:
        with ThreadPoolExecutor(1) as apart:  # Playwright has a loop of its own in this thread
            apart.submit(add, real.url).result()
        yield real


def say(page: Page, words: str) -> None:
    """Send a message with the button, as on a phone."""
    page.get_by_label("Message", exact=True).fill(words)
    page.get_by_role("button", name="Send", exact=True).click()


def calls(model: Any, *wanted: tuple[str, dict[str, Any]], last: str) -> None:
    model.script(match=HELLO, reply=last, times=1)
    for name, arguments in reversed(wanted):
        model.script(match=HELLO, reply="Let me see.", tool_calls=[{"name": name, "arguments": arguments}], times=1)


@on_every_screen
def test_a_tool_that_writes_is_asked_about_and_stopped_while_it_asks(
    open_tab, make_user, model, garden, device, colour
):
    script_title(model, "Herons")
    calls(
        model,
        ("Garden_count_herons", {"where": "the pond"}),
        ("Garden_write_note", {"text": "Three herons came to the pond this morning"}),
        ("calculate", {"expression": "3 * 52"}),
        last="There are **three** herons. I wrote that down; it makes 156 a year.",
    )
    tab = open_tab(make_user(is_admin=True), device, colour=colour)
    page = tab.page
    say(page, "Count the herons and note it")
    question = page.get_by_text("This may change something there. Allow it?")
    expect(question).to_be_visible()
    expect(page.get_by_label("What would be sent")).to_have_text(re.compile("text: Three herons came to the pond"))
    expect(page.locator(".tool-line").first).to_contain_text("Garden · count_herons")
    page.reload()  # whoever comes back is asked all the same
    expect(question).to_be_visible()
    assert not garden.notes and serious_findings(page) == []
    page.get_by_role("button", name="Allow once").click()
    expect(replies(page)).to_contain_text("it makes 156 a year")
    assert garden.notes == ["Three herons came to the pond this morning"]
    page.get_by_text("Used 3 tools").click()
    expect(page.locator(".tools-used")).to_contain_text("Noted: Three herons")
    assert serious_findings(page) == []
    calls(model, ("Garden_write_note", {"text": "x"}), last="Done.")
    say(page, "Note it")
    expect(page.get_by_role("button", name="Always")).to_be_visible()
    page.get_by_role("button", name=re.compile("Stop")).click()
    expect(page.locator('.message-assistant[data-status="stopped"]')).to_be_visible()
    assert len(garden.notes) == 1
    tab.go("/admin/tools").get_by_role("link", name="Garden").click()
    expect(page.get_by_text("may write")).to_have_count(1)
    assert serious_findings(page) == [] and not scrolls_sideways(page)


@pytest.fixture
def give_web_access(live_server: LiveServer, make_user: Callable[..., Person]) -> Iterator[Callable[..., None]]:
    """Change what may be used of the web, told to the live web itself: it keeps what it knows for some seconds."""
    headers = {"Authorization": f"Bearer {make_user(is_admin=True).token}"}

    def change(fields: dict[str, Any]) -> None:
        answer = httpx2.put(f"{live_server.url}/api/web-access", json=fields, headers=headers, timeout=60)
        assert answer.status_code == 200, answer.text

    yield change
    change({"is_enabled": False})


@on_every_screen
def test_the_globe_and_the_sources(open_tab, user, model, give_web_access, device, colour):
    script_title(model, "Herons")
    with serve() as site:
        found = [
            {"title": "Grey heron – a very long title of a page about birds", "url": "https://example.org/herons"},
            {"title": "Herons and egrets", "url": "https://birds.example.net/egrets?x=1"},
        ]
        site.says({"results": found})
        give_web_access({"provider": "searxng", "address": site.url, "is_enabled": True})
        tab = open_tab(user, device, colour=colour)
        page = tab.page
        globe = page.get_by_label("Search the web")
        expect(globe).not_to_be_checked()
        globe.check()
        calls(model, ("web_search", {"query": "grey herons"}), last="They fish in shallow water.")
        say(page, "What do herons do?")
        expect(replies(page)).to_contain_text("They fish")
        expect(page.get_by_role("link", name=re.compile("Grey heron"))).to_have_attribute("target", "_blank")
        expect(globe).to_be_checked()
        assert serious_findings(page) == []
        with page.expect_response("**/web"):
            globe.uncheck()
        page.reload()
        expect(globe).not_to_be_checked()
