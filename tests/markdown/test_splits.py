"""Where a growing text is cut: nothing lost, nothing taken back, nothing rendered differently."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from webapp.markdown import StreamRenderer, render, split_stable
from webapp.markdown.incomplete import showable

CASES = json.loads(Path(__file__).with_name("splits.json").read_text(encoding="utf-8"))

LINES = [
    *("", " ", "\t", "text", "more text", "    indented", "\tindented", "  two in", "      six in"),
    *("# heading", "# a | b", "## ", "#", "===", "---", "--", "-", "***", "* * *", "_ _ _", "`", "**", "x\\"),
    *("- item", "-", "- ", "- a | b", "* item", "+ item", "1. one", "2. two", "10) ten", "  - nested", "    - deep"),
    *(
        "-\tx",
        "1.",
        "   continued",
        "     - five in",
        "- - x",
        "- ```",
        "- > q",
        "  ```",
        "- [x] done",
        "- # h",
        "-   ---",
    ),
    *("> quote", ">", "> - item", "> ```", "> # h", ">> deep", "> a | b", ">     code", "> ---"),
    *("```", "```python", "````", "~~~", "~~~ a`b", "   ```", "    ```", "```a`", "``` a | b", "````x"),
    *("| a | b |", "|---|---|", "a | b", "--- | ---", "-|-", "| a |", "|---|", "|", ":-:|", "| 1 | 2 |", "- | -"),
    *(
        "<div>",
        "<details>",
        "<details><summary>s</summary>",
        "<summary>s</summary> x",
        "</details>",
        "> <details>",
        "a <sub>b</sub> <br>",
        "</div>",
        "<!-- c",
        "-->",
        "<script>",
        "<?php",
        "[link](http://a.b)",
        "http://a.b/c",
        "\u00a0",
        "\u2028",
        "\x0b",
        "\x0c",
    ),
]
DEFINITIONS = CASES["definitions"]
ENDS = st.sampled_from(["\n", "\n", "\n", "\n", "\n\n", "\r\n", "\r"])


def documents(lines: list[str]) -> st.SearchStrategy[str]:
    """Texts of up to 12 lines with mixed line ends, cut off anywhere."""
    pairs = st.lists(st.tuples(st.sampled_from(lines), ENDS), max_size=12)
    whole = pairs.map(lambda parts: "".join(line + end for line, end in parts))
    return st.one_of(whole, st.tuples(whole, st.sampled_from(lines)).map("".join))


PLAIN = documents(LINES)
ANY = documents(LINES + DEFINITIONS * 3)


@settings(deadline=None, max_examples=400)
@given(ANY, ANY)
def test_what_is_finished_stays_finished(start: str, continuation: str) -> None:
    before, tail = split_stable(start)
    assert "".join(before) + tail == start
    after, rest = split_stable(start + continuation)
    assert "".join(after) + rest == start + continuation
    assert after[: len(before)] == before


@settings(deadline=None, max_examples=200)
@given(ANY, st.lists(st.integers(0, 200), max_size=8))
def test_streaming_in_any_pieces_finishes_the_same_blocks(text: str, cuts: list[int]) -> None:
    blocks, tail = split_stable(text)
    renderer = StreamRenderer()
    html: list[str] = []
    points = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    shown = ""
    for start, end in pairwise(points):
        update = renderer.feed(text[start:end])
        html += update.finished_html
        shown = update.tail_html or ""
    assert html == [render(block) for block in blocks]
    # What is uncoloured yet in unfinished code is the only difference.
    assert _without_colours(shown) == _without_colours(render(showable(tail)) if tail.strip() else "")


def _without_colours(html: str) -> str:
    return re.sub(r'<span class="[a-z0-9]{1,3}">(.*?)</span>', r"\1", str(html), flags=re.DOTALL)


@settings(deadline=None, max_examples=400)
@given(PLAIN)
@example("# a | b\n-|-\n")
@example("- a\n\n\n      code\n\ntext\n")
def test_the_parts_render_as_the_whole(text: str) -> None:
    blocks, tail = split_stable(text)
    assert "".join(map(render, [*blocks, tail])) == render(text)


@pytest.mark.parametrize(("text", "finished"), CASES["finished_blocks"])
def test_finished_blocks(text: str, finished: int) -> None:
    assert len(split_stable(text)[0]) == finished
