"""A new conversation, the sidebar and the bar: where things stand, on every telephone and in both directions."""

from collections.abc import Iterator

import pytest
from flask import Flask
from playwright.sync_api import Page, Route, expect

from testkit.people import Person, api_client
from tests.journeys.rows import load, write_fixture

from .conftest import PHONE, faults, replies, scrolls_sideways, send, serious_findings, until
from .test_again import other_model  # noqa: F401

LONG = "Aleksandra Konstantinopolska von und zu Hohenlohe-Schillingsfürst the Younger"
EDGE = 12
"""How many pixels Send may stand from the edge."""


def from_the_end(page: Page, selector: str) -> float:
    """How far an element stands from the edge at which lines end."""
    return float(
        page.locator(selector).evaluate(
            "it => { const box = it.getBoundingClientRect();"
            " return document.dir === 'rtl' ? box.left : document.documentElement.clientWidth - box.right; }"
        )
    )


def is_cut(page: Page, selector: str) -> bool:
    """Whether a name that is too long ends in an ellipsis."""
    return bool(
        page.locator(selector).evaluate(
            "it => getComputedStyle(it).textOverflow === 'ellipsis' && it.scrollWidth > it.clientWidth"
        )
    )


def say_in(app: Flask, user: Person, language: str, **name: str) -> None:
    """Choose the language of a person's pages, and perhaps another name."""
    api_client(app, user).put("/api/account", json={"settings": {"language": language}, **name})


def on_every_telephone(page: Page) -> Iterator[None]:
    """The page in each width, where Send stands at the edge and nothing is wider than the window."""
    for width in (360, 390, 430):
        page.set_viewport_size({"width": width, "height": 844})
        assert 0 <= from_the_end(page, "[data-send]") <= EDGE
        assert not scrolls_sideways(page)
        yield


def test_on_every_telephone_send_is_at_the_edge_and_above_the_fold(app, open_tab, user, tmp_path, request):
    """With a model to choose it stood in the middle of a second row."""
    load(app, write_fixture(tmp_path / "fixtures"))
    client = api_client(app, user)
    body = {"journey": "garden", "title": f"The garden of {LONG}"}
    talk = f"/c/{client.post('/api/conversations', json=body).get_json()['conversation_id']}"
    tab = open_tab(user, PHONE)
    for is_chosen in (False, True):
        if is_chosen:
            request.getfixturevalue("other_model")
        for language in ("en", "ar"):
            say_in(app, user, language)
            page = tab.go()
            expect(page.locator("#composer-model")).to_have_count(int(is_chosen))
            for _ in on_every_telephone(page):
                box = page.locator(".composer-box").bounding_box()
                assert box and box["y"] + box["height"] < 600
            if not is_chosen:
                continue
            tab.go(talk)
            for _ in on_every_telephone(page):
                assert is_cut(page, ".title-text")
                title, progress = (page.locator(part).bounding_box() for part in (".title-text", "#title-progress"))
                assert title and progress and progress["y"] >= title["y"] + title["height"] - 1
            assert serious_findings(page) == []
            page.locator(".bar-new").tap()
            expect(page.locator(".welcome")).to_be_visible()
            expect(page.locator(".bar-new")).to_have_count(0)


def test_the_composer_moves_to_the_bottom_with_the_first_message_and_back_if_it_does_not_arrive(open_tab, user, model):
    model.script(reply="Sure.")
    tab = open_tab(user)
    page = tab.page
    composer, starter = page.locator("#composer"), page.locator(".starter").first
    middle = composer.bounding_box()
    assert middle and 200 < middle["y"] < 500
    order = page.evaluate(
        "[...document.querySelectorAll('.start h1, .start #composer, .starter')].map(it => it.id || it.localName)"
    )
    assert order == ["h1", "composer", "a", "a", "a", "a"]
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            waiting.append(route)
        else:
            route.fallback()

    page.route("**/*", hold)
    send(page, "Hello")
    until(page, lambda: bool(waiting), "sent")
    expect(starter).to_be_hidden()
    bottom = composer.bounding_box()
    assert bottom and bottom["y"] + bottom["height"] > 850
    waiting[0].abort()
    # It did not arrive: the words are back, and so is the page they were written on.
    expect(page.get_by_label("Message", exact=True)).to_have_value("Hello")
    expect(starter).to_be_visible()
    again = composer.bounding_box()
    assert again and again["y"] == pytest.approx(middle["y"], abs=1)
    page.unroute("**/*")
    page.get_by_label("Message", exact=True).press("Enter")
    expect(replies(page)).to_have_count(1)
    bottom = composer.bounding_box()
    assert bottom and bottom["y"] + bottom["height"] > 850
    tab.forgive()


def test_the_panel_is_beside_conversations_once_something_is_remembered(app, open_tab, user):
    client = api_client(app, user)
    place = f"/c/{client.post('/api/conversations', json={'title': 'Tea'}).get_json()['conversation_id']}"
    tab = open_tab(user, path="")
    page, panel = tab.page, tab.page.locator("#panel")
    page.context.clear_cookies(name="panel")
    tab.go(place)
    expect(panel).to_be_hidden()
    client.post("/api/memories", json={"memory_type": "fact", "content": "Is allergic to peanuts"})
    tab.go(place)
    expect(panel.locator(".mem-text")).to_be_visible()
    page.locator("#sidebar [data-new]").click()
    expect(page.locator(".welcome")).to_be_visible()
    expect(panel).to_be_hidden()  # nothing of memory is shown to who passes by
    page.locator(".side-link").click()
    expect(panel).to_be_visible()
    page.keyboard.press("Control+Shift+o")
    page.get_by_label("Show the memory panel").click()
    expect(panel.locator(".mem-text")).to_be_visible()


def test_with_everything_on_it_the_page_is_accessible(app, open_tab, user, tmp_path):
    load(app, write_fixture(tmp_path / "fixtures"))
    client = api_client(app, user)
    client.post("/api/spaces", json={"kind": "legacy", "name": "Grandpa Joe"})
    for body in ({"title": LONG}, {"journey": "garden"}):
        client.post("/api/conversations", json=body)
    tab = open_tab(user)
    for language, name in (("en", "Aleksandra Kowalczyk"), ("ar", LONG)):
        say_in(app, user, language, name=name)
        page = tab.go()
        expect(page.locator(".continue-item")).to_have_count(2)
        assert is_cut(page, ".account-name") == (name == LONG), "the account has the foot of the sidebar to itself"
        assert faults(page) == []
        page.locator(".space-switcher > button").dispatch_event("click")
        assert faults(page) == []
