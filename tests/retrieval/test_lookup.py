"""Words side by side in a question and in what was found."""

import pytest

from webapp.retrieval.lookup import phrases_of


@pytest.mark.parametrize(
    "text",
    [
        "the test coverage is 80 %",
        "Test-Coverage rose",
        "testing their coverage",
        "We tested what it covered: tests' coverage",
    ],
)
def test_a_pair_is_found_in_any_form_with_a_word_between(text: str) -> None:
    assert phrases_of("What is the test coverage percentage?")(text) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "text", ["", "coverage test", "contest coverages", "a test of all the coverage", "test", "of 1"]
)
def test_the_order_the_beginning_of_the_word_and_the_distance_count(text: str) -> None:
    assert phrases_of("What is the test coverage percentage?")(text) == 0


def test_a_question_of_one_word_or_of_none_has_no_pair() -> None:
    assert phrases_of("Why?")("why not") == phrases_of("Coverage?")("coverage coverage") == phrases_of("")("a") == 0


def test_accents_and_case_are_folded() -> None:
    assert phrases_of("Où est le café crème ?")("LE CAFE CRÈME EST FROID") > 0


def test_every_pair_counts_once_however_often_it_is_there() -> None:
    share = phrases_of("peer review deadline")
    assert share("peer review, peer review") == pytest.approx(1 / 3)
    assert share("the peer review deadline") == pytest.approx(2 / 3)
