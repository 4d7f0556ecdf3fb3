import unicodedata

import pytest
from hypothesis import assume, given, strategies as st

from webapp.memories.rules.evidence import find_quote, has_substance
from webapp.text.provenance import spans_of_others

VOCABULARY = ["I", "prefer", "naïve", "İstanbul", "Straße", "ﬁn", "我喜欢茶", "한국어", "🎉", "👩‍👩‍👧", "don’t", "42"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)


@pytest.mark.cases("quote", "message", "found")
def test_verbatim_quotes_are_found_where_they_stand(quote, message, found):
    span = find_quote(quote, message)
    assert span is not None
    assert message[span.start : span.end] == found


@pytest.mark.cases("quote", "message")
def test_what_the_user_did_not_say_is_not_found(quote, message):
    assert find_quote(quote, message) is None


def test_words_outside_a_block_count_even_if_the_block_has_them_too():
    message = "<memory>I like tea</memory> yes, I like tea"
    span = find_quote("I like tea", message, spans_of_others(message))
    assert span is not None and span.start == message.rindex("I like tea")


@given(WORDS, st.data(), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.sampled_from([str, str.upper, str.lower]))
def test_any_run_of_whole_words_is_found_in_any_form(words, data, form, case):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    quote = case(unicodedata.normalize(form, "\t".join(words[start:end])))
    message = "  ".join(words)
    span = find_quote(quote, message)
    assert span is not None
    assert message[span.start : span.end].split() == message[span.start : span.end].strip().split()
    assert find_quote(message[span.start : span.end], message) is not None


@given(st.text(max_size=40), st.text(max_size=80))
def test_a_found_span_reads_like_the_quote(quote, message):
    span = find_quote(quote, message)
    if span is not None:
        assert 0 <= span.start < span.end <= len(message)
        assert find_quote(quote, message[span.start : span.end]) is not None


@given(st.text(alphabet="abc ", min_size=1), st.text(alphabet="xyz ", min_size=1))
def test_foreign_words_are_never_found(quote, message):
    assume(quote.strip())
    assert find_quote(quote, message) is None


@pytest.mark.cases("quote", "message", "enough")
def test_substance(quote, message, enough):
    assert has_substance(quote, message) is enough


@pytest.mark.parametrize("text", ["¸MY NAME IS B", "I am called ´", "¨ I like trams ¨"])
def test_a_character_that_folds_to_a_space_and_a_mark_is_part_of_the_quote(text):
    assert find_quote(text, text) == (0, len(text))
    assert find_quote(f"  {text} ", f"Well: {text}") == (6, 6 + len(text))
