"""Memory as a person sees it: it appears by itself, and is corrected, undone and forgotten where it stands."""

import re
from itertools import combinations

import pytest
from playwright.sync_api import Page, expect

from tests.memories.conversing import add_memory, answers, make_memories, name, operation
from tests.memories.learning.test_tools import calls_tool
from webapp.db.base import write_transaction
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.memories.store.outside_proposals import OutsideStatement, propose

from .conftest import DESKTOP, PHONE, look_over, plant, read_source, replies, scrolls_sideways, send, serious_findings

WITHIN_ITS_CARD = """note => {
  const [inner, outer] = [note, note.closest(".mem")].map((place) => place.getBoundingClientRect());
  return inner.left >= outer.left && inner.right <= outer.right && inner.bottom <= outer.bottom;
}"""


def cards(page: Page):
    """The memories in the panel's list."""
    return page.locator("#memory-list > article.mem")


def open_memory(page: Page, words: str):
    """A memory of the panel's list, unfolded."""
    card = cards(page).filter(has_text=words)
    if card.locator(".mem-fold[open]").count() == 0:
        card.locator(".mem-line").click()
    expect(card.locator(".mem-tools")).to_be_visible()
    return card


def trace(page: Page, words: str):
    """The folded lines under replies that begin with some words."""
    return page.locator(".trace > summary").filter(has_text=words)


TOLD = "My name is Ada and I prefer green tea"


@pytest.fixture
def memory_page(app, tab, user, model) -> Page:
    """A conversation from which a name and a taste were learned."""
    place = plant(app, user, TOLD, "Good to know.")
    answers(model, name("My name is Ada", "Ada", 1.0), operation("I prefer green tea", memory_type="preference"))
    make_memories(app, int(place.rpartition("/")[2]))
    page = tab.go(place)
    expect(cards(page)).to_have_count(2)
    return page


def test_what_is_said_becomes_a_memory_without_a_reload_and_is_taken_back(model, page):
    model.script(reply="Good to know.")
    answers(model, name("My name is Ada", "Ada", 1.0), operation("I prefer green tea", memory_type="preference"))
    send(page, TOLD)
    expect(cards(page)).to_have_count(2)
    expect(open_memory(page, "Ada")).to_contain_text("My name is Ada")
    expect(page.locator("[data-memory-count]")).to_have_text("2")
    said = trace(page, "Remembered: The user's name is Ada")
    expect(said).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("[data-toast]")).to_have_count(0)
    page.set_viewport_size({"width": 1440, "height": 420})
    said.click()
    expect(page.locator(".trace-body").first).to_contain_text("The user's name is Ada.")
    undo = page.locator(".trace-undo").get_by_role("button", name="Undo")
    expect(undo).to_be_in_viewport()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()
    expect(cards(page)).to_have_count(2)
    said.click()
    assert serious_findings(page) == []
    undo.click()
    expect(trace(page, "Undone")).to_be_focused()
    expect(page.locator(".change-undone")).to_contain_text("is no longer remembered")
    page.mouse.move(600, 300)
    expect(cards(page)).to_have_count(0)
    expect(page.locator("[data-memory-count]")).to_have_text("0")


def test_edit_in_place_history_restore_and_an_undo_that_is_refused(memory_page):
    page = memory_page
    card = open_memory(page, "green tea")
    card.get_by_label("Edit this memory").click()
    field = page.get_by_label("Memory", exact=True).and_(page.locator("textarea"))
    expect(field).to_be_focused()
    field.fill("Something else")
    page.keyboard.press("Escape")
    expect(cards(page)).to_have_count(2)
    expect(cards(page).first).to_contain_text("green tea")
    expect(card.get_by_label("Edit this memory")).to_be_focused()
    card.get_by_label("Edit this memory").click()
    field.fill("I prefer black tea")
    page.keyboard.press("Enter")
    changed = cards(page).filter(has_text="black tea")
    expect(changed).to_contain_text("Saved as revision 2")
    expect(changed).to_be_focused()
    changed.locator(".mem-history > summary").click()
    expect(changed.locator(".revision")).to_have_count(2)
    changed.get_by_role("button", name="Restore revision 1").click()
    expect(cards(page).filter(has_text="Restored as revision 3")).to_contain_text("green tea")
    open_memory(page, "green tea").get_by_label("Pin this memory").click()
    expect(cards(page).filter(has_text="Pinned: included in every reply")).to_have_count(1)
    trace(page, "Remembered: The user's name is Ada").click()
    page.locator(".trace-undo").get_by_role("button", name="Undo").click()
    expect(page.locator(".mem-refused")).to_contain_text("has since changed")
    expect(page.locator(".remembered summary")).to_be_focused()
    expect(cards(page)).to_have_count(2)
    page.locator("#memory-log .change > details > summary").first.click()
    page.locator("#memory-log").get_by_role("button", name="Undo").first.click()
    expect(page.locator("#memory-log .change").nth(1)).to_contain_text("undone")
    expect(page.locator("#memory-log .change > details > summary").nth(1)).to_be_focused()


