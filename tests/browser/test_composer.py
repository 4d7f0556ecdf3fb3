"""The composer and what is beside it: a message that waits, commands, ways to begin, what the list says."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.queries import scalars
from webapp.conversations.models import Message
from webapp.db.base import db

from .conftest import DESKTOP, PHONE, expect_settled, replies, scrolls_sideways, send, serious_findings, until


@pytest.mark.parametrize("device", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_new_conversation_offers_ways_to_begin_and_room_to_write(open_tab, user, device):
    page = open_tab(user, device).page
    expect(page.locator(".starter")).to_have_count(4)
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport(ratio=1)
    assert not scrolls_sideways(page)
    assert serious_findings(page) == []
    box, field = page.locator(".composer-box"), page.get_by_label("Message", exact=True)
    expect(field).to_have_accessible_description("" if device is PHONE else re.compile("^Press Enter to send"))
    assert box.bounding_box()["height"] < 60  # one row
    field.fill("one\ntwo\nthree")
    until(page, lambda: box.bounding_box()["height"] > 80, "three rows")
    field.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})  # of an input method
    page.locator("#composer").evaluate("form => { form.dataset.limit = '100' }")
    field.fill("x" * 105)
    expect(page.get_by_text("5 characters too many")).to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    field.fill("")
    page.locator(".parameters > button").click()
    panel = page.locator(".parameters > .menu-items")
    expect(panel).to_be_visible()
    at = panel.bounding_box()
    assert at["x"] >= 0 and at["x"] + at["width"] <= page.viewport_size["width"]
    assert at["y"] >= 0 and at["y"] + at["height"] <= page.viewport_size["height"]
    assert not scrolls_sideways(page)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Think something through").click()
    expect(field).to_have_value("Help me think something through: ")
    expect(field).to_be_focused()


def test_a_message_waits_with_its_marks_which_what_was_pasted_keeps_in_a_draft(app, model, page):
    hold = model.hold_reply(match="first")
    model.script(reply="The second reply.", match="second")
    send(page, "The first")
    page.get_by_label("Message", exact=True).click()  # before the server has answered at all
    page.keyboard.type("  The second: ")
    _paste(page, "I am Ann.")
    page.keyboard.press("Enter")
    expect(page.locator("[data-queued-text]")).to_have_text("The second: I am Ann.")
    page.get_by_label("Message", exact=True).fill("half a thought")
    hold.release()
    expect(replies(page)).to_have_count(2)
    expect(page.locator(".message-user .message-text")).to_have_text(["The first", "The second: I am Ann."])
    expect(page.locator("[data-queued]")).to_be_hidden()
    expect(page.get_by_label("Message", exact=True)).to_have_value("half a thought")
    expect(page.locator(".side-link")).to_have_count(1)
    assert _pasted_texts(app) == ["I am Ann."]
    model.script(reply="Read.")
    field = page.get_by_label("Message", exact=True)
    field.fill("")
    page.keyboard.type("My 🐝 letter: ")
    _paste(page, "I live in Leeds.")
    page.keyboard.type(" Is that right?")
    page.keyboard.press("Home")
    page.keyboard.type("Look. ")
    page.reload()  # the draft keeps the mark
    expect(field).to_have_value("Look. My 🐝 letter: I live in Leeds. Is that right?")
    field.click()
    page.keyboard.press("End")
    page.keyboard.type("?")
    (button := page.get_by_role("button", name="Send")).hover()
    expect(button).to_have_css("color", "rgb(255, 253, 249)")  # as if it could not be pressed, it would be grey
    button.click()
    expect(replies(page)).to_have_count(3)
    assert _pasted_texts(app) == ["I am Ann.", "I live in Leeds."]
    send(page, "And this I typed myself.")
    expect(replies(page)).to_have_count(4)
    assert _pasted_texts(app) == ["I am Ann.", "I live in Leeds."], "the next message begins without marks"


def test_commands_are_found_by_their_words(page):
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name="New conversation", exact=True)).to_be_visible()
    expect(page.get_by_role("option", name="Delete this conversation")).to_have_count(0)
    assert serious_findings(page) == []
    page.keyboard.type("dark")
    for key in ("Enter", "Escape"):
        page.locator("#palette-text").dispatch_event("keydown", {"key": key, "keyCode": 229})
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search everything").fill("xylograph")
    expect(page.get_by_role("status").filter(has_text="Nothing found")).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("combobox", name="Search everything").fill("about mem")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="About memory")).to_be_visible()
    assert serious_findings(page) == []


def test_the_list_says_what_is_written_and_unread_in_all_tabs(tab, open_tab, user, model, page):
    hold = model.hold_reply()
    other = open_tab(user, beside=tab).go("/")
    send(page, "A question of mine")
    expect(other.locator(".side-link")).to_have_text(re.compile("A question of mine"))
    expect(other.locator(".side-item[data-writing]")).to_have_count(1)
    send(page, "What waits for the reply")
    page.get_by_role("link", name="New conversation").first.click()
    expect(page.get_by_role("heading", name=re.compile("Good "))).to_be_visible()
    page.mouse.move(800, 400)
    hold.release()
    expect(page.locator(".side-item[data-unread]")).to_have_count(1)
    page.locator(".side-link").click()
    expect(replies(page)).to_have_count(2)
    expect(page.locator(".side-item[data-unread]")).to_have_count(0)
    expect(other.locator(".side-item[data-unread]")).to_have_count(0)


def test_a_temporary_conversation_leaves_nothing_and_is_gone_when_left(tab, model, page):
    model.script(reply="Between us.")
    expect(page.locator(".starter")).to_have_count(4)
    page.get_by_text("Temporary conversation", exact=True).click()
    expect(page.get_by_role("switch", name="Temporary conversation")).to_be_checked()
    expect(page.locator(".starter >> visible=true")).to_have_count(3)  # all but the one about memory
    send(page, "My name is Nobody and I prefer silence")
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".temporary-tag")).to_be_visible()
    expect(page.locator("#memory-here")).to_contain_text("It uses no memory, leaves none")
    expect_settled(page)
    assert not [call for call in model.calls() if "memory_operations" in str(call)]
    address = page.url
    expect(page.locator(".side-link")).to_have_count(0)
    for _ in range(2):
        assert page.reload().status == 200, "not gone for a moment"
        expect(replies(page)).to_have_count(1)
    expect(page.locator("#memory-list > article.mem, .trace")).to_have_count(0)
    page.get_by_role("link", name="New conversation").first.click()
    expect(page.get_by_role("heading", name=re.compile("Good "))).to_be_visible()
    # The word that it was left is on its way.
    until(page, lambda: page.request.get(address).status == 404, "gone")
    page.goto(address)
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    assert serious_findings(page) == []
    tab.go("/?temporary=1")
    send(page, "A quiet matter")
    expect(replies(page)).to_have_count(1)
    address = page.url
    tab.go("/settings")  # another page, not another part of this one
    until(page, lambda: page.request.get(address).status == 404, "gone")
    tab.forgive()


def _paste(page, words: str) -> None:
    """Put text where the caret is, as the browser does when somebody pastes it."""
    page.evaluate(
        """words => {
          const field = document.querySelector("#composer-text");
          const at = field.selectionStart;
          field.setRangeText(words, at, field.selectionEnd, "end");
          field.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
        }""",
        words,
    )


def _pasted_texts(app) -> list[str]:
    rows = scalars(app, db.select(Message).filter_by(role="user").order_by(Message.message_id))
    return [row.content[start:end] for row in rows for start, end, _ in row.provenance]
