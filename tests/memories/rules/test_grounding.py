import json
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from webapp.i18n.dates import UNDATED
from webapp.memories.rules.grounding import (
    adds_from,
    find_quote,
    has_substance,
    injected_spans,
    is_grounded,
    is_others_words,
    keeps_names_and_numbers,
    particulars_of,
    user_words,
    value_after,
)

CASES = json.loads(Path(__file__).with_name("grounding.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("rewording", "said", "keeps"), CASES["names_and_numbers_of_a_rewording_stand_in_the_message"])
def test_names_and_numbers_of_a_rewording_stand_in_the_message(rewording, said, keeps):
    assert keeps_names_and_numbers(rewording, [said]) is keeps


@pytest.mark.parametrize(("rewording", "said", "keeps"), CASES["a_time_from_the_message_may_become_a_month_near_it"])
def test_a_time_from_the_message_may_become_a_month_near_it(rewording, said, keeps):
    assert keeps_names_and_numbers(rewording, [said], datetime(2024, 4, 3, tzinfo=UTC)) is keeps
    assert not keeps_names_and_numbers(rewording, [said]) and not keeps_names_and_numbers(rewording, [said], UNDATED)


@pytest.mark.parametrize(("value", "text", "found"), CASES["a_value_stands_in_a_text"])
def test_a_value_stands_in_a_text(value, text, found):
    assert is_grounded(value, text) is found


def test_particulars_are_names_numbers_and_symbols():
    assert particulars_of("Has 2 cats, Miso and Tofu 🐙") == {"2", "miso", "tofu", "🐙"}
    assert particulars_of("I think I'm fine") == frozenset()


@pytest.mark.parametrize(("statement", "said", "others", "borrowed"), CASES["borrowed_statements"])
def test_borrowed_statements(statement, said, others, borrowed):
    assert is_others_words(statement, [said], others) is borrowed


def test_what_a_statement_adds_from_outside():
    assert adds_from("Chose the broker Oakline", ["I compare brokers"], ["[Oakline] user has chosen Oakline"])
    assert not adds_from("Compares brokers", ["I compare brokers"], ["[Oakline] user has chosen Oakline"])


@pytest.mark.parametrize(
    ("content", "before", "value", "expected"),
    [
        ("Lives in Bergen", "Lives in Oslo.", "Oslo", "Bergen"),
        ("Lives in Oslo, by the sea.", "Lives in Oslo.", "Oslo", "Oslo"),
        ("我住在上海。", "我住在北京。", "北京", "上海"),
        ("Has a son and a dog.", "Has a cat and a dog.", "cat", "son"),
        ("Likes tea.", "Lives in Oslo.", "Oslo", None),
        ("Lives in", "Lives in Oslo.", "Oslo", None),
        ("Born on 3 May 1990.", "Born on 2 May 1990.", "1990-05-02", None),
    ],
)
def test_the_value_of_a_fact_whose_words_were_changed(content, before, value, expected):
    assert value_after(content, before, value) == expected


EVIDENCE = json.loads(Path(__file__).with_name("evidence.json").read_text(encoding="utf-8"))

VOCABULARY = ["I", "prefer", "naïve", "İstanbul", "Straße", "ﬁn", "我喜欢茶", "한국어", "🎉", "👩‍👩‍👧", "don’t", "42"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)


@pytest.mark.parametrize(("quote", "message", "found"), EVIDENCE["verbatim_quotes_are_found_where_they_stand"])
def test_verbatim_quotes_are_found_where_they_stand(quote, message, found):
    span = find_quote(quote, message)
    assert span is not None
    assert message[span.start : span.end] == found


@pytest.mark.parametrize(("quote", "message"), EVIDENCE["what_the_user_did_not_say_is_not_found"])
def test_what_the_user_did_not_say_is_not_found(quote, message):
    assert find_quote(quote, message) is None


def test_words_outside_a_block_count_even_if_the_block_has_them_too():
    message = "<memory>I like tea</memory> yes, I like tea"
    span = find_quote("I like tea", message)
    assert span is not None and span.start == message.rindex("I like tea")
    assert user_words(message).split() == ["yes,", "I", "like", "tea"]
    assert injected_spans("no block <b>here</b>") == []


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


@pytest.mark.parametrize(("quote", "message", "enough"), EVIDENCE["substance"])
def test_substance(quote, message, enough):
    assert has_substance(quote, message) is enough


@pytest.mark.parametrize("text", ["¸MY NAME IS B", "I am called ´", "¨ I like trams ¨"])
def test_a_character_that_folds_to_a_space_and_a_mark_is_part_of_the_quote(text: str) -> None:
    assert find_quote(text, text) == (0, len(text))
    assert find_quote(f"  {text} ", f"Well: {text}") == (6, 6 + len(text))
