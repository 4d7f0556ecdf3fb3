"""Whether everybody can use it: axe-core, contrast in both themes, narrow screens, settings."""

import re

from playwright.sync_api import Route, expect

from .conftest import PHONE, replies, rest_position, send, serious_findings, until


def test_pages_before_signing_in_are_accessible(open_tab, user):
    tab = open_tab()

    def findings() -> list[str]:
        wrong = []
        for colour in ("dark", "light"):
            tab.page.emulate_media(color_scheme=colour)
            wrong += serious_findings(tab.page)
        return wrong

    tab.go("/register")
    assert findings() == []
    page = tab.go("/login")
    assert findings() == []
    page.get_by_label("E-mail address").fill("nobody@example.org")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("is wrong")
    expect(page.get_by_label("E-mail address")).to_have_value("nobody@example.org")
    assert findings() == []
    tab.forgive()


def test_the_streaming_page_is_accessible_and_announces_sentences(model, page):
    hold = model.hold_reply(after=10, reply=["One sentence. ", "Another ", "one. ", *["more "] * 20])
    send(page, "Read it to me")
    expect(page.locator("#announcer")).to_contain_text("One sentence.")
    assert serious_findings(page) == []
    expect(page.locator("#announcer p").first).to_have_text(re.compile(r"^One sentence\.( Another one\.)?$"))
    expect(page.locator("[data-streaming]")).to_have_attribute("aria-busy", "true")
    page.get_by_role("button", name="Stop the reply").press("Enter")
    expect(page.get_by_text("You stopped this reply.")).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    hold.release()


MEASURED_WHILE_WORDS_ARRIVE = """async e => { let times = 0;
    Object.defineProperty(e, "scrollHeight", { get: () => ++times });
    for (let word = 0; word < 9; word++) await e.firstElementChild.append("word "); return times; }"""


def test_scrolling_up_stops_following(model, page):
    hold = model.hold_reply(after=60, reply=[f"Line {number}.\n\n" for number in range(90)])
    send(page, "Go on and on")
    expect(page.locator(".stream-end")).to_contain_text("Line 40.")
    thread = page.locator("#thread-scroll")
    at_end = "e => e.scrollHeight - e.scrollTop - e.clientHeight < 90"
    until(page, lambda: thread.evaluate(at_end), "at the end")
    thread.hover()
    page.mouse.wheel(0, -600)
    expect(page.get_by_role("button", name="Newest")).to_be_visible()
    place = rest_position(thread)
    hold.release()
    expect(replies(page)).to_contain_text("Line 89.")
    assert thread.evaluate("e => e.scrollTop") == place
    page.get_by_role("button", name="Newest").click()
    expect(page.get_by_role("button", name="Newest")).to_be_hidden()
    for room in (0, 800, 0, 800):  # a formula or a picture comes late, or takes less room than what stood in for it
        thread.evaluate("(e, room) => e.firstElementChild.style.paddingBottom = `${room}px`", room)
        page.wait_for_timeout(60)
        until(page, lambda: thread.evaluate(at_end), "at the end again")
    page.get_by_label("Message", exact=True).fill("The composer takes room from the thread.\n" * 9)
    until(page, lambda: thread.evaluate(at_end), "at the end above what is typed")
    assert thread.evaluate(MEASURED_WHILE_WORDS_ARRIVE) == 0


def test_settings(tab, open_tab, user):
    other = open_tab(user, beside=tab).go("/settings/delete")
    page = tab.go("/settings")
    page.bring_to_front()
    page.get_by_label("Dark").check()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    other.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    expect(other.locator("meta[data-scheme=dark]")).to_have_attribute("media", "all")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("body")).to_have_css("color", "rgb(236, 230, 219)")
    page.get_by_label("Name", exact=True).fill("Grace Hopper")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.locator(".account-name")).to_have_text("Grace Hopper")


PAINTED = "new Promise(painted => requestAnimationFrame(() => setTimeout(painted)))"
MOVES = """new Promise(tell => new PerformanceObserver(moves => {
    tell(moves.getEntries().reduce((sum, move) => sum + move.value, 0))
}).observe({type: "layout-shift", buffered: true}))"""


def test_next_to_nothing_moves_when_the_text_font_comes_late(open_tab, user):
    tab = open_tab(user, PHONE)
    page = tab.page
    fonts: list[Route] = []

    def hold(route: Route) -> None:  # Playwright marks the function, which a list's own method does not let it
        fonts.append(route)

    page.route("**/*.woff2", hold)
    page.goto(f"{tab.server.url}/usage", wait_until="domcontentloaded")
    page.evaluate(PAINTED)
    assert page.evaluate("document.fonts.status") == "loading"
    while page.evaluate("document.fonts.status") == "loading":
        while fonts:
            fonts.pop().continue_()
        page.evaluate(PAINTED)
    moved = page.evaluate(f"Promise.race([{MOVES}, new Promise(tell => setTimeout(tell, 1000, 0))])")
    assert moved < 0.05
