"""German, whose words are long, and Arabic, which is read from the right, at the width of a telephone."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from testkit.people import api_client
from tests.browser.conftest import DESKTOP, PHONE, SLOW, read_source, replies, scrolls_sideways

# Of these, German has every other one and Arabic the rest; with `--slow` each has all.
PAGES: list[str] = json.loads(Path(__file__).with_name("languages.json").read_text())

CUT = read_source("cut_texts.js")
"""Texts that do not fit into their element, which cuts them."""

CUT_HINTS = read_source("cut_hints.js")
"""What empty fields say of themselves, where they are too narrow for it."""


@pytest.mark.parametrize("code", ["de", "ar"])
def test_nothing_is_cut_and_no_page_scrolls_sideways(app, open_tab, make_user, model, code):
    person = make_user(name="Ada", is_admin=True)
    model.script(reply="Tea is **good**.\n\n```\nmake tea\n```")
    tab = open_tab(person, PHONE)
    page = tab.page
    api_client(app, person).put("/api/account", json={"settings": {"language": code}})
    tab.go("/")
    expect(page.locator("html")).to_have_attribute("lang", code)
    page.locator("#composer-text").fill("Is tea good?")
    page.locator("[data-send]").click()
    expect(replies(page)).to_be_visible()
    wrong = [("chat", scrolls_sideways(page), page.evaluate(CUT))]
    for path in PAGES if SLOW else PAGES[code == "ar" :: 2]:
        answer = page.goto(tab.server.url + path)
        if answer is not None and answer.status == 404:
            wrong.append((path, "is not there", []))
            continue
        wrong.append((path, scrolls_sideways(page), page.evaluate(CUT) + page.evaluate(CUT_HINTS)))
    assert [found for found in wrong if found[1] or found[2]] == []


CUT_AT_ITS_END = read_source("cut_at_its_end.js")


def test_arabic_is_mirrored_and_an_english_name_in_it_is_cut_at_its_end(app, open_tab, user):
    client = api_client(app, user)
    client.put("/api/account", json={"settings": {"language": "ar"}})
    client.post("/api/spaces", json={"kind": "project", "name": "The house by the lake and " + "everything in it " * 6})
    bees = client.post("/api/conversations", json={"title": "Bees and how they find their way home in the rain of May"})
    tab = open_tab(None, PHONE)
    page = tab.go("/login")
    page.get_by_role("button", name="العربية").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.get_by_role("heading", level=1)).to_have_text("تسجيل الدخول")
    assert not scrolls_sideways(page)
    page.set_viewport_size(DESKTOP["viewport"])
    page.locator("#email").fill(user.email)
    page.locator("#password").fill(user.password)
    page.locator(".button-primary").click()
    expect(page.locator("#composer-text")).to_be_visible()
    sidebar, main = page.locator("#sidebar").bounding_box(), page.locator("#main").bounding_box()
    assert sidebar["x"] > main["x"] and round(sidebar["x"] + sidebar["width"]) == 1440
    # A name is read, and cut where it is too long, as its own letters run.
    expect(page.locator(".account-name")).to_have_css("direction", "ltr")
    assert not scrolls_sideways(page)
    page.locator(".space-switcher > button").click()
    for name in (page.locator(".side-link > span").first, page.locator(".space-item-name")):
        expect(name).to_be_visible()
        assert name.evaluate(CUT_AT_ITS_END)
    for path, name in (("/search?q=bees", ".result-name"), (f"/c/{bees.json['conversation_id']}/organise", "h1")):
        expect(tab.go(path).locator(name).first).to_have_css("direction", "ltr")
        expect(page.locator(name).first).to_have_css("text-align", "right")


def test_a_file_field_speaks_the_language_of_the_page(client, tab):
    client.put("/api/account", json={"settings": {"language": "de"}})
    page = tab.go("/transfer")
    field = page.locator(".file-field", has=page.locator("#import-file:not([accept])"))
    expect(field).to_contain_text("Datei auswählen")
    expect(field).to_contain_text("Keine Datei ausgewählt")
    page.locator("#import-file").set_input_files({"name": "bees.json", "mimeType": "application/json", "buffer": b"[]"})
    expect(field).to_contain_text("bees.json")
