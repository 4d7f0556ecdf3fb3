"""Blocks of a reply in a real browser: formulas, tables, code, diagrams."""

import re

from playwright.sync_api import expect

from .conftest import PHONE, plant, replies, scrolls_sideways, send, serious_findings

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


def test_formulas_are_set_unless_they_are_broken_and_prices_are_not(app, tab, user):
    broken = r"Broken: \( \frac{a \) and \( \notacommand{b} \)."
    page = tab.go(plant(app, user, *["Long ago", "$a^2$"] * 30, "Show me", FORMULAS, "And?", broken))
    reply, second = replies(page).nth(-2), replies(page).last
    expect(reply.locator(".katex")).to_have_count(3)
    expect(reply.locator(".math-display .katex-display")).to_be_visible()
    expect(reply).to_contain_text("Prices: $5 and $6.")
    expect(second.locator(".math-unread").first).to_have_text(r"\frac{a")
    assert reply.locator("template[data-source]").evaluate("node => node.content.textContent") == FORMULAS
    assert serious_findings(page) == []
    page.pdf()  # all of it, and nothing that is clicked
    expect(replies(page)).to_have_count(32)
    expect(replies(page).first.locator(".katex")).to_be_attached()
    page.emulate_media(media="print")
    expect(page.locator("#composer")).to_be_hidden()
    assert page.locator(".thread-scroll").evaluate("e => getComputedStyle(e).overflowY") == "visible"


def test_a_wide_table_scrolls_on_a_phone(app, open_tab, user):
    page = open_tab(user, PHONE, path=plant(app, user, "Show me", TABLE)).page
    expect(replies(page).locator("table")).to_be_visible()
    scroller = page.locator(".table-scroll")
    assert scroller.evaluate("node => node.scrollWidth > node.clientWidth")
    assert scroller.evaluate("node => node.nextElementSibling.offsetTop >= node.offsetHeight")  # what copies it
    # No word is broken: each cell of one word is one line high.
    heights = page.locator("td", has_text=re.compile(r"^\S+$")).evaluate_all(
        "cells => cells.map(cell => { const r = document.createRange(); r.selectNodeContents(cell);"
        " return r.getClientRects().length })"
    )
    assert heights and set(heights) == {1}
    assert not scrolls_sideways(page)
    for colour in ("light", "dark"):
        page.emulate_media(color_scheme=colour)
        assert serious_findings(page) == []
    page.emulate_media(media="print")  # where nothing scrolls, words are broken rather than cut off
    assert scroller.evaluate("node => node.firstElementChild.offsetWidth <= node.clientWidth")


def test_a_table_is_sorted_and_copied_and_code_wraps_is_numbered_saved_and_folded(model, page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    model.script(reply=f"{TABLE}\n{CODE}")
    send(page, "Show me")
    expect(replies(page)).to_have_count(1)
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)  # it was read while it came
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
    page.reload()
    page.get_by_role("button", name="Show all 60 lines").click()
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
    page.locator(".code").hover()
    page.get_by_role("button", name="Lines").click()
    expect(page.locator(".code-numbers")).to_contain_text("60")
    page.get_by_role("button", name="Wrap").click()
    expect(page.locator(".code-numbers")).to_have_count(0)
    expect(page.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "true")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == "code.py"
    assert saved.value.path().read_text().startswith("value_0 = 0\n")


def test_diagrams_are_pictures_that_run_nothing_or_say_that_they_cannot_be_drawn(app, tab, user):
    page = tab.go(plant(app, user, "Show me", DRAWN, "And?", "```mermaid\nflowchart LR\n  A[[[ -->\n```\n"))
    pictures = page.locator("img.diagram")
    expect(pictures).to_have_count(2)
    expect(page.locator(".diagram-note")).to_contain_text("This diagram cannot be drawn")
    assert pictures.evaluate_all(
        "all => all.every(one => one.src.startsWith('data:image/svg+xml') && one.naturalWidth)"
    )
    assert page.evaluate("window.stolen") is None
    page.locator(".code").first.get_by_role("button", name="Code").click()
    expect(page.locator(".code").first.locator("pre")).to_be_visible()
    # A refused handler is told to the console by newer versions of Chromium (156 does, 150 did not).
    assert all("inline event handler" in problem for problem in tab.problems), tab.problems
    tab.forgive()


def test_an_image_from_elsewhere_a_footnote_from_right_to_left_and_tasks(app, tab, user, page):
    asked: list[str] = []
    page.context.route("http://images.test/**", lambda route: (asked.append(route.request.url), route.abort()))
    replied = ("مرحبا بالعالم[^1]\n\n- أولا\n\n[^1]: ملاحظة", "- [x] done\n- plain")
    image = "Here: ![a heron](http://images.test/heron.png)."
    tab.go(plant(app, user, "Greet me", replied[0], "What is to do?", replied[1], "Show me", image))
    prose = replies(page).locator(".prose")
    assert prose.first.evaluate("node => getComputedStyle(node).direction") == "rtl"
    page.locator(".footnote-reference").click()
    expect(page.locator(".footnote")).to_be_focused()
    marks = prose.nth(1).locator("li").evaluate_all("all => all.map(one => getComputedStyle(one).listStyleType)")
    assert marks == ["none", "disc"]
    assert asked == []  # fetched only after a click
    page.get_by_role("link", name="a heron").click()
    expect(page.locator("iframe.image-frame")).to_be_visible()
    expect(page.frame_locator("iframe.image-frame").locator("img")).to_have_count(1)
    assert asked == ["http://images.test/heron.png"]
    tab.forgive()
