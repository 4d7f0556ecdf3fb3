"""The list of conversations, search, keys: everything beside the thread."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import select, update

from testkit.people import api_client
from tests.memories.conversing import add_memory
from tests.spaces.helpers import make_space
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import db, write_transaction

from .conftest import PHONE, plant, replies, send, until


@pytest.fixture
def titles(app, user):
    """Conversations with these titles, the last one newest."""

    def make(*names: str) -> None:
        with app.app_context(), write_transaction():
            for name in names:
                create_conversation(user.user_id, NewConversation(title=name))

    return make


def items(page: Page):
    """The links of the list that can be seen."""
    return page.locator(".side-item:not([hidden]) .side-link")


def test_the_list_grows_while_it_is_scrolled(titles, open_tab, user):
    titles(*[f"Talk {number}" for number in range(75)])
    page = open_tab(user).page
    expect(items(page)).to_have_count(30)
    expect(page.locator(".side-heading")).to_have_text(["Today"])
    for shown, more in ((30, 60), (60, 75)):
        page.locator(".side-more").focus()  # which scrolls to it
        expect(items(page)).to_have_count(more)
        expect(items(page).nth(shown)).to_be_focused()
    assert len(set(items(page).all_inner_texts())) == 75


def test_the_search_of_the_sidebar_finds_conversations_and_commands(titles, open_tab, user):
    titles("Bread", "Rivers", "Breathing")
    page = open_tab(user).page
    page.locator(".side-find").click()
    field = page.get_by_role("combobox", name="Search everything")
    expect(field).to_be_focused()
    field.press_sequentially("brea", delay=20)
    expect(page.locator("#palette-results .result-name")).to_have_text(["Breathing", "Bread"])
    nothing = page.get_by_text("Nothing found for “zebra”")
    slow: list[Route] = []
    page.route("**/find?*", lambda route: slow.append(route))  # noqa: PLW0108 - Playwright looks at its signature
    field.fill("zebra")
    until(page, lambda: bool(slow), "searched")
    assert page.locator("#palette-form").evaluate("form => getComputedStyle(form, '::after').content") == '""'
    slow.pop().continue_()
    expect(nothing).to_be_visible()
    field.fill("go to")
    until(page, lambda: bool(slow), "searched")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#palette").get_by_role("option", selected=True)
    name = chosen.inner_text()
    assert name != page.locator("#palette").get_by_role("option").first.inner_text()
    slow.pop().continue_()
    page.unroute("**/find?*")
    expect(page.locator("#palette-results")).to_contain_text("Nothing found for “go to”")
    expect(chosen).to_have_text(name)  # although results have arrived
    expect(page.get_by_role("option", name="Go to memory")).to_be_visible()
    expect(page.get_by_text("Nothing found")).to_be_hidden()  # it stood below the commands that match
    page.get_by_role("radio", name="Memories").check()
    expect(page.get_by_role("option", name="Go to memory")).to_be_hidden()
    expect(page.get_by_text("Nothing found for “go to”")).to_be_visible()


def test_rename_in_the_list_by_double_click_and_key_and_at_the_head(titles, open_tab, user):
    titles("Old name")
    page = open_tab(user).page
    items(page).first.dblclick()
    field = page.get_by_label("Title", exact=True)
    expect(field).to_be_focused()
    field.fill("New name")
    page.keyboard.press("Enter")
    expect(items(page)).to_have_text(["New name"])
    expect(page.locator(".title-text")).to_have_text("New name")
    items(page).first.focus()
    page.keyboard.press("F2")
    expect(field).to_be_focused()
    field.fill("Never saved")
    page.keyboard.press("Escape")
    expect(items(page)).to_have_text(["New name"])
    page.get_by_role("heading", level=1).get_by_role("link", name="New name").click()
    field.fill("Fancy <b>&</b>")
    page.keyboard.press("Enter")
    expect(page.locator(".title-show")).to_be_focused()
    expect(page.locator(".title-text")).to_have_text("Fancy <b>&</b>")
    expect(items(page)).to_have_text(["Fancy <b>&</b>"])


def test_a_conversation_is_deleted_or_archived_in_the_list_and_taken_back(titles, open_tab, user):
    titles("Keep me", "Drop me")
    page = open_tab(user).page
    items(page).first.click()
    expect(page.locator(".title-text")).to_have_text("Drop me")
    address = page.url
    page.get_by_label("Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".toast-text")).to_have_text("Deleted “Drop me”.")
    page.keyboard.press("Control+z")
    expect(page.locator(".toast-text")).to_have_text("Restored “Drop me”.")  # under the pointer no list would change
    expect(page.locator(".title-text")).to_have_text("Drop me")  # which was open
    expect(page).to_have_url(address)
    page.goto(f"{address}/delete")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".toast-text")).to_have_text("Deleted “Drop me”.")
    page.wait_for_load_state()  # the page says it before its scripts hear a key
    page.keyboard.press("Control+z")
    items(page).first.hover()
    page.get_by_role("button", name="Delete “Drop me”").click()
    expect(items(page)).to_have_text(["Keep me"])
    expect(page.get_by_role("heading", name=re.compile("Good "))).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.mouse.move(800, 400)
    expect(items(page)).to_have_text(["Drop me", "Keep me"])
    items(page).first.hover()
    page.get_by_role("button", name="Archive “Drop me”").click()
    expect(items(page)).to_have_text(["Keep me"])
    expect(page.get_by_text("Archived “Drop me”.")).to_be_visible()  # the list hides it before the server has heard
    page.locator(".account").click()
    page.get_by_role("link", name="Archived conversations", exact=True).click()
    page.locator(".row").click(position={"x": 400, "y": 8})  # all of it leads there
    expect(page.locator(".title-text")).to_have_text("Drop me")
    page.go_back()
    page.get_by_role("button", name="Unarchive “Drop me”").click()
    expect(items(page)).to_have_text(["Drop me", "Keep me"])
    for name in ("Drop me", "Keep me"):
        items(page).filter(has_text=name).hover()
        page.get_by_role("button", name=f"Archive “{name}”").first.click()
    expect(page.locator(".side-heading:visible")).to_have_count(0)  # while the pointer keeps the list as it was


def test_back_and_forward_and_keys_and_nothing_moves_under_the_pointer(titles, open_tab, user):
    titles("One", "Two")
    page = open_tab(user).page
    start = page.get_by_role("heading", name=re.compile("Good "))
    items(page).nth(0).click()
    expect(page.locator(".title-text")).to_have_text("Two")
    items(page).nth(1).click()
    expect(page.locator(".title-text")).to_have_text("One")
    page.go_back()
    expect(page.locator(".title-text")).to_have_text("Two")
    expect(page.locator('.side-link[aria-current="page"]')).to_have_text("Two")
    page.go_back()
    expect(start).to_be_visible()
    page.go_forward()
    page.go_forward()
    expect(page.locator(".title-text")).to_have_text("One")
    page.reload()
    expect(page.locator(".title-text")).to_have_text("One")
    items(page).first.focus()
    page.keyboard.press("Control+Shift+o")
    expect(start).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    items(page).first.focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_label("Message", exact=True).fill("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(page.get_by_label("Message", exact=True)).to_have_value("one\ntwo")
    items(page).nth(1).click()
    expect(page.locator(".title-text")).to_have_text("One")
    page.get_by_label("Message", exact=True).fill("Up you go")
    items(page).nth(1).hover()
    page.keyboard.press("Enter")
    expect(replies(page)).to_have_count(1)
    expect(items(page)).to_have_text(["Two", "One"])
    page.mouse.move(800, 400)
    expect(items(page)).to_have_text(["One", "Two"])


def test_search_from_anywhere_opens_at_the_message_or_the_memory(app, tab, user):
    plant(app, user, "Tell me the password", "The password of the lighthouse is heron.")
    add_memory(app, user, "I prefer green tea", memory_type="preference")
    make_space(api_client(app, user), "The Tide Mill", "project")
    page = tab.page
    field, found = (
        page.get_by_role("combobox", name="Search everything"),
        page.locator("#palette").get_by_role("option"),
    )
    page.keyboard.press("Control+k")
    field.press_sequentially("lighthouse", delay=15)
    expect(found).to_have_count(1)
    expect(found.locator("mark")).to_have_text("lighthouse")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/c/\d+\?at=\d+"))
    expect(replies(page)).to_be_in_viewport()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    field.press_sequentially("green", delay=15)
    expect(found.filter(has_text="I prefer green tea").first.locator("mark").first).to_have_text("green")
    page.get_by_role("radio", name="Memories").check(force=True)
    expect(found).to_have_count(1)
    field.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".revision")).to_be_visible()
    expect(page.locator(".mem-text")).to_have_text("I prefer green tea")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    field.press_sequentially("tide", delay=15)
    expect(found.locator("mark")).to_have_text("Tide")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="The Tide Mill")).to_be_visible()


def test_the_sidebar_and_the_panel_stay_as_they_were_left(page):
    page.get_by_role("button", name="Hide the sidebar").click()
    page.get_by_label("Hide the memory panel").click()
    expect(page.locator(".side-find")).to_be_hidden()
    expect(page.locator("#panel")).to_be_hidden()
    page.reload()
    expect(page.locator(".side-find")).to_be_hidden()
    expect(page.locator("#panel")).to_be_hidden()
    page.get_by_role("button", name="Show the sidebar").click()
    expect(page.locator(".side-find")).to_be_visible()
    page.get_by_label("Show the memory panel").click()
    expect(page.locator("#panel")).to_be_visible()
    page.get_by_role("tab", name="Memory").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Used")).to_be_focused()
    expect(page.locator("#panel-used")).to_be_visible()
    columns = page.locator("#panel").evaluate("el => (el.remove(), getComputedStyle(workspace).gridTemplateColumns)")
    assert columns.endswith(" 352px"), "it has its room before it arrives"


def test_a_drawer_keeps_the_rest_of_the_page_out_of_reach_and_gives_way(open_tab, user):
    page = open_tab(user, PHONE).page
    page.emulate_media(reduced_motion="no-preference")  # while it slides in it is not all there yet
    show, sidebar = page.get_by_role("button", name="Show the sidebar"), page.locator("#sidebar")
    show.tap()
    expect(sidebar).to_be_in_viewport()
    expect(page.get_by_role("button", name="Hide the sidebar")).to_be_focused()
    page.keyboard.press("Escape")
    expect(sidebar).not_to_be_in_viewport()
    expect(show).to_be_focused()
    show.press("Enter")
    slow: list[Route] = []
    page.route("**/", lambda route: slow.append(route))  # noqa: PLW0108 - Playwright looks at its signature
    page.locator("#sidebar [data-new]").press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.emulate_media(reduced_motion="reduce")
    show.evaluate("button => button.setAttribute('data-old', '')")
    show.tap()
    expect(page.locator("#main")).to_have_js_property("inert", True)
    until(page, lambda: bool(slow), "asked for")
    slow.pop().continue_()
    expect(page.locator("[data-old]")).to_have_count(0)  # the new page has a button of its own
    page.touchscreen.tap(380, 400)
    expect(sidebar).not_to_be_in_viewport()
    expect(show).to_be_focused()
    page.evaluate(
        "void (globalThis.CloseWatcher = class {"
        " constructor() { globalThis.watching = this; } destroy() { globalThis.watching = null; } })"
    )
    show.tap()
    expect(sidebar).to_be_in_viewport()
    page.evaluate("watching.onclose()")  # what Chromium does at the Back of Android
    expect(sidebar).not_to_be_in_viewport()
    assert page.evaluate("watching") is None
    show.tap()
    page.set_viewport_size({"width": 1000, "height": 844})  # the phone was turned
    expect(sidebar).to_be_in_viewport()
    expect(page.locator("#main")).to_have_js_property("inert", False)


def test_a_menu_is_used_by_keys_alone(model, page):
    account, menu = page.locator(".account"), page.locator("#account-menu")
    account.press("Enter")
    expect(menu).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="Settings")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("button", name="Sign out")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.get_by_role("link", name="Settings")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(account).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Keyboard shortcuts").press("Enter")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(account).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    expect(menu).to_be_hidden()
    expect(account).not_to_be_focused()
    hold = model.hold_reply()
    send(page, "Hello")
    expect(page.locator(".stream-tail")).to_contain_text("word")
    page.get_by_label("Conversation menu").click()
    for item in ("Rename", "Find in this conversation"):  # what is for narrow windows is passed over
        page.keyboard.press("ArrowDown")
        expect(page.locator(".menu-item:focus")).to_have_text(item)
    page.keyboard.press("Escape")
    expect(page.locator("#conversation-menu")).to_be_hidden()
    hold.release()  # Escape closed the menu, and stopped nothing
    expect(replies(page)).to_have_attribute("data-status", "complete")


@pytest.fixture
def waiting_requests(tab):
    """Requests for the list that wait until the test lets them go on; filled while the page is used."""
    lists: list[Route] = []

    def keep(route: Route) -> None:
        lists.append(route)

    tab.page.route(re.compile(r"/sidebar\?"), keep)
    yield lists
    tab.page.unroute_all(behavior="ignoreErrors")


def test_a_reply_is_told_as_read_however_many_lists_are_on_their_way(model, waiting_requests, page):
    model.script(reply="Yes.")
    send(page, "Hello")
    expect(replies(page)).to_have_count(1)
    until(page, lambda: bool(waiting_requests), "a list asked for")
    for _ in range(3):
        page.evaluate("document.dispatchEvent(new Event('conversations:changed'))")
    with page.expect_request(re.compile("/seen$")):
        send(page, "Hello again")
        expect(replies(page)).to_have_count(2)


def test_a_conversation_whose_page_is_loaded_is_read_and_a_room_stays_marked(app, tab, model, titles, page):
    """It stayed unread when it was reloaded, or opened by its address: the list that came with it did not say so."""
    titles("Opened by its address")
    with app.app_context(), write_transaction():
        db.session.execute(update(Conversation).values(seen_at=datetime(2020, 1, 1, tzinfo=UTC)))
        conversation_id = db.session.scalar(select(Conversation.conversation_id))
    tab.go("/settings")
    expect(page.locator("[data-unread]")).to_have_count(1)
    with page.expect_response(re.compile("/seen$")):
        tab.go(f"/c/{conversation_id}")
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    send(page, "Are you there?")
    expect(replies(page)).to_have_count(1)
    with page.expect_response(re.compile("/seen$")):  # once it is in sight again
        page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    tab.go("/memories/changes")
    expect(page.locator(".side-item")).to_have_count(1)
    expect(page.locator("[data-unread]")).to_have_count(0)
    with page.expect_response("**/sidebar?*"):
        page.evaluate("document.dispatchEvent(new Event('conversations:changed'))")
    page.wait_for_timeout(300)
    expect(page.locator(".side-room[aria-current]")).to_have_text("Memory")


def test_what_got_its_reply_last_stands_first(model, titles, page):
    hold = model.hold_reply()
    send(page, "Hello")
    expect(page.locator(".stream-tail")).to_contain_text("word")
    titles("Begun in another tab")
    page.evaluate("document.dispatchEvent(new Event('conversations:changed'))")
    expect(items(page).first).to_have_text("Begun in another tab")
    hold.release()
    expect(items(page).nth(1)).to_have_text("Begun in another tab")


def test_the_open_conversation_never_looks_unread(model, waiting_requests, page):
    """A list that was asked for before the page had its address, and comes while the reply is being written."""
    hold = model.hold_reply()
    send(page, "Hello")
    expect(page.locator(".stream-tail")).to_contain_text("word")
    page.locator("#side-list").hover()
    until(page, lambda: bool(waiting_requests), "a list asked for")
    answer = waiting_requests[0].fetch()
    old = re.sub(r"(<li class=\"side-item\" id=\"side-\d+\"[^>]*?)( data-writing)?>", r"\1 data-unread>", answer.text())
    assert "data-unread" in old
    page.evaluate("""() => {
      window.marked = 0;
      const look = () => {
        window.marked += document.querySelector("[data-unread]") !== null;
        requestAnimationFrame(look);
      };
      look();
    }""")
    waiting_requests[0].fulfill(response=answer, body=old)
    expect(page.locator(".side-item")).to_have_count(1)
    hold.release()
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".side-item")).to_have_count(1)
    expect(page.locator("[data-unread]")).to_have_count(0)
    assert page.evaluate("window.marked") == 0
