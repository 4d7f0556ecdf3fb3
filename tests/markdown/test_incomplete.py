"""While a reply is being written nothing is shown that turns out to be something else."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.markdown import StreamRenderer, render
from webapp.markdown.incomplete import showable

STREAMED = {
    "table": "Look:\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\nDone.",
    "table under a paragraph": "Look:\n| a | b |\n|---|---|\n| 1 | 2 |\n\nDone.",
    "aligned table": "| a | b | c |\n|:-:|--:|:--|\n| 1 | 2 | 3 |\n",
    "inline formula": r"So \( a^2 + b^2 \) and $x_1$ hold.",
    "display formula": "So\n\n\\[\na\n= b\n- c\n\\]\n\nholds.",
    "dollars": "So\n$$\n\\frac{a}{b}\n$$\nholds.",
    "environment": "\\begin{align}\na &= b \\\\\n  &= c\n\\end{align}\n\nEnd.",
    "fence": "See\n\n```python\nprint(1)\n```\n\nEnd.",
    "fence in a list": "- one\n  ```js\n  a()\n  ```\n- two",
    "emphasis": "It is **very** good and `code` too.",
    "link": "See [the page](https://example.org/a) for more.",
    "list under a paragraph": "Items\n- one\n- two",
    "tasks": "- [x] done\n- [ ] open",
    "footnote": "A claim[^1].\n\n[^1]: The source.",
}
RAW = re.compile(r"\|[ :-]*[-a-z\d]|\$\$|\$x|\\\\|```|``|\*\*|`|\[|\]\(|~~|<h[1-6]>|^- ", re.MULTILINE)


@pytest.mark.parametrize("name", STREAMED)
def test_no_mark_is_ever_shown_raw(name: str) -> None:
    text = STREAMED[name]
    renderer = StreamRenderer()
    shown: list[str] = []
    for character in text:
        update = renderer.feed(character)
        shown += [*update.finished_html, update.tail_html or ""]
    shown += renderer.finish().finished_html
    for html in shown:
        seen = re.sub(r'<(span|div) class="math[^>]*>.*?</\1>|<[^h/][^>]*>|</[^h][^>]*>', "", html, flags=re.DOTALL)
        assert not RAW.search(seen), html


@pytest.mark.parametrize(
    "text", ["It costs $5 and", "US$ is", "2 * 3 and", "a_b", "He said [sic] and", "1. One\n2. T", "C:\\dir a"]
)
def test_ordinary_words_are_shown_at_once(text: str) -> None:
    assert showable(text) == text


def test_what_never_becomes_a_table_is_shown() -> None:
    assert showable("| a\nb") == "| a\nb"
    assert showable("| a |\n| b |\n| c") == "| a |\n| b |\n| c"


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("|-$\\()[]{}`*~#>:1. \nab_^!"), max_size=60))
def test_what_is_shown_is_a_beginning_of_the_text(text: str) -> None:
    shown = showable(text)
    assert text.startswith(shown) or (shown.endswith("**") and text.startswith(shown[:-2]))
    render(shown)
