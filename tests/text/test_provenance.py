import pytest
from hypothesis import given, strategies as st

from webapp.text.provenance import blank_out, carry_spans, spans_of_others


def others(message, said=()):
    return [message[start:end].strip() for start, end in spans_of_others(message, said)]


@pytest.mark.cases("message", "expected")
def test_others_words_are_known_by_where_they_stand(message, expected):
    assert others(message) == expected


@pytest.mark.cases("message")
def test_what_people_type_is_theirs(message):
    assert others(message) == []


def test_what_was_pasted_is_known_from_the_composer():
    message = "Ann says hi. I live here."
    assert others(message, ((0, 12, "pasted"), (13, 25, "spoken"))) == ["Ann says hi."]


@given(st.text(alphabet="ab:\n >`\"'-[]@.“”", max_size=200))
def test_spans_are_in_order_and_blanking_keeps_places(message):
    spans = spans_of_others(message)
    assert all(a.end < b.start for a, b in zip(spans, spans[1:], strict=False))
    left = blank_out(message, spans)
    assert len(left) == len(message) and left.count("\n") == message.count("\n")


@given(st.text("ab", max_size=9), st.text("cd", min_size=1, max_size=9), st.text("ab", max_size=9), st.text("xy"))
def test_what_was_pasted_stays_so_whatever_is_typed_around_it(head, pasted, tail, typed):
    before, span = head + pasted + tail, (len(head), len(head) + len(pasted), "pasted")
    for after in (typed + before, before + typed, head + pasted, pasted + tail):
        assert [after[start:end] for start, end, _ in carry_spans(before, after, [span])] == [pasted]


@pytest.mark.cases("after", "kept")
def test_spans_follow_an_edit(after, kept):
    spans = carry_spans("I said: LONG LETTER. ok", after, [(8, 19, "pasted")])
    assert "".join(after[start:end] for start, end, _ in spans) == kept


@pytest.mark.cases("message")
def test_what_others_wrote_is_theirs_by_its_form(message):
    words = "I live in Leeds and have two dogs"
    text = message.format(words)
    start = text.index(words)
    assert any(left <= start and start + len(words) <= right for left, right in spans_of_others(text))
    if text.rpartition("\n")[2].endswith("?"):
        assert not others(text)[-1].endswith("?")


@pytest.mark.cases("block")
def test_what_people_type_around_a_block_is_theirs(block):
    text = f"I live in Leeds.\n{block}\nI have two dogs."
    assert not any("Leeds" in span or "dogs" in span for span in others(text))
