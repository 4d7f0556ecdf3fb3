"""What was for a time is asked about; what lasts is left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.memories.worlds import NOON
from webapp.memories.rules.lifetimes import FADES_AFTER, ask_again_on, has_faded


@pytest.mark.parametrize(
    ("content", "days"),
    [
        ("Has the flu", 14),
        ("My knee hurts", 45),
        ("Has back pain since Monday", 45),
        ("Has had a headache since last week", 45),
        ("Hat starke Kopfschmerzen", 45),
        ("Das Knie tut weh", 45),
        ("A mal à la tête", 45),
        ("Le duele la rodilla", 45),
        ("Tem dor nas costas", 45),
        ("Ha mal di schiena", 45),
        ("背痛", 45),
        ("ظهره يؤلمه", 45),
        ("Planning a trip to Norway", 90),
        ("Working on a thesis about moss", 180),
        ("Currently lives with her sister", 365),
    ],
)
def test_what_has_a_natural_end(content: str, days: int) -> None:
    assert ask_again_on(content, NOON) == NOON + timedelta(days=days)


def test_a_day_to_come_is_the_end_and_a_day_of_the_past_is_none() -> None:
    for content in ("Flies to Oslo on 4 June 2027", "Flies to Oslo on June 4th, 2027", "Flies to Oslo on 2027-06-04"):
        assert ask_again_on(content, NOON) == datetime(2027, 6, 5, tzinfo=UTC)
    assert ask_again_on("Born on 4 June 1985", NOON) is None
    assert ask_again_on("Saw Oslo on 4 June 2019", NOON) is None
    assert ask_again_on("Flies on 31 February 2027", NOON) is None


@pytest.mark.parametrize(
    "content",
    [
        "Allergic to walnuts",
        "Has chronic back pain",
        "Has had back pain since 2019",
        "疼爱女儿",
        "Takes a trip to Graz every spring",
        "Lives in Lisbon",
    ],
)
def test_what_lasts_has_none(content: str) -> None:
    assert ask_again_on(content, NOON) is None
    assert not has_faded(content, NOON, NOON + FADES_AFTER)
    assert has_faded(content, NOON, NOON + FADES_AFTER + timedelta(days=1)), "a year without a word of it"
