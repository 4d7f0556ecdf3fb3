"""Places in a text that is being written, compared with what a CommonMark parser says of the same text."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from webapp.llm.markdown_state import Place

MARK = "QQQ"
LINES = st.sampled_from(
    ["word", "", "```", "~~~", "````", "```json", "    indented", "- item", "  more", "1. one", "   goes on", "> quote"]
    + ["> ```", "`tick", "a `code` b", "``x` y``", "# head", "> - in", "      deep", "> ", r"text \` alone"]
)
BEGINNINGS = st.sampled_from(["", "  ", "    ", "\t", "> ", "- ", "words ", "`"])


def parsed(text: str) -> str:
    """Where the mark at the end of a text is for the parser."""
    quotes, found = 0, ""
    for token in MarkdownIt("commonmark", {"html": False}).parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type in ("fence", "code_block") and MARK in token.content + token.info:
            return "code"
        if token.type == "inline" and MARK in token.content:
            codes = [child for child in token.children or () if child.type == "code_inline" and MARK in child.content]
            found = "code" if codes else "quote" if quotes else "text"
    return found


@given(st.lists(LINES, max_size=6), BEGINNINGS, st.integers(1, 9))
def test_what_is_code_or_quoted_for_the_reader_is_so_here(lines: list[str], beginning: str, size: int) -> None:
    text = "\n".join([*lines, beginning])
    place = Place()
    for at in range(0, len(text), size):
        place = place.after(text[at : at + size])
    here = "code" if place.in_code else "quote" if place.in_quote else "text"
    there = parsed(text + MARK + ("`" if beginning == "`" else ""))
    # A backtick may still be closed: what follows counts as code until its paragraph ends.
    assert here == there or (here == "code" and "`" in text)
