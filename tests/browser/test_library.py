"""Saved prompts in the composer: found by words, filled in a small form, by keyboard alone."""

import json

import pytest
from playwright.sync_api import expect

from webapp.db.base import write_transaction
from webapp.saved_prompts.schemas import NewSavedPrompt
from webapp.saved_prompts.service import create_prompt

from .conftest import DESKTOP, PHONE, on_every_screen, replies, scrolls_sideways, serious_findings


@pytest.fixture
def prompts(app, user):
    """Three saved prompts of `user`."""
    with app.app_context(), write_transaction():
        for name, content in (
            ("Explain", "Explain {{topic}} to a {{who: child | scientist}}."),
            ("Proofread", "Correct the spelling of the text that follows."),
            ("Shopping list", "What do I need for {{dish: soup}}?"),
        ):
            create_prompt(user.user_id, NewSavedPrompt(name=name, content=content, description=f"{name} it for me"))


@on_every_screen
def test_a_prompt_is_chosen_filled_and_sent(open_tab, user, prompts, model, device, colour):
    model.script(reply="It dances.")
    page = open_tab(user, device, colour=colour).page
    field = page.get_by_label("Message", exact=True)
    field.focus()
    page.keyboard.type("/")
    expect(page.locator(".slash-option:visible")).to_have_count(3)
    assert serious_findings(page) == []
    assert not scrolls_sideways(page)
    page.keyboard.type("exp")
    expect(page.locator(".slash-option:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_label("topic", exact=True)).to_be_focused()
    assert serious_findings(page) == []
    page.get_by_label("who", exact=True).select_option("scientist")
    page.get_by_label("topic", exact=True).fill("bees")
    page.keyboard.press("Enter")
    expect(field).to_have_value("Explain bees to a scientist.")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Send").click()
    expect(replies(page)).to_have_count(1)


def test_arrows_choose_and_escape_leaves_what_was_typed(prompts, model, page):
    model.script(reply="Done.")
    field = page.get_by_label("Message", exact=True)
    field.focus()
    page.keyboard.type("/")
    expect(page.locator(".slash-option[aria-selected=true]")).to_contain_text("Explain")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(field).to_have_value("Correct the spelling of the text that follows.")
    assert json.loads(page.locator("[data-spans]").input_value()) == [{"start": 0, "end": 46, "origin": "pasted"}]
    field.fill("")
    page.keyboard.type("/shq")
    expect(page.get_by_role("status", name="Saved prompts")).to_contain_text("No saved prompt matches these words.")
    page.keyboard.press("Backspace")
    expect(page.get_by_role("listbox", name="Saved prompts").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#slash")).to_be_hidden()
    expect(field).to_have_value("/sh")
    page.keyboard.press("Enter")
    expect(page.locator(".message-user .message-text")).to_have_text("/sh")
    expect(replies(page)).to_have_count(1)
    page.keyboard.type("/etc/hosts is what?")
    expect(page.locator("#slash")).to_be_hidden()  # a path is no command
    page.keyboard.press("Enter")
    expect(replies(page)).to_have_count(2)


def test_a_prompt_with_many_blanks_begins_where_it_is_seen(app, tab, user):
    with app.app_context(), write_transaction():
        blanks = " ".join(f"{{{{blank{number}}}}}" for number in range(6))
        create_prompt(user.user_id, NewSavedPrompt(name="Form", content=blanks))
    page = tab.page
    for device in (DESKTOP, PHONE):
        page.set_viewport_size(device["viewport"])
        page.get_by_label("Message", exact=True).fill("")
        page.keyboard.type("/form")
        expect(page.locator(".slash-option:visible")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.get_by_label("blank0", exact=True)).to_be_focused()
        expect(page.locator("#slash")).to_be_in_viewport(ratio=1)
        page.locator("[data-slash-close]").click()


def test_on_a_phone_a_menu_stays_in_the_window_a_folder_is_named_at_once_and_apply_asks_what_for(
    open_tab, user, prompts, client
):
    """The button of a menu may stand anywhere in a row of words, whose length is another in each language."""
    tab = open_tab(user, PHONE)
    for language in ("de", "ar"):
        client.put("/api/account", json={"settings": {"language": language}})
        for path, menu in (("/prompts", "prompt-import"), ("/organise", "new-folder")):
            page = tab.go(path)
            expect(page.locator("html")).to_have_attribute("lang", language)
            page.locator(f"[popovertarget={menu}]").click()
            panel = page.locator(f"#{menu}")
            expect(panel).to_be_visible()
            box = panel.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.keyboard.type("Travel")
    page.keyboard.press("Enter")
    expect(page.locator("a", has_text="Travel").first).to_be_visible()
    client.post("/api/conversations", json={"title": "Bees"})
    tab.go("/organise")
    page.locator("[name=id]").check()
    for wish in ("", "tag"):  # it was "Archive", and put away whatever was selected; no tag lost the selection
        expect(page.locator("#wish")).to_have_value("")
        page.locator("#wish").select_option(wish)
        page.locator("#many button").first.click()
        expect(page.locator("#many :invalid")).to_have_count(1)
    expect(page.locator("[name=id]")).to_be_checked()
