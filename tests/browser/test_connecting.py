"""A model is connected in the browser: a key and two clicks, by mouse and by keyboard."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.providers.ollama import Ollama, ollama
from webapp.providers.catalogue import catalogue

from .conftest import PHONE, scrolls_sideways, serious_findings


@pytest.fixture
def server() -> Iterator[Ollama]:
    """A provider with three models."""
    with ollama(models=["tern-7b", "tern-1b", "tern-embed"]) as found:
        yield found
    catalogue.forget()


def test_a_key_and_two_clicks(open_tab, make_user, server):
    page = open_tab(make_user(is_admin=True), PHONE, path="/admin/models/new").page
    expect(page.get_by_role("link", name="OpenAI", exact=True)).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="Another server").click()
    page.get_by_label("URL").fill(server.base_url)
    page.get_by_label("API key").fill("sk-terns")
    page.get_by_role("button", name="Continue").click()
    host = server.base_url.split("/")[2]
    expect(page.get_by_role("heading", name=host)).to_be_visible()
    expect(page.get_by_role("checkbox", name="tern-7b")).to_be_checked()
    expect(page.get_by_role("radio", name="The default stays")).to_be_checked()
    page.get_by_role("radio", name="tern-7b is the default").check()
    assert serious_findings(page) == [] and not scrolls_sideways(page)
    page.get_by_role("button", name="Start chatting").click()
    expect(page.get_by_text("answers as before.")).to_be_visible()  # the environment names a server, which does
    page.goto(page.url.rstrip("/") + "/admin/models")
    page.get_by_role("link", name=host).click()
    page.get_by_label("Settings of tern-1b").click()
    expect(page.get_by_label("Name here")).to_have_count(2)
    assert serious_findings(page) == [] and not scrolls_sideways(page)
    page.get_by_text("Delete this connection").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".rows .tag-ok")).to_have_text("works")


def test_the_way_can_be_gone_by_keyboard(open_tab, make_user, server):
    page = open_tab(make_user(is_admin=True), path="/admin/models/new?provider=another").page
    page.get_by_label("URL").focus()
    page.keyboard.type(server.base_url)
    page.keyboard.press("Enter")
    host = server.base_url.split("/")[2]
    expect(page.get_by_role("heading", name=host)).to_be_visible()
    page.get_by_role("radio", name="tern-7b is the default").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_text("answers as before.")).to_be_visible()
