"""A journey from the first click to the PDF, in a real browser."""

import re
import subprocess

import pytest
from playwright.sync_api import expect

from tests.journeys.rows import assessment, extraction, load, write_fixture
from tests.support.queries import scalars
from webapp.conversations.models import Message
from webapp.db.base import db

from .conftest import PHONE, expect_settled, replies, scrolls_sideways, send, serious_findings

PLACE, WISH = "a balcony of six square metres", "tomatoes and basil"


@pytest.fixture
def garden(app, tmp_path) -> None:
    """The small journey, loaded."""
    load(app, write_fixture(tmp_path / "fixtures"))


def begin(page) -> None:
    """Begin the journey on the page of journeys, where the first page leads."""
    page.get_by_role("link", name=re.compile("Take a journey")).click()
    page.locator("form[action='/journeys/garden/start'] button").click()
    expect(page.get_by_role("heading", name="A garden", level=1)).to_be_visible()


def test_from_the_first_click_to_the_pdf(garden, model, tmp_path, page):
    model.script(match="(?s)Conversation Point: The place", reply="How large is your garden?")
    model.script(match="(?s)Conversation Point: Your wishes", reply="What do you want to grow?")
    begin(page)
    panel = page.locator("#panel-points")
    expect(panel.get_by_text("0 of 2 topics covered")).to_be_visible()
    expect(panel.get_by_text("I'd like to know what your garden is like.")).to_be_visible()
    expect(replies(page)).to_have_text(re.compile(re.escape("How large is your garden?")))
    bubble = page.locator(".suggestion-bubble", has_text="How do I measure my garden?")
    bubble.click()
    field = page.get_by_label("Message", exact=True)
    expect(field).to_have_value("How do I measure my garden?")
    expect(field).to_be_focused()
    expect(bubble).to_have_count(0)

    model.script(match="memory_operations", structured=extraction(assessment(1, PLACE, says="A balcony of 6 m²")))
    send(page, f"It is {PLACE}.")
    expect(panel.get_by_text("1 of 2 topics covered")).to_be_visible()
    done = panel.locator("#point-place")
    expect(done.get_by_text("Covered, 90% certain")).to_be_visible()
    done.get_by_text("What is known").click()
    expect(done.get_by_text("A balcony of 6 m²")).to_be_visible()
    done.locator("a.quote").click()
    expect(page.locator(".message-user")).to_be_focused()
    expect(panel.locator("#point-wishes").get_by_text("next", exact=True)).to_be_visible()

    panel.locator("#point-wishes").get_by_role("button", name=re.compile("Your wishes")).click()
    expect(replies(page).last).to_have_text(re.compile(re.escape("What do you want to grow?")))
    # A point without questions of its own offers the usual ones.
    expect(page.locator(".suggestion-bubble")).to_have_count(3)
    model.script(match="memory_operations", structured=extraction(assessment(1, WISH, says="Wants tomatoes")))
    send(page, f"I want {WISH}.")
    expect(page.locator(".suggestion-bubble")).to_have_count(0)
    expect(panel.get_by_text("Every topic is covered.")).to_be_visible()
    expect(panel.get_by_text("2 of 2 topics covered")).to_be_visible()

    with page.expect_download() as waiting:
        panel.get_by_role("link", name="Summary as PDF").click()
    pdf = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(pdf)
    assert pdf.read_bytes().startswith(b"%PDF-")
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True).stdout
    for words in ("A garden", "A balcony of 6 m²", f"“{PLACE}”", "Wants tomatoes", f"“{WISH}”"):
        assert words in text


def test_two_clicks_ask_once_and_ask_a_question_offers_the_usual_ones(garden, model, page):
    model.script(match="(?s)Conversation Point", reply="How large is your garden?", first_delay=0.5)
    begin(page)
    button = page.locator("#point-place").get_by_role("button", name=re.compile("The place"))
    button.dblclick()
    expect(replies(page)).to_have_text(re.compile(re.escape("How large is your garden?")))
    button.click()
    expect_settled(page)
    expect(page.locator(".message-assistant")).to_have_count(1)
    ask = page.get_by_role("button", name="Ask a question")
    expect(ask).to_have_attribute("aria-expanded", "true")  # questions of the topic that was begun with
    ask.click()
    expect(page.locator(".suggestion-bubble").first).to_be_hidden()
    ask.click()
    for words in (
        "Can you tell me more about...",
        "What other options haven't we mentioned yet?",
        "Help me decide between these options...",
    ):
        expect(page.get_by_role("link", name=words)).to_be_visible()
    ask.click()
    expect(page.locator(".suggestion-bubble").first).to_be_hidden()


