"""Settings and Administration: rooms beside one topic a page, a list of them on a phone, anchors, the palette."""

import re

from playwright.sync_api import expect

from webapp.db.base import write_transaction
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space

from .conftest import DESKTOP, PHONE, scrolls_sideways, serious_findings

ARABIC_PHONE = {**PHONE, "locale": "ar"}
TABS = ":is(.mem-nav, .room-pages, .space-tabs) > a"


MARKED = "[aria-current]:not([aria-current=false]), [aria-selected=true], input:checked + span"


def test_with_ones_own_colours_one_sees_where_one_is_and_what_is_on(tab):
    page = tab.go("/memory")
    page.emulate_media(forced_colors="active")
    for path in ("/memory", "/settings/general", "/memories/timeline", "/spaces", "/search?q=x", "/usage"):
        tab.go(path)
        page.keyboard.press("Control+k")
        expect(page.locator("#palette [aria-selected=true]")).to_have_count(1)
        lines = page.locator(MARKED).evaluate_all(
            "nodes => nodes.map((node) => [getComputedStyle(node).textDecorationLine, node.outerHTML])"
        )
        assert [node for line, node in lines if line != "underline"] == []
    tab.go("/")
    page.locator("[data-voice]").evaluate("button => button.setAttribute('aria-pressed', 'true')")
    expect(page.locator("[data-voice]")).to_have_css("outline-style", "solid")
    tab.go("/settings/personalisation")
    colours = "nodes => nodes.map((node) => getComputedStyle(node).backgroundColor)"
    assert len(set(page.locator(".toggle input").evaluate_all(colours))) == 2  # on and off
    page.emulate_media(forced_colors="none")


TAB_ROWS = (
    ("/memory", *(f"/memories/{name}" for name in ("portrait", "timeline", "map", "changes", "health"))),
    ("/files", "/transfer", "/shares", "/settings/delete"),
    ("/spaces/{space}", "/spaces/{space}/documents", "/spaces/{space}/members", "/spaces/{space}/settings"),
)


def test_tabs_stay_where_they_are_and_the_chosen_one_is_in_sight(app, open_tab, user):
    with app.app_context(), write_transaction():
        space = create_space(user.user_id, NewSpace(kind="project", name="Project Lisbon")).space_id
    desk, phone = open_tab(user), open_tab(user, ARABIC_PHONE)
    for row in TAB_ROWS:
        paths = [path.format(space=space) for path in row]
        boxes = [desk.go(path).locator(TABS).first.bounding_box() for path in paths]
        assert len({(box["x"], box["y"]) for box in boxes}) == 1, boxes
        for path in paths[-2:]:  # the first ones fit
            expect(phone.go(path).locator(f"{TABS}[aria-current]")).to_be_in_viewport(ratio=0.9)
        desk.page.keyboard.press("Tab")
        expect(desk.page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_on_a_phone_one_sees_the_rooms_then_one_of_them_and_the_way_back(open_tab, make_user):
    tab = open_tab(make_user(is_admin=True), PHONE)
    for house, title, first in (("settings", "Settings", "General"), ("admin", "Administration", "Overview")):
        page = tab.go(f"/{house}")
        rooms = page.get_by_role("navigation", name=title)
        expect(rooms).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        assert serious_findings(page) == [] and not scrolls_sideways(page)
        rooms.get_by_role("link", name=first).click()
        expect(page.get_by_role("heading", name=first, exact=True)).to_be_visible()
        expect(rooms).to_be_hidden()
        assert serious_findings(page) == [] and not scrolls_sideways(page)
        page.locator(".room-back").click()
        expect(rooms).to_be_visible()


def test_on_a_phone_an_anchor_of_the_first_page_shows_that_page(open_tab, make_user):
    page = open_tab(make_user(), PHONE).go("/settings#language")
    expect(page.get_by_text("Interface language", exact=True).first).to_be_visible()


def test_the_search_field_is_one_line_and_finds_rooms_by_keyboard_and_by_name(page):
    for device in (PHONE, DESKTOP):
        page.set_viewport_size(device["viewport"])
        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox", name="Search everything")
        expect(field).to_be_focused()
        boxes = [item.bounding_box() for item in (field, page.get_by_role("button", name="Close search"))]
        palette = page.locator("#palette").bounding_box()
        assert abs(boxes[0]["y"] + boxes[0]["height"] / 2 - boxes[1]["y"] - boxes[1]["height"] / 2) < 4
        assert boxes[0]["width"] > palette["width"] * 0.6
        assert all(box["x"] + box["width"] <= palette["x"] + palette["width"] for box in boxes)
        field.fill("something")
        page.keyboard.press("Escape")
        expect(page.locator("#palette")).to_be_hidden()
    for typed, place in (("memory switch", "/settings/personalisation"), ("security", "/settings/security")):
        page.keyboard.press("Control+k")
        page.locator("#palette-text").fill(typed)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"{place}$"))
    current = page.get_by_role("navigation", name="Settings").get_by_role("link", name="Security")
    expect(current).to_have_attribute("aria-current", "page")
    current.focus()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("link", name="Connected programs")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Programs", exact=True)).to_have_attribute("aria-current", "page")
