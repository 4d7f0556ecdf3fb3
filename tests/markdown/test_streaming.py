"""The stream renderer: what it gives, and that it does not look again at what is finished."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from webapp.markdown import StreamRenderer, render, rendering, split_stable, streaming
from webapp.markdown.incomplete import showable_part

REPLY = "## Title\n\nA *part* with `code`.\n\n```python\nprint('a')\n```\n\n- one\n- two\n\n### Part\n\nEnd.\n\n## Next"


def test_a_reply_word_by_word():
    renderer = StreamRenderer()
    page = ""
    for character in REPLY:
        update = renderer.feed(character)
        page += "".join(update.finished_html)
        assert update.tail_html is not None
    last = renderer.finish()
    assert page + "".join(last.finished_html) == render(REPLY)
    assert last.tail_html == ""
    assert renderer.finish().finished_html == []


def test_the_tail_is_shown_as_far_as_it_goes():
    renderer = StreamRenderer()
    assert renderer.feed("Some **bo").tail_html == "<p>Some <strong>bo</strong></p>\n"
    assert renderer.feed("ld**").tail_html == "<p>Some <strong>bold</strong></p>\n"
    update = renderer.feed("\n\n```py\nx = '")
    assert update.finished_html == ["<p>Some <strong>bold</strong></p>\n"]
    assert update.tail_html is not None and 'data-lang="py"' in update.tail_html


def test_finished_text_is_never_parsed_again(monkeypatch):
    seen: list[int] = []
    split = streaming.split_stable

    def count_call(text: str) -> tuple[list[str], str]:
        seen.append(len(text))
        return split(text)

    monkeypatch.setattr(streaming, "split_stable", count_call)
    renderer = StreamRenderer()
    for _ in range(2_000):
        renderer.feed("A short paragraph of words.\n\n")
    assert max(seen) < 100


@pytest.mark.parametrize("line", ["- item of one endless list\n", "x = 1\n", "| 1 | 2 |\n", "word "])
def test_one_endless_block_costs_linear_work(line, monkeypatch):
    rendered = 0
    inner = rendering.render_growing

    def count_call(text: str, *rest: Any) -> object:
        nonlocal rendered
        rendered += len(text)
        return inner("", *rest)

    monkeypatch.setattr(streaming, "render_growing", count_call)
    monkeypatch.setattr(streaming, "split_stable", lambda text: ([], text))
    start = {"x = 1\n": "```python\n", "| 1 | 2 |\n": "| a | b |\n|--|--|\n"}.get(line, "")
    renderer = StreamRenderer()
    renderer.feed(start)
    for _ in range(100_000 // len(line)):
        renderer.feed(line)
    assert rendered < 100_000 * 2 * streaming.CODE_GROWTH + streaming.SHORT_TAIL**2 / len(line)


def test_growing_code_is_coloured_and_complete():
    renderer = StreamRenderer()
    renderer.feed("```python\n")
    html = ""
    for number in range(200):
        html = str(renderer.feed(f"value_{number} = {number}\n").tail_html or html)
    assert '<span class="n">value_0</span>' in html
    assert "value_199" in html
    final = renderer.feed("```\n").finished_html[0]
    assert '<span class="n">value_199</span>' in final


@pytest.mark.parametrize("piece", ["![", "[", "[a]["])
def test_brackets_that_open_nothing_are_not_rendered_over_and_over(piece, monkeypatch):
    rendered = 0
    inner = streaming.render_growing

    def count_call(text: str, *rest: Any) -> object:
        nonlocal rendered
        rendered += text.count("[")
        return inner("", *rest)

    monkeypatch.setattr(streaming, "render_growing", count_call)
    renderer, total = StreamRenderer(), 0
    while total < 20_000:
        renderer.feed(piece * 40)
        total += 40 * piece.count("[")
    # The short tail is shown as it grows; from there on the whole costs no more than a few times its length.
    assert rendered < 4 * total + streaming.MANY_BRACKETS**2 / 40


CASES = json.loads(Path(__file__).with_name("splits.json").read_text(encoding="utf-8"))

LINES = CASES["lines"]
DEFINITIONS = CASES["definitions"]
ENDS = st.sampled_from(["\n", "\n", "\n", "\n", "\n\n", "\r\n", "\r"])


def documents(lines: list[str]) -> st.SearchStrategy[str]:
    """Texts of up to 12 lines with mixed line ends, cut off anywhere."""
    pairs = st.lists(st.tuples(st.sampled_from(lines), ENDS), max_size=12)
    whole = pairs.map(lambda parts: "".join(line + end for line, end in parts))
    return st.one_of(whole, st.tuples(whole, st.sampled_from(lines)).map("".join))


PLAIN = documents(LINES)
ANY = documents(LINES + DEFINITIONS * 3)


@settings(max_examples=400)
@given(ANY, ANY)
def test_what_is_finished_stays_finished(start, continuation):
    before, tail = split_stable(start)
    assert "".join(before) + tail == start
    after, rest = split_stable(start + continuation)
    assert "".join(after) + rest == start + continuation
    assert after[: len(before)] == before


@settings(max_examples=200)
@given(ANY, st.lists(st.integers(0, 200), max_size=8))
@example("# heading\ntext\n---\n", [])
def test_streaming_in_any_pieces_finishes_the_same_blocks(text, cuts):
    blocks, tail = split_stable(text)
    renderer = StreamRenderer()
    html: list[str] = []
    points = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    shown = ""
    for start, end in pairwise(points):
        update = renderer.feed(text[start:end])
        html += update.finished_html
        shown = update.tail_html or ""
    outline: list[int] = []
    assert html == [render(block, outline) for block in blocks]
    # What is uncoloured yet in unfinished code is the only difference.
    assert _without_colours(shown) == _without_colours(render(showable_part(tail), outline) if tail.strip() else "")


def _without_colours(html: str) -> str:
    return re.sub(r'<span class="[a-z0-9]{1,3}">(.*?)</span>', r"\1", str(html), flags=re.DOTALL)


@settings(max_examples=400)
@given(PLAIN)
@example("# a | b\n-|-\n")
@example("## a\n\n> # h\n\n### b\n\na\n-\n")
@example("- a\n\n\n      code\n\ntext\n")
def test_the_parts_render_as_the_whole(text):
    blocks, tail = split_stable(text)
    outline: list[int] = []
    assert "".join(render(part, outline) for part in [*blocks, tail]) == render(text)


@pytest.mark.parametrize(("text", "finished"), CASES["finished_blocks"])
def test_finished_blocks(text, finished):
    assert len(split_stable(text)[0]) == finished
