"""Formulas and diagrams as people write them: all are typeset or drawn, under the page's strict policy.

Without `--slow` a quarter of the diagrams and attacks are tried: test_rendering has the parser read all attacks.
"""

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.support.attacks import ATTACKS

from .conftest import SLOW, read_source, replies, send

LONG = 120_000  # Mermaid draws up to two dozen diagrams, which takes a processor a while

SAMPLES = json.loads(Path(__file__).with_name("samples.json").read_text())
STEP = 1 if SLOW else 4
FORMULAS, DIAGRAMS = SAMPLES["formulas"], SAMPLES["diagrams"][::STEP]


LIVELY = (
    "<script>document.title='gone'</script> <hx-partial hx-target='body'>gone</hx-partial> "
    '<div hx-get="/settings" hx-trigger="load" hx-target="body">x</div>'
)

# What of a reply can be read in each frame while it is written, but for code in its frame; formulas that wait count.
WATCH = read_source("watch.js")


def _pieces(text: str) -> list[str]:
    """A text in pieces as long as a model's tokens."""
    return re.findall(r".{1,5}", text, re.DOTALL)


HERBS = """These are herbs:

| Herb | What it is | Where it grows | When it is picked |
|:--|--:|--|--|
| Basil | it is \\(a^2\\) | in pots | in June |
"""


def _reply() -> str:
    """All samples in one reply, formulas between the diagrams, in a line and set apart by turns."""
    parts = []
    for number, formula in enumerate(FORMULAS):
        is_apart = number % 2 or "\\tag" in formula  # a number belongs to a formula of its own line
        parts.append(f"\\[ {formula} \\]" if is_apart else f"So \\( {formula} \\) it is.")
    for number, diagram in enumerate(DIAGRAMS):
        parts.insert(3 * number, f"```mermaid\n{diagram}\n```")
    parts.insert(0, HERBS)
    return "\n\n".join(parts)


def test_every_formula_is_set_and_every_diagram_drawn_while_they_stream(model, page):
    page.evaluate(WATCH)
    head = _pieces(_reply().partition("Where")[0])
    hold = model.hold_reply(after=len(head), reply=_pieces(_reply()), first_delay=0.01, token_delay=0.002)
    send(page, "Show me")
    expect(page.locator("[data-streaming]")).to_contain_text("These are herbs")
    page.wait_for_timeout(300)  # in some frames half the head of a table might be seen
    hold.release()
    expect(replies(page)).to_have_count(1, timeout=LONG)
    expect(page.locator(".math[data-set]")).to_have_count(len(FORMULAS) + 1)
    assert page.locator(".math-unread, .katex-error").all_text_contents() == []
    assert page.locator("span.katex").count() == len(FORMULAS) + 1
    expect(page.locator("img.diagram, .diagram-note")).to_have_count(len(DIAGRAMS), timeout=LONG)
    assert page.locator(".diagram-note").all_text_contents() == []
    assert page.locator("img.diagram").evaluate_all("all => all.every(one => one.naturalWidth > 20)")
    assert page.evaluate("window.read") > 0
    assert page.evaluate("window.raw") == []


def test_no_script_of_a_reply_runs(tab, model, contexts, page):
    """The attacks as they are, in formulas, in diagrams and in drawings: no dialog, no request elsewhere, no error.
    Nor do a reply's or one's own words become elements that htmx would act on."""
    contexts.spoil(page.context)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url))
    attacks = [attack for attack in ATTACKS if "\ud83d" not in attack and "\n" not in attack]
    framed = [
        LIVELY,
        *(attack for attack in ATTACKS[::STEP] if "\ud83d" not in attack),
        *(f"\\( {attack} \\)" for attack in attacks[::STEP]),
        *(f"$$\\text{{{attack}}}$$" for attack in attacks[1::STEP]),
        *(f"```svg\n<svg viewBox='0 0 9 9'>{attack}</svg>\n```" for attack in attacks[:: 3 * STEP]),
        *(f'```mermaid\nflowchart LR\n  a["{attack}"]\n```' for attack in attacks[:: 5 * STEP]),
        '```mermaid\nflowchart LR\n  a --> b\n  click a "javascript:alert(1)"\n  click b call alert(1)\n```',
        '```mermaid\n%%{init: {"securityLevel": "loose"}}%%\nflowchart LR\n  a[<img src=x onerror=alert(1)>]\n```',
    ]
    model.script(reply=_pieces("\n\n".join(framed)), first_delay=0.01, token_delay=0.001)
    send(page, f"</article>{LIVELY}")
    expect(replies(page)).to_have_count(1, timeout=LONG)
    expect(page.locator(".message-user .message-text")).to_contain_text("<hx-partial")
    expect(page.locator(".prose :is([hx-get], script, img:not(.diagram))")).to_have_count(0)
    expect(page.locator("#composer")).to_be_visible()
    assert page.title() != "gone"
    diagrams = page.locator(".code:is([data-lang=svg], [data-lang=mermaid])").count()
    assert diagrams > 25 // STEP
    expect(page.locator("img.diagram, .diagram-note")).to_have_count(diagrams, timeout=LONG)
    for link in page.locator(".prose a").all():
        assert re.match("(https?|mailto):", link.get_attribute("href") or "")
    page.reload()
    expect(page.locator("img.diagram, .diagram-note")).to_have_count(diagrams, timeout=LONG)
    assert alerts == []
    assert [url for url in elsewhere if not url.startswith((tab.server.url, "data:", "blob:"))] == []
