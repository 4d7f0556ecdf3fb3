"""Spaces as people use them: made, talked in, shared with somebody, on a screen and on a phone."""

import pytest
from playwright.sync_api import expect

from testkit.people import api_client
from tests.browser.conftest import replies, send
from tests.spaces.helpers import add_fact, converse, join, make_space


@pytest.fixture
def cast(app, make_user):
    """Two people with API clients."""
    people = [make_user(name="Anna"), make_user(name="Ben")]
    return people, [api_client(app, person) for person in people]


def test_a_legacy_is_made_and_talked_in(open_tab, cast, model):
    (anna, _), _ = cast
    model.script(reply="Tell me about his hands.")
    page = open_tab(anna).go("/spaces")
    page.get_by_role("radio", name="Legacy").check()
    page.get_by_label("Name").fill("Grandpa Joe")
    sent = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    page.get_by_role("button", name="Create").dblclick(delay=30)
    expect(page.get_by_role("heading", name="Grandpa Joe", level=1)).to_be_visible()
    assert len(sent) == 1, "a double click creates one"
    page.get_by_role("link", name="New conversation").last.click()
    expect(page.get_by_label("Voice")).to_have_value("biographer")
    page.get_by_label("Voice").select_option("The old friend")
    send(page, "He was a baker.")
    expect(replies(page)).to_contain_text("Tell me about his hands.")
    expect(page.locator(".space-tag")).to_have_text("Grandpa Joe")
    expect(page.locator(".space-chosen-name")).to_have_text("Grandpa Joe")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".space-tag")).to_be_visible()
    assert page.locator(".space-tag").bounding_box()["width"] < 40, "the title needs the room"


def test_what_is_shared_is_withdrawn_by_the_button_that_has_the_focus(open_tab, cast):
    (anna, _), (hers, _) = cast
    space = make_space(hers, "Grandpa Joe")
    fact = add_fact(hers, space, "Joe sang bass in the choir")
    page = open_tab(anna).go(f"/spaces/{space}/facts")
    page.get_by_role("button", name="Share: Joe sang bass").click()
    expect(page.locator(f"#fact-{fact}")).to_contain_text("Yours, shared with the members")
    expect(page.get_by_role("button", name="Withdraw: Joe sang bass")).to_be_focused()
    page.get_by_role("button", name="Withdraw: Joe sang bass").click()
    expect(page.locator(f"#fact-{fact}")).to_contain_text("seen by you alone")


def test_a_project_counts_by_scope_reads_its_document_and_asks_before_it_removes_somebody(open_tab, cast):
    (anna, _), (hers, his) = cast
    space = make_space(hers, "Boat", "project")
    join(hers, space, his)
    for fields in ({"space_id": space}, {}):
        hers.post("/api/memories", json={"memory_type": "fact", "content": f"Ties knots {fields}", **fields})
    tab = open_tab(anna)
    page = tab.go(f"/c/{converse(hers, space)}")
    badge, listed = page.locator("[data-memory-count]"), page.locator("#memory-list .mem")
    expect(badge).to_have_text("1")
    page.get_by_label("Scope").select_option("Everywhere")
    expect(badge).to_have_text("2")
    expect(listed).to_have_count(2)
    tab.go(f"/spaces/{space}/documents")
    page.get_by_label("Title").fill("Log")
    page.get_by_label("Text", exact=True).fill("The wind held.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".document")).to_contain_text("Log")
    expect(page.locator(".document progress")).to_have_count(0)
    tab.go(f"/spaces/{space}/members")
    remove, dialog = page.get_by_role("button", name="Remove Ben"), page.get_by_role("dialog", name="Remove Ben?")
    remove.press("Enter")
    expect(dialog).to_contain_text("no longer shares any here. Documents they added stay.")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(remove).to_be_focused()
    remove.click()
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(remove).to_have_count(0)
    expect(page.locator(".toast-text")).to_contain_text("Removed.")
