"""What a person sees when a part of the site goes away and comes back, and of a title that comes late."""

import re

import pytest
from flask import Flask
from playwright.sync_api import Page, expect
from sqlalchemy import select

from testkit.processes import wait_until
from webapp.conversations.models import Conversation
from webapp.db.base import db

from .conftest import expect_titled, plant, replies, script_title, send, serious_findings

TITLE = "Boats and bridges"


@pytest.mark.mysql_only
def test_the_database_goes_away_and_comes_back(app, user, open_tab, tab, live_server, model):
    model.script(reply="Back again.")
    page = tab.go(plant(app, user, "A first one", "Yes."))
    other = open_tab(user, beside=tab)
    form = other.go("/prompts/new")
    form.get_by_role("textbox", name="Name").fill("Rhyme")
    form.get_by_label("Text").fill("A rhyme on {{word}}")
    live_server.stop_database()
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("Nothing was changed")).to_be_visible()
    send(page, "Words that must not be lost")
    notice = page.locator("[data-toast]")
    expect(notice).to_contain_text("Nothing was changed")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Words that must not be lost")
    first = notice.element_handle()
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.get_by_role("button", name="Send").click()
    page.wait_for_function("notice => !notice.isConnected", arg=first)
    expect(notice).to_have_count(1)  # what is said again is not said twice
    expect(page.get_by_label("Message", exact=True)).to_have_value("Words that must not be lost")
    assert page.context.request.get(page.url).status == 503
    page.reload()
    expect(page.get_by_role("heading", name="Temporarily unavailable")).to_be_visible()
    assert serious_findings(page) == []
    live_server.start_database()
    for away in (page, form):
        away.get_by_role("link", name="Try again").click()
    expect(page.get_by_label("Message", exact=True)).to_have_value("Words that must not be lost")
    page.get_by_role("button", name="Send").click()
    expect(replies(page)).to_have_count(2)
    expect(form.get_by_label("Text")).to_have_value("A rhyme on {{word}}")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("Asks for word")).to_be_visible()
    for each in (tab, other):
        each.forgive()


def test_a_reply_that_cannot_be_followed_at_first_is_followed_later(tab, model, page):
    model.script(reply="Here after all.")
    answers = (lambda route: route.abort(), lambda route: route.fulfill(status=503))  # the last is used first
    for answer in answers:
        page.route("**/turns/*/events", answer, times=1)
    send(page, "Can you hear me?")
    expect(page.get_by_role("status").get_by_text("The server cannot be reached at the moment.")).to_be_visible()
    expect(replies(page)).to_contain_text("Here after all.")
    expect(page.locator("[data-lost]")).to_be_empty()
    expect(page.locator("[data-toast]")).to_have_count(0)
    tab.forgive()


def ask_without_worker(tab, model, live_server) -> Page:
    """A page whose first question has been answered, while what follows the answer waits for a worker."""
    live_server.kill_worker()
    model.script(reply="Afloat.", match="boats")
    script_title(model, TITLE)
    send(tab.page, "Tell me of boats")
    expect(replies(tab.page)).to_have_text(re.compile("Afloat"))
    return tab.page


def start_worker(live_server, app: Flask) -> None:
    """Start the worker, and return once it has stored the title: a busy machine takes a while to start it."""

    def is_stored() -> bool:
        with app.app_context():
            return TITLE in db.session.scalars(select(Conversation.title))

    live_server.start_worker()
    wait_until(is_stored, "the title")


def test_the_web_dies_in_the_middle_of_one_reply_and_before_the_title_of_another(
    app, open_tab, tab, user, live_server, model
):
    titled, redis = ask_without_worker(tab, model, live_server), app.extensions["redis"]
    streams = redis.keys("{turn:*}")
    other = open_tab(user, beside=tab)
    page = other.go()
    model.hold_reply(match="at length")
    send(page, "Tell me at length")
    expect(page.locator(".stream-tail")).to_contain_text("word word")
    live_server.kill_web()
    expect(page.locator("[data-lost]")).not_to_be_empty()
    start_worker(live_server, app)
    redis.delete(*streams)  # nor is the title on any stream any more
    live_server.start_web()
    expect_titled(titled, TITLE)
    expect(page.get_by_text("This reply was interrupted; what had arrived is kept.")).to_be_visible(timeout=60_000)
    assert page.locator(".notice").inner_text().count("kept") == 1
    expect(replies(page)).to_contain_text("word word")
    model.reset()
    model.script(reply="In short.")
    page.get_by_role("button", name="Retry").click()
    expect(replies(page)).to_have_text(re.compile("In short"))
    for each in (tab, other):
        each.forgive()


def test_a_late_title_reaches_pages_that_came_before_it_but_not_one_being_written(
    app, open_tab, tab, user, live_server, model
):
    page = ask_without_worker(tab, model, live_server)
    page.reload()
    expect(page.get_by_role("heading", level=1)).not_to_have_text(TITLE)
    reply = replies(page).element_handle()
    second = open_tab(user, beside=tab).go(page.url.removeprefix(tab.server.url))
    second.get_by_role("heading", level=1).get_by_role("link").click()
    field = second.get_by_label("Title", exact=True)
    field.fill("My own")
    start_worker(live_server, app)
    expect_titled(page, TITLE)
    assert reply.evaluate("node => node.isConnected"), "the reply is not put there a second time"
    expect(second.locator(".side-link")).to_have_text(TITLE)
    expect(field).to_have_value("My own")
    second.get_by_role("button", name="Save").click()
    expect_titled(second, "My own")
    page.reload()
    expect(page.locator("[hx-sse\\:connect]")).to_have_count(0)


def test_a_form_that_was_refused_is_there_again_with_its_words(open_tab, make_user):
    tab = open_tab(make_user(is_admin=True))
    page = tab.go("/admin/usage/quotas")
    reasons = {"{}": "The number of schedules is a whole number", "{value: 'old'}": "This page is out of date"}
    for token, reason in reasons.items():
        page.get_by_label("Tokens").first.fill("1000")
        page.get_by_label("Schedules per person").fill("many")
        page.locator("#page [name=csrf_token]").evaluate(f"field => Object.assign(field, {token})")
        page.get_by_role("button", name="Save limits").click()
        expect(page.get_by_text(reason)).to_be_visible()
        page.get_by_role("link", name="Try again").click()
        expect(page.get_by_label("Schedules per person")).to_have_value("many")
        expect(page.get_by_label("Tokens").first).to_have_value("1000")
    page.get_by_role("button", name="Save limits").click()
    page.get_by_role("link", name="Back to your conversations").click()
    page.go_back()  # not to the browser's question whether to send the form again
    page.context.set_offline(True)
    page.get_by_role("button", name="Save limits").click()
    expect(page.get_by_text("Try again when the connection is back")).to_be_visible()
    tab.forgive()
