from hypothesis import given, strategies as st

from webapp.db.base import now
from webapp.legacies.fact_list import FactEvidence, ground
from webapp.memories.rules.state import SourceMessage
from webapp.spaces.chunks import PAGE_END, PDF, SIZE, chunks_of, parts_of, shows_page

TEXTS = st.lists(st.sampled_from(["Joe. ", "word ", "\n", "\n\n", "# Head\n\n", "x" * 40, "。日本", "? "])).map("".join)


@given(TEXTS, st.integers(10, 80))
def test_no_word_is_lost_and_no_part_is_too_long(text, size):
    parts = chunks_of(text, size)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(0 < len(part) <= size and part.strip() for part in parts)


def test_paragraphs_stay_whole_and_headings_begin_a_part():
    long = "A sentence of some length. " * 12
    assert chunks_of(f"{long}\n\n# Next\n\nShort.") == [long.rstrip(), "# Next\n\nShort."]
    assert chunks_of("One.\r\n\r\nTwo.") == ["One.\n\nTwo."]
    assert chunks_of(" \n\n ") == []


def test_a_page_without_text_is_found_by_what_stands_around_it():
    pages = ["word " * 300, "", " \n", "Sold in June."]
    parts = parts_of(PAGE_END.join(pages), 4, "T" * 255, PDF)
    scans = [(page, part) for page, part in parts if shows_page(part, page)]
    assert [page for page, _ in scans] == [2, 3]
    assert "Before it: … word" in scans[0][1] and "After it" not in scans[0][1]
    assert "After it: Sold in …" in scans[1][1]
    assert all(len(part) <= SIZE for _, part in parts)
    assert not any(shows_page(part, page) for page, part in parts_of(PAGE_END.join(pages), 4, "T", "text/plain"))


def test_a_fact_rests_on_the_users_words_or_on_nothing():
    said = [
        SourceMessage(2, 20, "user", "He was a teacher in Porto. I miss him.", now()),
        SourceMessage(4, 40, "user", "He mended clocks.", now()),
    ]
    assert ground("Joe was a teacher in Porto", "Joe", said) == FactEvidence(2, "He was a teacher in Porto.")
    assert ground("Joe mended clocks", "Joe", said, quote="mended clocks", number=2) == FactEvidence(4, "mended clocks")
    assert ground("Joe was a sailor", "Joe", said, quote="a sailor") is None
    assert ground("Joe", "Joe", said) is None
