"""Blocks of a reply in a real browser: formulas, tables, code, diagrams; and the field of the search."""

import re

import pytest
from playwright.sync_api import Page, expect

from .conftest import PHONE, held, replies, scrolls_sideways, send, serious_findings, until

FORMULAS = "Euler: \\( e^{i\\pi} = -1 \\) and $x_1$.\n\n\\[\n\\frac{a}{b}\n= c\n\\]\n\nPrices: $5 and $6."
TABLE = (
    "| Ingredient | Quantity per person | Where to buy it | What to do with it | Season |\n|:--|--:|:-:|--|--|\n"
    "| Chickpeas | 120 g | market hall | soak overnight in plenty of cold water, then simmer | all year |\n"
    "| Extraordinarily | 9 g | greengrocer | ripe ones | summer |\n"
)
CODE = "```python\n" + "".join(f"value_{number} = {number}\n" for number in range(60)) + "```\n"
DRAWN = (
    "```mermaid\nflowchart LR\n  A[Start] --> B[End]\n```\n\n"
    '```svg\n<svg viewBox="0 0 40 20" onload="parent.stolen = 1"><script>parent.stolen = 1</script>'
    '<rect width="40" height="20" style="fill:red"/></svg>\n```\n'
)


def ask(page: Page, model, reply: str | list[str], **how) -> None:
    """Get this reply to a question."""
    model.script(reply=reply, **how)
    send(page, "Show me")
    expect(replies(page)).to_have_count(1)


def test_the_search_field_is_one_line_and_escape_closes_at_once(tab, open_tab, user):
    for page in (tab.page, open_tab(user, PHONE).page):
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


def test_formulas_are_set_and_prices_are_not(tab, model):
    page = tab.page
    ask(page, model, FORMULAS)
    expect(replies(page).locator(".katex")).to_have_count(3)
    expect(replies(page).locator(".math-display .katex-display")).to_be_visible()
    expect(replies(page)).to_contain_text("Prices: $5 and $6.")
    assert page.locator("template[data-source]").evaluate("node => node.content.textContent") == FORMULAS
    page.reload()
    expect(replies(page).locator(".katex")).to_have_count(3)
    assert serious_findings(page) == []
    page.emulate_media(media="print")  # all of it, and nothing that is clicked
    expect(page.locator("#composer")).to_be_hidden()
    assert page.locator(".thread-scroll").evaluate("e => getComputedStyle(e).overflowY") == "visible"


def test_a_formula_that_cannot_be_read_is_shown_as_written(tab, model):
    ask(tab.page, model, r"Broken: \( \frac{a \) and \( \notacommand{b} \).")
    expect(replies(tab.page).locator(".math-unread").first).to_have_text(r"\frac{a")


def test_nothing_raw_is_seen_while_it_streams(tab, model):
    page = tab.page
    page.evaluate("""() => {
      window.seen = [];
      const look = () => {
        const prose = document.querySelector(".message-assistant[data-streaming] .prose");
        if (prose) window.seen.push(prose.innerText);
        requestAnimationFrame(look);
      };
      look();
    }""")
    text = (
        f"Look at \\( a^2 \\):\n\n\\[\n\\frac{{a}}{{b}}\n= c\n\\]\n\n{TABLE}\n```python\nprint(1)\n```\n\nThat is all."
    )
    pieces = re.findall(r".{1,4}", text, re.DOTALL)
    hold = held(model, after=len(pieces) - 2, reply=pieces, token_delay=0.01)
    send(page, "Show me")
    until(page, lambda: page.evaluate("window.seen.some(text => text.includes('Chickpeas'))"), "seen the table")
    hold.release()
    expect(replies(page)).to_have_count(1)
    seen = page.evaluate("window.seen")
    raw = [frame for frame in seen if re.search(r"\\\(|\\\[|\\frac|\|\s|:--|```", frame)]
    assert raw == []


@pytest.mark.parametrize("colour", ["light", "dark"])
def test_a_wide_table_scrolls_on_a_phone(open_tab, user, model, colour):
    page = open_tab(user, PHONE, colour=colour).page
    page.get_by_label("Message", exact=True).fill("Show me")
    model.script(reply=TABLE)
    page.get_by_role("button", name="Send").tap()
    expect(replies(page).locator("table")).to_be_visible()
    scroller = page.locator(".table-scroll")
    assert scroller.evaluate("node => node.scrollWidth > node.clientWidth")
    # No word is broken: each cell of one word is one line high.
    heights = page.locator("td", has_text=re.compile(r"^\S+$")).evaluate_all(
        "cells => cells.map(cell => { const r = document.createRange(); r.selectNodeContents(cell);"
        " return r.getClientRects().length })"
    )
    assert heights and set(heights) == {1}
    assert not scrolls_sideways(page)
    assert serious_findings(page) == []


