"""What a new conversation could begin with."""

from __future__ import annotations

from webapp.chat.starters import FOR_NEWCOMERS, MOST, short, starters


def test_a_newcomer_gets_ways_to_begin() -> None:
    assert starters([], [], []) == list(FOR_NEWCOMERS)


def test_what_is_open_and_known_comes_first() -> None:
    cards = starters(["Runs a marathon in May"], ["Lives in Lisbon"], [(7, "Knee exercises"), (6, "Older")])
    assert [card.title for card in cards][:3] == [
        "Pick up where you left off",
        "Plan the next step",
        "What do you know about me?",
    ]
    assert cards[0].conversation_id == 7 and cards[0].about == "Knee exercises"
    assert "Runs a marathon in May" in cards[1].draft
    assert len(cards) == MOST


def test_a_card_has_room_for_a_line() -> None:
    assert short("a\n  b") == "a b"
    assert len(short("x" * 500)) == 91


def test_cards_are_for_the_page_alone(app, user, login) -> None:
    browser = login(user)
    assert browser.get("/starters").status_code == 303
    assert browser.get("/starters", headers={"HX-Request": "true"}).text.count('class="starter"') == 4
    assert "/login" in app.test_client().get("/starters").headers["Location"]


def test_help_is_for_those_signed_in(app, user, login) -> None:
    for path, title in (("/help/memory", "About memory"), ("/help/new", "What’s new")):
        assert title in login(user).get(path).text
        assert app.test_client().get(path).status_code == 303
