"""While a reply is being written nothing is shown that turns out to be something else."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from webapp.markdown import StreamRenderer, render
from webapp.markdown.incomplete import showable_part

CASES = json.loads(Path(__file__).with_name("incomplete.json").read_text(encoding="utf-8"))

STREAMED = CASES["streamed"]
RAW = re.compile(r"\|[ :-]*[-a-z\d]|\$\$|\$x|\\\\|```|``|\*\*|`|\[|\]\(|~~|<h[1-6]>|^- ", re.MULTILINE)


@pytest.mark.parametrize("name", STREAMED)
def test_no_mark_is_ever_shown_raw(name):
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
def test_ordinary_words_are_shown_at_once(text):
    assert showable_part(text) == text


def test_what_never_becomes_a_table_is_shown():
    assert showable_part("| a\nb") == "| a\nb"
    assert showable_part("| a |\n| b |\n| c") == "| a |\n| b |\n| c"


@settings(max_examples=300)
@given(st.text(st.sampled_from("|-$\\()[]{}`*~#>:1. \nab_^!"), max_size=60))
def test_what_is_shown_is_a_beginning_of_the_text(text):
    shown = showable_part(text)
    assert text.startswith(shown) or (shown.endswith("**") and text.startswith(shown[:-2]))
    render(shown)