def test_a_table_is_sorted_and_copied(tab, model):
    page = tab.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page, model, TABLE)
    first = page.locator("tbody td:first-child")
    expect(first).to_have_text(["Chickpeas", "Extraordinarily"])
    page.get_by_role("button", name="Quantity per person").click()
    expect(first).to_have_text(["Extraordinarily", "Chickpeas"])
    expect(page.locator("th[aria-sort='ascending']")).to_have_count(1)
    page.get_by_role("button", name="Quantity per person").click()
    page.get_by_role("button", name="Quantity per person").click()
    expect(first).to_have_text(["Chickpeas", "Extraordinarily"])
    page.locator(".table-box").hover()
    page.get_by_role("button", name="Copy as CSV").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()").replace("\r\n", "\n").split("\n")
    assert copied[1] == 'Chickpeas,120 g,market hall,"soak overnight in plenty of cold water, then simmer",all year'


def test_code_wraps_is_numbered_saved_and_folded(tab, model):
    page = tab.page
    ask(page, model, CODE)
    block = page.locator(".code")
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)  # it was read while it came
    page.reload()
    page.get_by_role("button", name="Show all 60 lines").click()
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
    block.hover()
    page.get_by_role("button", name="Lines").click()
    expect(page.locator(".code-numbers")).to_contain_text("60")
    page.get_by_role("button", name="Wrap").click()
    expect(page.locator(".code-numbers")).to_have_count(0)
    expect(page.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "true")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == "code.py"
    assert saved.value.path().read_text().startswith("value_0 = 0\n")


def test_diagrams_are_pictures_that_run_nothing(tab, model):
    page = tab.page
    ask(page, model, DRAWN)
    pictures = page.locator("img.diagram")
    expect(pictures).to_have_count(2)
    assert pictures.evaluate_all(
        "all => all.every(one => one.src.startsWith('data:image/svg+xml') && one.naturalWidth)"
    )
    assert page.evaluate("window.stolen") is None
    page.locator(".code").first.get_by_role("button", name="Code").click()
    expect(page.locator(".code").first.locator("pre")).to_be_visible()
    # A refused handler is told to the console by newer versions of Chromium (156 does, 150 did not).
    assert all("inline event handler" in problem for problem in tab.problems), tab.problems
    tab.forgive()


def test_a_diagram_that_cannot_be_drawn_says_so(tab, model):
    ask(tab.page, model, "```mermaid\nflowchart LR\n  A[[[ -->\n```\n")
    expect(tab.page.locator(".diagram-note")).to_contain_text("This diagram cannot be drawn")


def test_an_image_from_elsewhere_is_fetched_only_after_a_click(tab, model, live_server):
    page = tab.page
    asked: list[str] = []
    page.context.route("http://images.test/**", lambda route: (asked.append(route.request.url), route.abort()))
    ask(page, model, "Here: ![a heron](http://images.test/heron.png).")
    assert asked == []
    page.get_by_role("link", name="a heron").click()
    expect(page.locator("iframe.image-frame")).to_be_visible()
    expect(page.frame_locator("iframe.image-frame").locator("img")).to_have_count(1)
    assert asked == ["http://images.test/heron.png"]
    tab.forgive()


def test_right_to_left_and_a_footnote(tab, model):
    page = tab.page
    ask(page, model, "مرحبا بالعالم[^1]\n\n- أولا\n\n[^1]: ملاحظة")
    prose = replies(page).locator(".prose")
    assert prose.evaluate("node => getComputedStyle(node).direction") == "rtl"
    page.locator(".footnote-reference").click()
    expect(page.locator(".footnote")).to_be_focused()


def test_tasks_and_plain_items_stand_together(tab, model):
    page = tab.page
    ask(page, model, "- [x] done\n- plain")
    marks = page.locator(".prose li").evaluate_all("all => all.map(one => getComputedStyle(one).listStyleType)")
    assert marks == ["none", "disc"]
