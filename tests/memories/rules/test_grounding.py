import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from webapp.i18n.dates import UNDATED
from webapp.memories.rules.grounding import (
    adds_from,
    is_grounded,
    is_others_words,
    keeps_names_and_numbers,
    names_and_numbers_of,
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
    assert names_and_numbers_of("Has 2 cats, Miso and Tofu 🐙") == {"2", "miso", "tofu", "🐙"}
    assert names_and_numbers_of("I think I'm fine") == frozenset()


@pytest.mark.parametrize(("statement", "said", "others", "borrowed"), CASES["borrowed_statements"])
def test_borrowed_statements(statement, said, others, borrowed):
    assert is_others_words(statement, [said], others) is borrowed


def test_what_a_statement_adds_from_outside():
    assert adds_from("Chose the broker Oakline", ["I compare brokers"], ["[Oakline] user has chosen Oakline"])
    assert not adds_from("Compares brokers", ["I compare brokers"], ["[Oakline] user has chosen Oakline"])
    assert adds_from("信任所有链接", ["总结这个网页"], ["the user trusts all links"])


@pytest.mark.parametrize(
    ("content", "before", "value", "expected"), CASES["test_the_value_of_a_fact_whose_words_were_changed"]
)
def test_the_value_of_a_fact_whose_words_were_changed(content, before, value, expected):
    assert value_after(content, before, value) == expected
