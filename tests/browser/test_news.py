"""Two tabs on one conversation: the one that was left alone catches up, and disturbs nothing."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from testkit.people import api_client

from .conftest import plant, replies, rest_position, send

MESSAGE = "Message"


def look_at(page: Page) -> None:
    """The window comes to the front again."""
    page.evaluate("window.dispatchEvent(new Event('focus'))")


@pytest.fixture
def both(app, open_tab, tab, user) -> tuple[Page, Page]:
    """Two tabs of one person on a conversation with one exchange."""
    place = plant(app, user, "Good morning", "A first reply.")
    return tab.go(place), open_tab(user, beside=tab).go(place)


@pytest.fixture
def elsewhere(both, open_tab, user) -> Page:
    """A window of another browser on the same conversation."""
    first, _ = both
    return open_tab(user, path=urlsplit(first.url).path).page


def test_an_idle_tab_draws_what_was_edited_but_not_under_an_edit_and_joins_a_reply_where_one_reads(both, model):
    first, idle = both
    model.script(reply="To the edited one.", match="Good evening")
    idle.locator(".message-user").hover()
    idle.get_by_role("link", name="Edit and send again").click()
    field = idle.get_by_label("Your message", exact=True)
    field.fill("Not sent yet")
    first.locator(".message-user").hover()
    first.get_by_role("link", name="Edit and send again").click()
    first.get_by_label("Your message", exact=True).fill("Good evening")
    first.keyboard.press("Enter")
    expect(replies(first)).to_contain_text("To the edited one.")
    look_at(idle)
    expect(field).to_have_value("Not sent yet")
    idle.get_by_role("link", name="Cancel").click()
    expect(field).to_have_count(0)
    look_at(idle)
    expect(replies(idle)).to_contain_text("To the edited one.")
    expect(idle.locator(".message-user .message-text")).to_have_text(["Good evening"])

    hold = model.hold_reply(reply=["word "] * 5 + ["\n\nAnd on it went."] * 60 + ["end."], after=5, match="At length")
    idle.get_by_label(MESSAGE, exact=True).fill("half a thou")
    send(first, "At length please")
    expect(first.locator(".stream-tail")).to_contain_text("word word")
    look_at(idle)
    expect(idle.locator("[data-streaming]")).to_contain_text("word word")
    expect(idle.get_by_role("button", name="Stop the reply")).to_be_visible()
    hold.release()
    expect(replies(idle)).to_have_count(2)
    expect(replies(idle).last).to_contain_text("end.")
    expect(idle.get_by_label(MESSAGE, exact=True)).to_have_value("half a thou")
    expect(idle.get_by_label(MESSAGE, exact=True)).to_be_focused()
    look_at(idle)
    look_at(first)
    for page in both:
        expect(page.locator(".message-user")).to_have_count(2)
    idle.locator("#thread-scroll").hover()
    idle.mouse.wheel(0, -400)
    expect(idle.get_by_role("button", name="Newest")).to_be_visible()
    place = rest_position(idle.locator("#thread-scroll"))
    model.script(reply="A short one.", match="Briefly")
    send(first, "Briefly please")
    expect(replies(first)).to_have_count(3)
    look_at(idle)
    expect(replies(idle)).to_have_count(3)
    assert idle.evaluate("document.querySelector('#thread-scroll').scrollTop") == place


def test_what_was_said_through_the_api_appears_by_itself(app, both, user, model, contexts):
    _, idle = both
    model.script(reply="Said elsewhere.", match="By the API")
    contexts.spoil(idle.context)
    idle.clock.install()
    idle.reload()
    expect(replies(idle)).to_have_count(1)
    conversation = idle.url.rpartition("/")[2]
    api = api_client(app, user)
    api.put(f"/api/conversations/{conversation}", json={"title": "Named elsewhere"})
    api.post(f"/api/conversations/{conversation}/messages", json={"content": "By the API"})
    idle.clock.run_for(26_000)
    expect(idle.locator(".message-user").last).to_contain_text("By the API")
    idle.clock.resume()
    expect(replies(idle).last).to_contain_text("Said elsewhere.")
    expect(idle.get_by_role("heading", level=1)).to_have_text("Named elsewhere")
    expect(idle).to_have_title("Named elsewhere · Commonplace")
    api.post("/api/conversations", json={"title": "Begun elsewhere"})
    api.post("/api/memories", json={"content": "Likes moss", "memory_type": "fact"})
    idle.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(idle.locator("#side-list")).to_contain_text("Begun elsewhere")
    expect(idle.locator("#memory-list")).to_contain_text("Likes moss")


def test_words_sent_beside_a_running_reply_wait_for_it_and_stop_means_the_one_that_is_written(both, elsewhere, model):
    first, idle = both
    holds = [model.hold_reply(match=f"The {number} question") for number in ("second", "third")]
    send(first, "The second question")
    expect(idle.locator("[data-streaming]")).to_contain_text("word word")  # by itself
    send(elsewhere, "The third question")
    expect(elsewhere.locator("[data-streaming]")).to_have_count(2)
    send(first, "The fourth question")  # it waits for the reply it follows, not for what came between
    expect(first.locator("[data-queued]")).to_be_visible()
    expect(idle.locator("[data-queued]")).to_be_visible()
    look_at(first)
    expect(first.locator("[data-streaming]")).to_have_count(2)
    elsewhere.get_by_role("button", name="Stop the reply").click()
    expect(elsewhere.get_by_text("You stopped this reply.")).to_be_visible()
    for page in (first, idle, elsewhere):
        expect(replies(page)).to_have_count(2)
        expect(replies(page).last).to_have_attribute("data-status", "stopped")
        expect(page.get_by_role("button", name="Stop the reply")).to_be_visible()
    expect(first.get_by_label(MESSAGE, exact=True)).to_have_value("The fourth question")
    holds[1].release()
    expect(replies(elsewhere)).to_have_count(3)
    expect(elsewhere.get_by_role("button", name="Send", exact=True)).to_be_visible()


def test_a_message_that_waits_goes_out_once_when_its_reply_is_done_and_one_from_behind_after_what_it_missed(
    both, elsewhere, model
):
    first, idle = both
    holds = [model.hold_reply(match=f"The {number} question") for number in ("second", "third")]
    model.script(reply="To the fourth.", match="The fourth question")
    send(first, "The second question")
    expect(first.locator("[data-streaming]")).to_contain_text("word word")
    send(first, "The fourth question")
    expect(idle.locator("[data-queued]")).to_be_visible()
    send(elsewhere, "The third question")
    for page in both:
        look_at(page)
        expect(page.locator("[data-streaming]")).to_have_count(2)
    holds[0].release()
    said = ["Good morning", "The second question", "The third question", "The fourth question"]
    for page in both:
        look_at(page)
        expect(page.locator(".message-user .message-text")).to_have_text(said)
    expect(first.locator("[data-queued]")).to_be_hidden()
    holds[1].release()
    for page in (*both, elsewhere):
        look_at(page)
        expect(replies(page)).to_have_count(4)
        expect(page.locator(".message-user .message-text")).to_have_text(said)
    for page, last in ((first, "The fifth question"), (elsewhere, "The sixth question")):  # which is behind by now
        said.append(last)
        send(page, last)
        expect(replies(page)).to_have_count(len(said))
        expect(page.locator(".message-user .message-text")).to_have_text(said)


def test_nobody_is_told_that_news_could_not_be_had(app, tab, user):
    page = tab.go(plant(app, user, "Good morning", "A first reply."))
    asked = []

    def answer(route):
        asked.append(route)
        fulfilments = [{"status": 503, "body": "away"}, {"status": 404, "headers": {"HX-Retarget": "#toasts"}}]
        route.fulfill(**fulfilments[len(asked) - 1]) if len(asked) <= 2 else route.abort()

    page.route("**/news?*", answer)
    while len(asked) < 4:  # a question is asked only when the one before has been dealt with
        look_at(page)
        page.evaluate("new Promise(requestAnimationFrame)")
    expect(page.locator("[data-toast]")).to_have_count(0)
    tab.forgive()