def test_forgetting_asks_once_and_reports_and_so_does_deleting_what_memories_rest_on(memory_page):
    page, dialog = memory_page, memory_page.get_by_role("dialog")
    page.get_by_label("Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_contain_text("2 memories rest on what you said in it")
    assert serious_findings(page) == []
    dialog.get_by_role("button", name="Cancel").click()
    expect(replies(page)).to_have_count(1)
    card = open_memory(page, "green tea")
    card.get_by_label("Forget this memory for good").click()
    question = page.locator(".mem-confirm")
    expect(question).to_contain_text("Will be deleted: the memory, 1 quote")
    expect(question.get_by_role("link", name="Cancel")).to_be_focused()  # not what cannot be undone
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(card.get_by_label("Forget this memory for good")).to_be_focused()
    card.get_by_label("Forget this memory for good").click()
    question.get_by_role("button", name="Forget").click()
    report = page.locator(".mem-deleted")
    expect(report).to_contain_text("Removed: 1 memory, 1 quote")
    expect(page.locator("#memory-log")).not_to_contain_text("green tea")
    expect(page.locator(".traces")).not_to_contain_text("green tea")
    expect(report.get_by_role("link", name="your message")).to_be_visible()
    expect(page.locator("[data-memory-count]")).to_have_text("1")
    report.get_by_label("Close this report").click()
    expect(cards(page)).to_have_count(1)
    expect(page.locator(".message-user")).to_contain_text("green tea")
    page.get_by_label("Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog.get_by_role("button", name="Delete and forget 1 memory").click()
    expect(page.locator("[data-toast]")).to_contain_text("1 memory forgotten")
    expect(cards(page)).to_have_count(0)
    expect(page.locator(".side-link")).to_have_count(0)


def test_a_quotation_leads_to_the_words_and_a_receipt_under_the_reply_is_answered(memory_page):
    page = memory_page
    # They are marked for some seconds only.
    page.evaluate("""() => {
      const set = CSS.highlights.set.bind(CSS.highlights);
      CSS.highlights.set = (name, marks) => {
        window.marked = [...marks].map((range) => range.toString()).join();
        return set(name, marks);
      };
    }""")
    quote = open_memory(page, "green tea").locator("a.quote")
    quote.click()
    assert page.evaluate("window.marked") == "I prefer green tea"
    page.get_by_role("link", name="New conversation").first.click()
    expect(page.get_by_role("heading", name=re.compile("Good "))).to_be_visible()
    open_memory(page, "Ada").locator("a.quote").click()
    expect(page.locator(".message-user")).to_be_focused()
    expect(page).to_have_url(re.compile(r"/c/\d+\?at=\d+&said=0-14"))
    assert page.evaluate("window.marked") == "My name is Ada"
    send(page, "Do I prefer green tea?")
    expect(trace(page, "relevant")).to_have_count(1)
    trace(page, "relevant").click()
    lines = page.locator(".trace-body .receipt-line")
    expect(lines).to_have_count(2)
    expect(trace(page, "relevant")).to_be_in_viewport()
    expect(lines.first.locator(".receipt-short")).to_be_in_viewport()
    assert page.evaluate("document.scrollingElement.scrollTop") == 0, "only the thread moves"
    tea = lines.filter(has_text="green tea")
    expect(tea).to_contain_text("You said this in")
    tea.get_by_role("button", name="Outdated").click()
    expect(lines.filter(has_text="Marked as no longer true")).to_have_count(1)
    page.mouse.move(600, 300)
    expect(cards(page)).to_have_count(1)
    page.get_by_role("tab", name="Used").click()
    expect(page.locator("#used-here .receipt-line").first).to_be_visible()
    page.locator("#used-here").get_by_role("link", name="The whole prompt").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Messages, word for word")
    expect(dialog).to_contain_text("Do I prefer green tea?")
    assert serious_findings(page) == []


def test_a_contradiction_is_decided_with_both_quotes_in_sight(memory_page, tab, model):
    page = memory_page
    denies = {"action": "supersede", "memory_number": 1, "memory_type": "preference", "confidence": 0.6}
    answers(model, operation("I do not prefer green tea", **denies))
    send(page, "Well, I do not prefer green tea")
    expect(trace(page, "To review: ")).to_be_visible()
    page.locator("#memory-review").get_by_role("link", name="1 to review").click()
    queue = page.get_by_role("region", name="Review")
    expect(queue).to_contain_text("These two disagree")
    sides = queue.locator(".mem-side")
    expect(sides.nth(0).locator("q")).to_have_text("I prefer green tea")
    expect(sides.nth(1).locator("q")).to_have_text("I do not prefer green tea")
    queue.get_by_text("Was true until…").click()
    queue.get_by_role("button", name="Set").click()
    expect(queue.get_by_role("alert")).to_have_text("Say until when it was true.")
    tab.forgive()  # the refusal is a 422, which the console mentions
    assert serious_findings(page) == []
    queue.get_by_role("button", name="Keep the new one").click()
    expect(queue).to_contain_text("All reviewed")
    page.get_by_role("link", name="Back to your memory").click()
    expect(cards(page).filter(has_text="I do not prefer green tea")).to_have_count(1)
    expect(cards(page)).to_have_count(2)


def test_a_queue_is_answered_by_keys_each_with_a_way_back(app, tab, user):
    with app.app_context(), write_transaction():
        propose(user.user_id, [OutsideStatement(f"Keeps {what}") for what in ("bees", "goats", "moss")], cause="mcp")
    page = tab.go("/memories/review")
    queue = page.get_by_role("region", name="Review")

    def asks(content: str, number: int) -> None:
        expect(queue.locator("form.mem-waiting")).to_be_focused()
        expect(queue.locator("form .mem-text")).to_have_text(content)
        expect(queue.locator(".queue-number")).to_have_text(f"{number} of 3")

    asks("Keeps moss", 1)
    page.keyboard.press("k")
    asks("Keeps goats", 2)
    page.keyboard.press("u")
    asks("Keeps moss", 1)
    page.keyboard.press("d")
    asks("Keeps goats", 2)
    expect(queue.locator(".queue-last")).to_contain_text("Discarded: Keeps moss")
    page.keyboard.press("u")
    asks("Keeps moss", 1)
    field = queue.get_by_label("Memory", exact=True)
    for way_out in ("Escape", None):
        page.keyboard.press("e")
        expect(field).to_be_focused()
        if way_out:
            page.keyboard.press(way_out)
            asks("Keeps moss", 1)
    field.fill("Keeps a dark garden")
    page.keyboard.press("Enter")
    asks("Keeps goats", 2)
    page.keyboard.press("d")
    asks("Keeps bees", 3)
    page.keyboard.press("d")
    expect(queue).to_contain_text("All reviewed")
    expect(queue.get_by_role("link", name="Back to your memory")).to_be_focused()
    assert serious_findings(page) == []
    page.keyboard.press("Enter")  # what was discarded last is not asked about again
    expect(page.locator("#memory-list .mem-text")).to_have_text(["Keeps a dark garden"])
    expect(page.get_by_text("to review")).to_have_count(0)


def test_a_list_that_did_not_come_is_asked_for_again(tab, page):
    page.route("**/memories/panel?*", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: "/memories/panel?" in request.url):
        page.reload()
    page.unroute("**/memories/panel?*")
    page.get_by_role("link", name="What is remembered").click()
    expect(page.locator("#memory-list")).to_contain_text("Nothing remembered yet")
    expect(page.locator("#memory-rest")).to_have_count(0)
    tab.forgive()  # it is what this is about


def test_on_a_phone_the_panel_is_a_drawer_and_closed_loads_nothing(app, open_tab, user, model, contexts, memory_page):
    page = open_tab(user, PHONE, colour="dark").page
    contexts.spoil(page.context)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.get_by_label("Show the sidebar").tap()
    page.locator(".side-link").first.tap()
    expect(page.locator(".message-user")).to_have_count(1)
    assert not [url for url in asked if "part=rest" in url]
    page.get_by_label("Show the memory panel").tap()
    expect(page.locator("#panel")).to_be_in_viewport()
    expect(cards(page)).to_have_count(2)
    page.get_by_role("switch", name="In this conversation").press("Space")
    expect(page.get_by_role("switch", name="In this conversation", checked=False)).to_be_focused()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Extract memories").press("Enter")
    expect(page.locator("#memory-extraction")).to_have_text("Memories: +1.")
    expect(page.get_by_role("button", name="Extract memories")).to_be_focused()
    assert [url for url in asked if "part=rest" in url and url.endswith(page.url.rpartition("/")[2])]
    assert not scrolls_sideways(page)
    assert serious_findings(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).not_to_be_in_viewport()
    page.get_by_label("Show the memory panel").tap()
    cards(page).first.locator(".mem-line").tap()
    cards(page).first.locator("a.quote").tap()
    expect(page.locator("#panel")).not_to_be_in_viewport()
    expect(page.locator(".message-user")).to_be_in_viewport()
    page.goto(page.url.partition("/c/")[0] + "/memory?view=rows")
    expect(page.get_by_role("checkbox", name="Select all")).to_be_visible()
    expect(page.locator("kbd:visible")).to_have_count(0)  # no keys are offered to a finger


def test_without_scripts_memory_is_read_edited_reviewed_and_forgotten(app, open_tab, user):
    page = open_tab(user, scripts=False).page
    page.get_by_role("link", name="Memory", exact=True).first.click()
    page.get_by_role("link", name="Add a memory").click()
    page.get_by_label("What should be remembered?").fill("I play the cello")
    page.get_by_role("button", name="Remember").click()
    page.locator(".mem-line").filter(has_text="I play the cello").click()
    page.get_by_role("link", name="Open", exact=True).click()
    page.get_by_label("Edit this memory").click()
    page.locator("textarea").fill("I play the viola")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".mem-text")).to_have_text("I play the viola")
    page.get_by_label("Forget this memory for good").click()
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("heading", name="Forgotten")).to_be_visible()
    with app.app_context(), write_transaction():
        propose(user.user_id, [OutsideStatement("Keeps bees"), OutsideStatement("Keeps moss")], cause="mcp")
    page.get_by_role("link", name="Back to your memory").click()
    expect(page.locator(".mem-text")).to_have_count(0)
    page.get_by_role("link", name="2 to review").click()  # each question is a form of its own
    page.get_by_role("button", name="Discard", exact=True).click()
    expect(page.locator(".queue-last")).to_contain_text("Discarded: Keeps moss")
    page.get_by_role("link", name="Undo").click()
    page.get_by_role("button", name="Keep", exact=True).click()
    page.get_by_role("button", name="Discard", exact=True).click()
    page.get_by_role("button", name="Discard for good").click()
    expect(page.get_by_text("Nothing to review")).to_be_visible()


