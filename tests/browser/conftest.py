"""A real Chromium on the live server; whatever a page reports as an error fails its test.

How long something takes decides nothing here: what is waited for is waited for a minute, and a reply that
something is done to while it is written is held (`hold_reply`). `--throttle 6` plays a slower processor.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, expect, sync_playwright

from testkit.people import Person, browser_client
from tests.support.live import LiveServer
from webapp.cli.prepare.machine import find_chromium
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, write_transaction

ROOT = Path(__file__).resolve().parents[2]
AXE = "/static/vendor/axe.js"
DESKTOP = {"viewport": {"width": 1440, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}

PATIENCE = 60_000
"""Milliseconds until what is waited for counts as never: longer than any machine takes, and passing costs nothing."""

expect.set_options(timeout=PATIENCE)


def read_source(name: str) -> str:
    """Return a file beside the tests: a script to run in a page, or a text."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is about the browser, and has time."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(400))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; each gets contexts of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(),
            args=[
                "--no-sandbox",
                "--disable-background-networking",
                "--disable-component-update",
                "--in-process-gpu",  # two processes fewer to talk to
                "--enable-features=NetworkServiceInProcess2",
                "--renderer-process-limit=1",  # a process that has compiled the scripts is there for the next page
            ],
        )
        yield browser
        browser.close()


class Contexts:
    """Browser contexts, each with a page, used again once they are emptied: a new page costs three times what a page
    costs that has shown the site before.

    Those without scripts or with a service worker are made for one test.
    """

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._idle: dict[int, list[Page]] = {}
        self._spoilt: list[BrowserContext] = []

    def make(self, device: dict[str, Any], *, scripts: bool = True, worker: bool = False) -> BrowserContext:
        """A new one."""
        context = self._chromium.new_context(
            **device,
            timezone_id="Europe/Lisbon",
            java_script_enabled=scripts,
            reduced_motion="reduce",
            service_workers="allow" if worker else "block",
        )
        context.set_default_timeout(PATIENCE)
        return context

    def take(self, device: dict[str, Any]) -> Page:
        """The empty page of one that nobody uses."""
        if idle := self._idle.get(id(device)):
            page = idle.pop()
            page.bring_to_front()
            return page
        return self.make(device).new_page()

    def spoil(self, context: BrowserContext) -> None:
        """Let nobody else have it: what was put into it or its page cannot be taken out."""
        self._spoilt.append(context)

    def give_back(self, device: dict[str, Any], page: Page, origin: str) -> None:
        """Empty it of everything but what came from the server as files."""
        context = page.context
        if context in self._spoilt or page.is_closed():
            context.close()
            return
        for other in context.pages:
            if other != page:
                other.close()
        context.unroute_all()
        page.unroute_all()
        context.set_offline(False)
        if page.url.startswith(origin):
            page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")
        context.clear_permissions()
        context.clear_cookies()
        debugger = context.new_cdp_session(page)
        debugger.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        debugger.detach()
        if page.viewport_size != device["viewport"]:
            page.set_viewport_size(device["viewport"])
        self._idle.setdefault(id(device), []).append(page)


@pytest.fixture(scope="session")
def contexts(chromium: Browser) -> Contexts:
    """The contexts of all tests."""
    return Contexts(chromium)


class Tab:
    """A page with what went wrong on it."""

    def __init__(self, page: Page, server: LiveServer, path: str):
        self._page = page
        self._path = path
        self.server = server
        self.problems: list[str] = []
        page.on("console", self._note)
        page.on("pageerror", self._note_error)

    @property
    def page(self) -> Page:
        """The page; it opens its first path when it is first asked for, and not if another comes before."""
        if self._path:
            self.go(self._path)
        return self._page

    def leave(self) -> None:
        """Note nothing more: the page is somebody else's next."""
        self._page.remove_listener("console", self._note)
        self._page.remove_listener("pageerror", self._note_error)

    def _note_error(self, error: Error) -> None:
        self.problems.append(str(error))

    def _note(self, message: ConsoleMessage) -> None:
        # Said by Playwright itself, where a test asks for no service worker.
        if message.type in ("error", "warning") and "blocked by Playwright" not in message.text:
            self.problems.append(message.text)

    def go(self, path: str = "/") -> Page:
        """Open a path of the site."""
        self._path = ""
        self._page.goto(self.server.url + path)
        return self._page

    def forgive(self) -> None:
        """Forget what went wrong so far, because the test made it go wrong."""
        self.problems.clear()


