from datetime import UTC, datetime

import pytest

from webapp.i18n.dates import UNDATED
from webapp.memories.rules.grounding import (
    adds_from,
    is_borrowed,
    is_grounded,
    keeps_particulars,
    particulars_of,
    value_after,
)


@pytest.mark.parametrize(
    ("rewording", "said", "keeps"),
    [
        ("Lives in Kraków with Zosia", "mieszkam w Krakowie z Zosią", True),
        ("Lives in Bath", "I live in bath now", True),
        ("Launch is on 14 February", "launch planned for 14 Feb", True),
        ("Takes 5 mg", "I take 5mg of it", True),
        ("Weighs 47 kg", "I weigh about 74 kilos", False),
        ("Has a dog called Rex", "I have a dog", False),
        ("Likes hiking in the Alps", "I like hiking", False),
        ("Is 45", "I am 4 and a half, or 145", False),
        ("東京に住んでいる", "東京に住んでます", True),
        ("血圧の薬5mgを飲む", "血圧の薬(5mg)を飲みます", True),
        ("Takes it at 10", "every day at ten", False),
    ],
)
def test_names_and_numbers_of_a_rewording_stand_in_the_message(rewording, said, keeps):
    assert keeps_particulars(rewording, [said]) is keeps


@pytest.mark.parametrize(
    ("rewording", "said", "keeps"),
    [
        ("Moves to Ulm in May 2024", "next month we move to Ulm", True),
        ("Moves to Ulm in May", "next month we move to Ulm", True),
        ("Zieht im Mai 2024 nach Ulm", "nächsten Monat ziehen wir nach Ulm", True),
        ("2024年5月搬到成都", "下个月搬到成都", True),
        ("Started on 2 April 2024", "I started yesterday", True),
        ("Moves to Ulm in 2031", "soon we move to Ulm", False),
        ("Moves to Ulm with May Smith", "next month we move to Ulm", False),
        ("Has 5 dogs", "I have dogs", False),
    ],
)
def test_a_time_from_the_message_may_become_a_month_near_it(rewording, said, keeps):
    assert keeps_particulars(rewording, [said], datetime(2024, 4, 3, tzinfo=UTC)) is keeps
    assert not keeps_particulars(rewording, [said]) and not keeps_particulars(rewording, [said], UNDATED)


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        ("Leeds", "I live in leeds", True),
        ("Al", "I am Alexander", False),
        ("武汉", "我住在武汉", True),
        ("חיפה", "גרה בחיפה", True),
        ("project manager", "I'm a project manager at a bank", True),
        ("nurse", "I'm a doctor", False),
        (None, "anything", False),
        ("!", "anything!", False),
    ],
)
def test_a_value_stands_in_a_text(value, text, found):
    assert is_grounded(value, text) is found


def test_particulars_are_names_numbers_and_symbols():
    assert particulars_of("Has 2 cats, Miso and Tofu 🐙") == {"2", "miso", "tofu", "🐙"}
    assert particulars_of("I think I'm fine") == frozenset()


@pytest.mark.parametrize(
    ("statement", "said", "others", "borrowed"),
    [
        ("Favourite language is Rust", "thanks, tell me more", ["My favourite language is Rust"], True),
        ("Lives in Paris", "I live there since May", ["Do you live in Paris?"], False),
        ("Lives in Paris", "J'habite à Paris", ["Paris est belle"], False),
        ("Loves tea", "J'adore le thé", ["How nice"], False),
    ],
)
def test_borrowed_statements(statement, said, others, borrowed):
    assert is_borrowed(statement, [said], others) is borrowed


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
