"""What a new conversation could begin with: one row, without a word of what is remembered."""

import re
from collections.abc import Callable

import pytest
from flask import Flask

from testkit.people import ApiClient, Person
from tests.spaces.helpers import make_space
from webapp.chat.starters import FOR_A_LEGACY, INTRODUCTION, MEMORY, starters

HTMX = {"HX-Request": "true"}


def test_what_is_remembered_is_asked_for_once_there_is_something() -> None:
    assert starters(is_legacy=False, has_memory=False)[0] == INTRODUCTION
    assert starters(is_legacy=False, has_memory=True)[0] == MEMORY
    assert starters(is_legacy=True, has_memory=True) == FOR_A_LEGACY


def titles(page: str) -> list[str]:
    """What the starters of a page are called."""
    return re.findall(r'class="starter-title">([^<]+)<', page)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "htmx"])
def test_the_start_page_shows_one_row_and_nothing_of_memory(
    headers: dict[str, str], user: Person, login: Callable, client: ApiClient
) -> None:
    browser = login(user)
    before = browser.get("/", headers=headers).text
    assert titles(before) == ["Tell me about yourself", "Think something through", "Work on a text", "Take a journey"]
    assert 'href="/journeys"' in before
    content = "Is allergic to peanuts"
    assert client.post("/api/memories", json={"memory_type": "fact", "content": content}).status_code == 201
    shown = browser.get("/", headers=headers).text
    assert titles(shown)[0] == "What do you know about me?" and len(titles(shown)) == 4
    assert "peanuts" not in shown
    assert shown.index('id="composer"') < shown.index('class="starters"')


def test_a_legacy_has_starters_of_its_own_and_no_journeys(user: Person, login: Callable, client: ApiClient) -> None:
    space_id = make_space(client)
    shown = login(user).get(f"/?into={space_id}", headers=HTMX).text
    assert titles(shown) == [card.title for card in FOR_A_LEGACY]
    assert "/journeys" not in shown


def test_without_scripts_a_starter_is_a_link_that_fills_the_composer(user: Person, login: Callable) -> None:
    browser = login(user)
    place = re.findall(r'class="starter" href="([^"]+)"', browser.get("/").text)[1]
    assert ">Help me think something through: </textarea>" in browser.get(place).text


def test_help_and_the_start_page_are_for_those_signed_in(app: Flask, user: Person, login: Callable) -> None:
    for path, title in (("/help/memory", "About memory"), ("/help/new", "What’s new"), ("/", "New conversation")):
        assert title in login(user).get(path).text
        assert app.test_client().get(path).status_code == 303
