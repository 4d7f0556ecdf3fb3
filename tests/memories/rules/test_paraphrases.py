"""Which sentences of a summary retell a statement, and what is left without them."""

import pytest
from hypothesis import example, given, strategies as st

from webapp.memories.rules.paraphrases import NOTHING_LEFT, ForgottenStatements, without_repeats

WALNUTS = ForgottenStatements(["Allergic to walnuts.", "I'm allergic to walnuts"])


@pytest.mark.cases("sentence")
def test_in_other_words_it_is_still_retold(sentence):
    assert WALNUTS.is_repeated_in(sentence)


@pytest.mark.parametrize("sentence", ["They planted a walnut tree.", "Allergic to pollen.", "", "The user."])
def test_what_shares_a_word_is_not(sentence):
    assert not WALNUTS.is_repeated_in(sentence)


@pytest.mark.cases("sentence", "is_retold")
def test_names_and_the_longest_other_word_make_up_a_statement(sentence, is_retold):
    """A member's assistant had put it in words of its own, and that stayed when the fact was withdrawn."""
    assert ForgottenStatements(["Ylva must never eat walnuts"]).is_repeated_in(sentence) is is_retold


def test_only_the_sentences_that_retell_go():
    text = "- They spoke of boats. Robin is allergic to walnuts! The boats were red.\n- Walnuts: allergic.\n\nTides."
    assert without_repeats(text, WALNUTS) == "- They spoke of boats. The boats were red.\n\nTides."
    assert without_repeats("Allergic to walnuts.", WALNUTS) == NOTHING_LEFT
    japanese = ForgottenStatements(["ユーザーは東京に住んでいる。"])
    said = "船の話をした。ユーザーは東京に住んでいる。赤い船だった。"
    assert without_repeats(said, japanese) == "船の話をした。 赤い船だった。"
    assert (
        without_repeats("À Zürich, l'utilisateur aime Zoé. Bref.", ForgottenStatements(["Aime Zoë à Zurich"]))
        == "Bref."
    )


def test_statements_of_stop_words_alone_take_nothing_along():
    nothing = ForgottenStatements(["Is.", "", "…"])
    assert without_repeats("Is. They are.", nothing) == "Is. They are."


def test_among_many_statements_the_same_sentences_go():
    many = ForgottenStatements(
        [f"The user owns boat number {n} named Heron{n}" for n in range(200)] + ["I'm allergic to walnuts"]
    )
    text = "They spoke of boats. Robin is allergic to walnuts! Heron7 is boat number 7."
    assert without_repeats(text, many) == "They spoke of boats."


@example("é\n\n", ["a red boat"])
@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=3))
def test_nothing_that_retells_is_left_and_nothing_is_added(text, said):
    told = ForgottenStatements(said)
    left = without_repeats(text, told)
    assert left in (text, NOTHING_LEFT) or len(left) <= len(text) + text.count("。") + 1
    assert without_repeats(left, told) in (left, NOTHING_LEFT)
