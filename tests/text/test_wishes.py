import pytest

from webapp.text.wishes import is_wish


@pytest.mark.parametrize(
    "text",
    [
        "Always give step-by-step proofs when I ask about congruence.",
        "Oh, and please never use emojis",
        "From now on, answer in French",
        "Bitte immer metrisch",
        "Siempre en español",
        "Mai usare elenchi",
    ],
)
def test_a_wish_for_every_answer_is_told_by_how_it_begins(text: str) -> None:
    assert is_wish(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Always",
        "I always walk to work",
        "What should I always do?",
        "Show it, never mind how",
        "Mai ist schön",
        "Mai 2024 in Rom",
    ],
)
def test_what_merely_has_such_a_word_is_none(text: str) -> None:
    assert not is_wish(text)