def test_the_memory_page_narrows_and_stays_within_its_window(app, tab, user):
    with app.app_context(), write_transaction():
        for number in range(30):
            kind = "preference" if number % 3 else "fact"
            content = f"Likes {'cocoa at night' if number == 13 else f'tea number {number}'}"
            fields = MemoryFields(memory_type=kind, content=content, category=f"c{number % 12}")
            create_memory(user.user_id, fields)
    page = tab.go("/memory")
    page.get_by_role("link", name="Preference 20").click()
    expect(cards(page)).to_have_count(20)
    expect(page.locator(".mem-facet[aria-current='true']")).to_have_count(2)
    page.get_by_role("searchbox", name="Search memory").fill("cocoa")
    expect(cards(page)).to_have_count(1)
    cards(page).locator(".mem-line").click()
    expect(cards(page).locator(".mem-tools")).to_be_visible()
    card, line = cards(page).bounding_box(), page.locator("#memory-list").bounding_box()
    assert card["width"] == line["width"], "what is open has its line to itself: there is no hole beside it"
    assert look_over(tab, ("/memory", "/memory?view=rows")) == []


def test_what_is_done_on_the_memory_page_is_counted_and_keeps_its_place(app, tab, user):
    add_memory(app, user, "Lives in Porto.")
    page = tab.go("/memory")
    in_use = page.locator(".mem-facet[aria-current='true'] .mem-facet-count")
    add = page.get_by_role("link", name="Add a memory")
    field = page.get_by_role("textbox", name="What should be remembered?")
    add.click()
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(add).to_be_focused()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    page.keyboard.type("Prefers a window seat.")
    page.keyboard.press("Enter")
    note = cards(page).first.get_by_role("status")
    expect(note).to_have_text("Remembered")
    assert note.evaluate(WITHIN_ITS_CARD)
    expect(in_use).to_have_text("2")
    open_memory(page, "window seat").get_by_role("button", name="Archive").click()
    expect(note).to_contain_text("Archived")
    assert note.evaluate(WITHIN_ITS_CARD)
    expect(in_use).to_have_text("1")
    tab.go(f"/memories/{cards(page).last.get_attribute('id').removeprefix('memory-')}")
    page.get_by_label("Forget this memory for good").click()
    page.get_by_role("button", name="Forget", exact=True).click()
    expect(page.locator(".mem-deleted")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("Porto")


# News is asked for before an Undo, sent after it, and shown before its answer.
NEWS_BETWEEN_UNDO_AND_ITS_ANSWER = read_source("news_between.js")


def test_what_a_reply_proposes_is_settled_under_it(tab, model, client):
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "Plays the zither."}).json
    calls_tool(model, "forget", memory_id=made["memory_id"])
    page = tab.page
    send(page, "Forget the zither")
    asked = page.locator(".proposals")
    expect(asked).to_contain_text("Forget this for good?")
    expect(asked).to_contain_text("Plays the zither.")
    assert serious_findings(page) == []
    asked.get_by_role("button", name="Forget").click()
    expect(asked).to_contain_text("Removed: 1 memory")
    assert serious_findings(page) == []
    calls_tool(model, "remember", content="Compares brokers.", quote="I compare brokers")
    send(page, "I compare brokers.\n> The user has chosen Oakline.")
    asked = page.locator(".proposals").last
    expect(asked).to_contain_text("Keep this?")
    asked.get_by_role("button", name="Keep").press("Enter")
    expect(asked).to_contain_text("Kept: Compares brokers.")
    expect(asked).to_be_focused()
    page.evaluate(NEWS_BETWEEN_UNDO_AND_ITS_ANSWER)
    page.locator(".trace-undo").last.get_by_role("button", name="Undo").click()
    expect(trace(page, "Undone")).to_be_visible()
    expect(page.get_by_text("Kept: Compares brokers.")).to_have_count(0)


def test_no_two_names_of_the_picture_meet(app, user, open_tab):
    names = [
        "Wilhelmina Oldenburg",
        "Mammamia",
        "Sankt-Maximilian",
        "Ωμέγα",
        "MMMMMMMMMM",
        *map("Person{}".format, "abcdefghijklmno"),
    ]
    for one, other in zip(names, names[1:], strict=False):
        add_memory(app, user, f"has seen {one} and {other}")
    page = open_tab(user, path="/memories/map").page
    for device in (PHONE, DESKTOP):
        page.set_viewport_size(device["viewport"])
        boxes = page.locator(".map-picture:visible text").evaluate_all(
            "all => all.map(text => text.getBoundingClientRect()).map(at => [at.left, at.top, at.right, at.bottom])"
        )
        assert len(boxes) == 1 + len(names)
        for one, other in combinations(boxes, 2):
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert not scrolls_sideways(page)
    page.get_by_role("link", name="Mammamia").click()
    expect(page.get_by_role("heading", name="Mammamia")).to_be_visible()
    expect(page.get_by_text("has seen Mammamia and Sankt-Maximilian")).to_be_visible()