@pytest.fixture
def open_tab(
    contexts: Contexts, live_server: LiveServer, app: Flask, pytestconfig: pytest.Config
) -> Iterator[Callable[..., Tab]]:
    """`open_tab(person, PHONE, colour="dark")`: a tab in a context of its own; a person's is signed in, on `path`."""
    taken: list[tuple[dict[str, Any], Page]] = []
    made: list[BrowserContext] = []
    tabs: list[Tab] = []
    rate = pytestconfig.getoption("--throttle")

    def open_one(
        person: Person | None = None,
        device: dict[str, Any] = DESKTOP,
        *,
        beside: Tab | None = None,
        colour: str = "light",
        scripts: bool = True,
        worker: bool = False,
        path: str = "/",
    ) -> Tab:
        if beside is not None:
            page = beside.page.context.new_page()
        elif worker or not scripts:
            context = contexts.make(device, scripts=scripts, worker=worker)
            made.append(context)
            page = context.new_page()
        else:
            page = contexts.take(device)
            taken.append((device, page))
        tab = Tab(page, live_server, path if person is not None and beside is None else "")
        tabs.append(tab)
        page.emulate_media(media="null", color_scheme=colour)  # type: ignore[arg-type]
        if rate != 1:
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": rate})
        if person is not None and beside is None:
            page.context.add_cookies(session_cookies(app, person, live_server.url))
        return tab

    yield open_one
    problems = [problem for tab in tabs for problem in tab.problems]
    for tab in tabs:
        tab.leave()
    for context in made:
        context.close()
    for device, page in taken:
        contexts.give_back(device, page, live_server.url)
    assert problems == []


@pytest.fixture
def tab(open_tab: Callable[..., Tab], user: Person) -> Tab:
    """A desktop tab of `user`."""
    return open_tab(user)


@pytest.fixture
def page(tab: Tab) -> Page:
    """The page of `tab`, on the start page."""
    return tab.page


def session_cookies(app: Flask, person: Person, url: str) -> list[Any]:
    """What a browser holds after signing in by the form, but without its two pages, and opening the memory panel."""
    jar = browser_client(app, person)._cookies or {}
    held = {"panel": "open", **{cookie.key: cookie.value for cookie in jar.values()}}
    return [{"name": name, "value": value, "url": url} for name, value in held.items()]


