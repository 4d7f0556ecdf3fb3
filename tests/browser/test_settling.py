"""The title of a new conversation reaches every page that shows it, whenever that page came."""

import re

import pytest
from flask import Flask
from playwright.sync_api import Page, expect
from sqlalchemy import select

from testkit.processes import wait_until
from webapp.conversations.models import Conversation
from webapp.db.base import db

from .conftest import held, replies, script_title, send

TITLE = "Boats and bridges"


def expect_titled(page: Page, title: str = TITLE) -> None:
    """The window, the one heading of the page and the sidebar agree."""
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(page.locator(".side-link")).to_have_text(title)
    expect(page).to_have_title(f"{title} · Commonplace")


def title_in(app: Flask) -> str | None:
    """The title of the only conversation, as it is stored."""
    with app.app_context():
        return db.session.scalar(select(Conversation.title))


@pytest.fixture
def without_worker(live_server):
    """Titles come when the test starts the worker."""
    live_server.kill_worker()
    return live_server


def start_worker(live_server, app: Flask) -> None:
    """Start the worker, and return once it has stored the title: a busy machine takes a while to start it."""
    live_server.start_worker()
    wait_until(lambda: title_in(app) == TITLE, "the title")


def answered(tab, model):
    """A page whose first question has been answered, while what follows the answer has not been done."""
    model.script(reply="Afloat.")
    script_title(model, TITLE)
    page = tab.page
    send(page, "Tell me of boats")
    expect(replies(page)).to_have_text(re.compile("Afloat"))
    return page


def test_after_a_reload_in_the_middle_and_in_a_second_tab(open_tab, tab, user, model):
    hold = held(model)
    script_title(model, TITLE)
    page = tab.page
    send(page, "Tell me of boats")
    expect(page.locator(".stream-tail")).to_contain_text("word word")
    page.reload()
    second = open_tab(user, beside=tab).go(page.url.removeprefix(tab.server.url))
    hold.release()
    for shown in (page, second):
        expect(replies(shown)).to_have_count(1)
        expect_titled(shown)


def test_for_a_page_opened_between_the_reply_and_its_title(open_tab, tab, user, app, model, without_worker):
    page = answered(tab, model)
    page.reload()
    expect(page.get_by_role("heading", level=1)).not_to_have_text(TITLE)
    reply = replies(page).element_handle()
    second = open_tab(user, beside=tab).go(page.url.removeprefix(tab.server.url))
    start_worker(without_worker, app)
    for shown in (page, second):
        expect_titled(shown)
    assert reply.evaluate("node => node.isConnected"), "the reply is not put there a second time"
    page.reload()
    expect(page.locator("[hx-sse\\:connect]")).to_have_count(0)


def test_for_a_viewer_who_was_cut_off_in_between(tab, app, model, without_worker):
    page = answered(tab, model)
    without_worker.restart_web()
    start_worker(without_worker, app)
    expect_titled(page)
    tab.forgive()


def test_a_title_that_came_while_nobody_listened(tab, app, model, without_worker):
    page = answered(tab, model)
    without_worker.kill_web()
    start_worker(without_worker, app)
    without_worker.flush_redis()  # nor is it on any stream any more
    without_worker.start_web()
    expect_titled(page)
    tab.forgive()


def test_a_title_being_written_by_hand_is_left_alone(tab, app, model, without_worker):
    page = answered(tab, model)
    page.get_by_role("heading", level=1).get_by_role("link").click()
    field = page.get_by_label("Title", exact=True)
    field.fill("My own")
    start_worker(without_worker, app)
    expect(page.locator(".side-link")).to_have_text(TITLE)
    expect(field).to_have_value("My own")
    page.get_by_role("button", name="Save").click()
    expect_titled(page, "My own")