def test_what_was_told_elsewhere_is_offered_and_a_click_while_the_points_are_fetched_counts(garden, tab, client):
    client.post("/api/memories", json={"memory_type": "fact", "content": "I have a balcony full of sun."})
    page = tab.page
    begin(page)
    expect_settled(page)
    place = page.locator("#point-place")
    fetch = "document.dispatchEvent(new Event('memories:changed'))"
    click = "document.querySelector('#point-place .point-memory button[value=yes]').click()"
    slow: list[str] = []

    def hold(route):
        if route.request.method == slow[-1]:
            page.wait_for_timeout(700)
        route.continue_()

    page.route("**/points**", hold)
    for method, done in (("GET", f"{fetch}; {click}"), ("POST", f"{click}; {fetch}")):
        expect(place.get_by_text("I have a balcony full of sun.")).to_be_visible()
        slow.append(method)
        page.evaluate(done)
        # A memory counts, and is not all that the point asks for.
        expect(place).to_contain_text("% so far")
        expect(place.get_by_role("button", name="Undo")).to_be_visible()
        expect(place.get_by_text("From other conversations")).to_have_count(0)
        place.get_by_role("button", name="Undo").click()
        expect(place.get_by_text("From other conversations")).to_be_visible()
    assert serious_findings(page) == []


def test_points_on_a_phone(garden, open_tab, user, model):
    model.script(match="(?s)Conversation Point", reply="How large is your garden?")
    page = open_tab(user, PHONE).page
    begin(page)
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Show the memory panel").click()
    page.evaluate("document.dir = 'rtl'")
    page.get_by_role("tab", name="Memory").press("ArrowLeft")
    expect(page.get_by_role("tab", name="Used")).to_be_focused()
    page.evaluate("document.dir = ''")
    page.get_by_role("tab", name="Topics").click()
    button = page.locator("#point-place").get_by_role("button", name=re.compile("The place"))
    expect(button).to_be_visible()
    assert serious_findings(page) == []
    button.click()
    expect(button).to_be_hidden()
    expect(replies(page)).to_have_text(re.compile(re.escape("How large is your garden?")))
    assert not scrolls_sideways(page)


def test_an_author_writes_runs_and_takes_a_journey(app, tab, model, tmp_path):
    page = tab.go("/journeys")
    page.get_by_role("link", name="Write your own").click()
    page.get_by_role("link", name="Write a journey").click()
    page.get_by_label("Title", exact=True).first.fill("My week")
    page.get_by_label("What it is for").fill("A look back at a week.")
    page.get_by_label("Instructions for the assistant").fill("Be brief.")
    point = page.locator(".journey-point-form").first
    point.get_by_label("Title", exact=True).fill("What went well")
    point.get_by_label("What to find out").fill("One thing that went well")
    page.get_by_role("button", name="Save draft").click()
    page.get_by_role("alert").get_by_role("link").click()
    tab.forgive()  # the browser notes the 422
    expect(point.get_by_label("When it is done")).to_be_in_viewport()
    expect(point.get_by_label("When it is done")).to_have_accessible_description("“When it is done” is missing.")
    point.get_by_label("When it is done").fill("One thing is named")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("A draft, not published yet.")).to_be_visible()
    model.script(match="Conversation Point: What went well", reply="What went well this week?")
    page.get_by_role("button", name="Save and try").click()
    expect(page.get_by_text("What went well this week?")).to_be_visible()
    assert not scrolls_sideways(page)
    assert serious_findings(page) == []
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Published, version 1.")).to_be_visible()

    tab.go("/journeys")
    page.get_by_role("button", name="Start", exact=True).first.click()
    expect(replies(page)).to_have_text(re.compile("What went well this week"))
    expect(page.locator(".journey-begin")).to_be_hidden()
    model.script(
        match="memory_operations",
        structured=extraction(assessment(1, "the talk on Thursday", says="The talk went well")),
    )
    offered = (
        '{"values": ["Thank you", "Go on"], "actions": [{"label": "Say more", "type": "send", "value": "Say more"}]}'
    )
    model.script(match="the talk on Thursday", reply=f"Good to hear.\n<suggestions>{offered}</suggestions>", times=1)
    send(page, "I liked the talk on Thursday.")
    offers = page.locator(".offers").last
    expect(offers.get_by_role("link", name="Thank you")).to_be_visible()
    assert "<suggestions>" not in page.content()
    expect(page.locator("#panel-points").get_by_text("1 of 1 topics covered")).to_be_visible()
    offers.get_by_role("link", name="Thank you").press("Enter")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Thank you")
    offers.get_by_role("button", name="Say more").press("Enter")
    expect(page.locator(".message-user").last).to_contain_text("Say more")
    (said,) = scalars(app, db.select(Message).where(Message.content == "Say more"))
    assert said.spans == [[0, 8, "pasted"]]
    expect(page.locator(".offers").first).to_be_hidden()