def sign_in(page: Page, person: Person) -> None:
    """Fill in the sign-in form that is shown, and send it."""
    page.get_by_label("E-mail address").fill(person.email)
    page.get_by_label("Password").fill(person.password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def until(page: Page, holds: Callable[[], bool], what: str) -> None:
    """Look again and again, with the page going on meanwhile, until something holds that no locator can wait for."""
    for _ in range(300):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never {what}")


def send(page: Page, words: str) -> None:
    """Type a message and press Enter."""
    page.get_by_label("Message", exact=True).fill(words)
    page.keyboard.press("Enter")


def plant(app: Flask, person: Person, *said: str, title: str = "A talk") -> str:
    """A conversation in which questions and replies were said by turns, without a turn; its path."""
    with app.app_context(), write_transaction():
        talk = add_row(Conversation(user_id=person.user_id, title=title, title_source="user", message_count=len(said)))
        last = None
        for number, words in enumerate(said):
            role = "assistant" if number % 2 else "user"
            row = Message(conversation_id=talk.conversation_id, role=role, content=words, parent_id=last)
            row.reply_to_id = last if number % 2 else None
            add_row(row)
            last = row.message_id
        return f"/c/{talk.conversation_id}"


def script_title(model: Any, title: str) -> None:
    """The model's answer to whichever background call is to title the conversation."""
    for schema in ("conversation_title", "memory_operations"):
        model.script(match=schema, structured={"statements": [], "title": title})


def expect_titled(page: Page, title: str) -> None:
    """The window, the one heading of the page and the sidebar agree."""
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(page.locator(".side-link[aria-current=page]")).to_have_text(title)
    expect(page).to_have_title(f"{title} · Commonplace")


def expect_settled(page: Page) -> None:
    """All the work after the last reply is done, and the page has been told."""
    expect(page.locator("[data-turn]:not([hx-sse\\:connect])")).not_to_have_count(0)
    expect(page.locator("[hx-sse\\:connect]")).to_have_count(0)


def replies(page: Page) -> Any:
    """The finished replies of a conversation."""
    return page.locator(".message-assistant[data-status]")


# Each rule says how bad what it finds is: a third of them find nothing that counts here, and are not tried. Nor are
# style sheets fetched again, for rules that are not on.
RUN_AXE = read_source("run_axe.js")


def serious_findings(page: Page) -> list[str]:
    """What axe-core finds wrong with the page as it is, from "serious" up."""
    if (found := page.evaluate(RUN_AXE)) is None:
        try:
            page.add_script_tag(url=AXE)  # which Chromium has compiled
        except Error:  # there is no connection
            page.evaluate((ROOT / AXE[1:]).read_text())
        found = page.evaluate(RUN_AXE)
    return found


SCREENS = (("desktop-light", DESKTOP, "light"), ("phone-dark", PHONE, "dark"))
SLOW = "--slow" in sys.argv

on_every_screen = pytest.mark.parametrize(
    ("device", "colour"),
    [
        (PHONE, "dark"),
        *(
            pytest.param(*screen, marks=pytest.mark.slow)
            for screen in [(PHONE, "light"), (DESKTOP, "dark"), (DESKTOP, "light")]
        ),
    ],
    ids=["phone-dark", "phone-light", "desktop-dark", "desktop-light"],
)
"""For a walk through pages: on a phone in the dark, and with `--slow` on each screen in each colour. Most other walks
are at a desk in light, and each further screen costs as much as the walk."""


def faults(page: Page) -> list[tuple[str, str]]:
    """What is wrong with the page as it stands, at a desk in light and on a phone in the dark; a desk's afterwards."""
    found = []
    for name, device, colour in SCREENS:
        page.set_viewport_size(device["viewport"])
        page.emulate_media(color_scheme=colour)  # type: ignore[arg-type]
        found += [(name, finding) for finding in serious_findings(page)]
        found += [(name, "scrolls sideways")] if scrolls_sideways(page) else []
    page.set_viewport_size(DESKTOP["viewport"])
    page.emulate_media(color_scheme="light")
    return found


EMPTY_SURROUNDINGS = "document.querySelectorAll('#sidebar, #panel, dialog').forEach(each => each.replaceChildren())"
SIDEWAYS = "[document.documentElement, document.querySelector('#page')].some(e => e && e.scrollWidth > e.clientWidth)"
"""The page, or what scrolls in it beside the sidebar, is wider than its window."""
AS_A_WHOLE = """!!document.querySelector(".workspace")
    && document.documentElement.scrollHeight > document.documentElement.clientHeight"""
"""A page beside the sidebar is taller than its window: only what is in it is to scroll."""
PRESSED = "button, summary, .input, .room-pages a, .tabs a, .row > a, .counts a, .result"
TOO_SMALL = f"""[...document.querySelectorAll("#page :is({PRESSED}):not(.visually-hidden)")]
    .filter(each => each.checkVisibility() && each.offsetHeight && (each.matches("textarea")
      ? getComputedStyle(each).alignContent === "center" : each.offsetHeight < 44))
    .map(e => `too small: ${{e.outerHTML}}`)"""
EDGE = "(document.querySelector('.page-inner, .rooms')?.getBoundingClientRect().left ?? 296)"
HEIGHT = "(page => page ? page.scrollHeight + page.getBoundingClientRect().top : 0)(document.querySelector('#page'))"
LOOK = f"""([isPhone, tallest]) => [
    [...document.querySelectorAll("h1")].filter(h => h.checkVisibility() && h.offsetWidth).length > 1 && "two headings",
    !isPhone && tallest && {HEIGHT} > tallest && `taller than ${{tallest}}: ${{{HEIGHT}}}`,
    {SIDEWAYS} && "scrolls sideways",
    !isPhone && {EDGE} !== 296 && "begins elsewhere",
    {AS_A_WHOLE} && "scrolls as a whole",
    ...(isPhone ? {TOO_SMALL} : []),
].filter(Boolean)"""
"""What is wrong with a page on the screen it is on, all in one question, as each takes a while to be asked."""


def look_over(
    tab: Tab, paths: Iterable[str], tallest: Mapping[str, int] = MappingProxyType({})
) -> list[tuple[str, str, str]]:
    """What is wrong with pages, each loaded once, on one screen or the other by turns, and looked at on both.

    Of each: what axe-core finds, whether it is wider than its window, at a desk taller than is said in `tallest`, on a
    phone smaller than a finger, what it complains of in the console. axe-core looks at the screen that comes last, with
    `--slow` at both, and on the first page only at what is around every one (the sidebar, the panel of memories), which
    is most of it.
    """
    page = tab.page
    devices = page.context.new_cdp_session(page)
    wrong: list[tuple[str, str, str]] = []

    def look_at_twice_its_size(path: str) -> None:
        page.set_viewport_size({"width": 195, "height": 422})
        wrong.extend([(path, "phone", "scrolls sideways at 200 %")] if scrolls_sideways(page) else [])

    for number, path in enumerate(paths):
        for turn, (name, device, colour) in enumerate(SCREENS[:: -1 if number % 2 else 1]):
            if turn or not number:  # else it is the screen of the page before
                page.emulate_media(color_scheme=colour)  # type: ignore[arg-type]
                devices.send("Emulation.setTouchEmulationEnabled", {"enabled": device is PHONE})
                if device is PHONE:
                    look_at_twice_its_size(path)
                page.set_viewport_size(device["viewport"])
            if not turn:
                tab.go(path)
            found = page.evaluate(LOOK, [device is PHONE, tallest.get(path, 0)])
            wrong += [(path, name, finding) for finding in found]
            if device is PHONE and not turn:
                look_at_twice_its_size(path)
            if number and turn:
                page.evaluate(EMPTY_SURROUNDINGS)
            if SLOW or not number or turn:
                wrong += [(path, name, finding) for finding in serious_findings(page)]
        wrong += [(path, "console", problem) for problem in tab.problems]
        tab.forgive()
    devices.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    devices.detach()
    return wrong


def rest_position(element: Any) -> int:
    """How far an element is scrolled once it has come to rest: a wheel turns it in the course of some frames."""
    places: list[int] = []

    def rests() -> bool:
        places.append(element.evaluate("e => e.scrollTop"))
        return len(places) > 2 and len(set(places[-3:])) == 1

    until(element.page, rests, "at rest")
    return places[-1]


def scrolls_sideways(page: Page) -> bool:
    """Whether the page is wider than its window."""
    return page.evaluate(SIDEWAYS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failing test shows what the server wrote last."""
    report = yield
    if report.failed and (server := getattr(item, "funcargs", {}).get("live_server")) is not None:
        report.sections.append(("Log of the live server", server.read_log()[-8_000:]))
    return report
