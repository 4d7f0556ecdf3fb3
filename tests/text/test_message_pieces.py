"""Pieces of long texts."""

import time

from hypothesis import given, strategies as st

from webapp.text.message_pieces import SIZE, pieces_of

parts = st.lists(
    st.sampled_from(["A sentence. ", "two words\n", "```\ncode()\n```\n", "| a | b |\n", "爬山。", "é" * 30, "\n\n"])
)


@given(st.text(max_size=300) | parts.map("".join), st.integers(20, 200))
def test_pieces_hold_everything_in_order_and_none_is_too_long(text, size):
    found = pieces_of(text, size, size // 5)
    assert found == pieces_of(text, size, size // 5)
    covered = set()
    for piece in found:
        assert 0 <= piece.start <= piece.end <= len(text)
        covered.update(range(piece.start, piece.end))
    assert all(place in covered for place, char in enumerate(text) if not char.isspace())
    assert [piece.start for piece in found] == sorted(piece.start for piece in found)
    assert [piece.end for piece in found] == sorted(piece.end for piece in found)
    if len(found) > 1:
        limit = max(40, size)
        assert all(piece.end - piece.start <= limit for piece in found)


def test_a_short_text_is_one_piece():
    assert pieces_of("Hello there.") == [(0, 12)]


def test_prose_is_cut_between_sentences_and_overlaps_by_one():
    text = " ".join(f"This is the sentence number {number} of a long text." for number in range(60))
    found = pieces_of(text)
    assert len(found) > 2
    for before, after in zip(found, found[1:], strict=False):
        assert text[before.start : before.end].startswith("This is") and text[before.start : before.end].endswith(
            "text."
        )
        assert after.start < before.end <= after.start + 60


def test_code_is_cut_between_lines_and_never_repeated():
    code = (
        "```python\n" + "".join(f"value_{number} = compute({number}, 'x. y! z?')\n" for number in range(100)) + "```\n"
    )
    found = pieces_of(code)
    assert len(found) > 2
    for before, after in zip(found, found[1:], strict=False):
        assert before.end <= after.start
        assert code[before.end] == "\n" and code[after.start - 1] == "\n"


def test_a_line_without_seams_is_cut_all_the_same():
    found = pieces_of("x" * 100_000)
    assert all(piece.end - piece.start <= SIZE for piece in found)
    assert found[-1].end == 100_000


def test_a_megabyte_is_cut_at_once():
    text = "2026-01-01 12:00:00 INFO request served in 12 ms\n" * 20_000
    started = time.process_time()
    assert len(pieces_of(text)) > 1_000
    assert time.process_time() - started < 5
