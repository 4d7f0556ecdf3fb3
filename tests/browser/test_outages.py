"""What a person sees when a part of the site goes away and comes back."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import held, replies, send, serious_findings


@pytest.mark.mysql_only
def test_the_database_goes_away_and_comes_back(tab, live_server, model):
    model.script(reply="Back again.")
    page = tab.page
    send(page, "A first one")
    expect(replies(page)).to_have_count(1)
    live_server.stop_database()
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
    page.get_by_role("link", name="Try again").click()
    expect(page.get_by_label("Message", exact=True)).to_have_value("Words that must not be lost")
    page.get_by_role("button", name="Send").click()
    expect(replies(page)).to_have_count(2)
    tab.forgive()


def test_a_reply_that_cannot_be_followed_at_first_is_followed_later(tab, model):
    model.script(reply="Here after all.")
    page = tab.page
    answers = (lambda route: route.abort(), lambda route: route.fulfill(status=503))  # the last is used first
    for answer in answers:
        page.route("**/turns/*/events", answer, times=1)
    send(page, "Can you hear me?")
    expect(page.get_by_role("status").get_by_text("The server cannot be reached at the moment.")).to_be_visible()
    expect(replies(page)).to_contain_text("Here after all.")
    expect(page.locator("[data-lost]")).to_be_empty()
    expect(page.locator("[data-toast]")).to_have_count(0)
    tab.forgive()


def test_the_web_dies_in_the_middle_of_a_reply(tab, live_server, model):
    live_server.restart_web(turn_lease_seconds=2)
    held(model)
    page = tab.page
    send(page, "Tell me at length")
    expect(page.locator(".stream-tail")).to_contain_text("word word")
    live_server.kill_web()
    expect(page.locator("[data-lost]")).not_to_be_empty()
    live_server.start_web(turn_lease_seconds=2)
    expect(page.get_by_text("This reply was interrupted; what had arrived is kept.")).to_be_visible(timeout=60_000)
    assert page.locator(".notice").inner_text().count("kept") == 1
    expect(replies(page)).to_contain_text("word word")
    model.reset()
    model.script(reply="In short.")
    page.get_by_role("button", name="Retry").click()
    expect(replies(page)).to_have_text(re.compile("In short"))
    tab.forgive()
