import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from stdnum import luhn

from webapp.memories.rules.secrets import Secret, find_secret

CASES = json.loads(Path(__file__).with_name("secrets.json").read_text(encoding="utf-8"))

SECRETS = [("".join(parts), Secret[kind]) for kind, rows in CASES["secrets"].items() for parts in rows]
"""Keys are put together from parts, so that no scanner takes the file for a leak."""
HARMLESS = CASES["harmless"]


def test_secrets_are_recognised():
    wrong = [(text, kind, find_secret(text)) for text, kind in SECRETS if find_secret(text) != kind]
    assert wrong == []


def test_ordinary_talk_passes():
    assert [(text, find_secret(text)) for text in HARMLESS if find_secret(text) is not None] == []


def test_any_of_the_texts_may_hold_the_secret():
    assert {find_secret(text, None, "my password is hunter2") for text in HARMLESS} == {Secret.PASSWORD}


def test_nothing_holds_nothing():
    assert find_secret() is None
    assert find_secret(None, "", "   ") is None


@given(st.integers(10**11, 10**12 - 1), st.sampled_from(["4{}", "51{}", "62{}"]))
def test_card_numbers_are_told_by_their_checksum(number, form):
    body = form.format(number).ljust(15, "7")[:15]
    verdicts = [find_secret(f"no {body}{check}") is Secret.PAYMENT_CARD for check in range(10)]
    assert sum(verdicts) == 1
    assert luhn.is_valid(f"{body}{verdicts.index(True)}")


@pytest.mark.parametrize("unit", ["a-", "password for ", "backup codes ", "pin von ", "пароль ", "redis://:", "4111 "])
def test_a_long_text_is_screened_in_one_go(unit):
    """Names of settings with hyphens cost the square of their length: two minutes for a text of 64 kB."""
    assert find_secret(unit * (20_000 // len(unit))) in (None, Secret.PASSWORD)


@given(st.text(max_size=200))
def test_any_text_can_be_screened(text):
    assert find_secret(text) in {None, *Secret}
