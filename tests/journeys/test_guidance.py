"""The task of a turn that opens a point, and which words go with which point."""

from hypothesis import given
from hypothesis import strategies as st

from webapp.journeys.evidence_matches import assign, assign_data, keyword_count
from webapp.journeys.guidance import PointGuide, directive

GUIDE = PointGuide(
    "Clarify your values",
    "What matters most.",
    "Offer contrasts.",
    ["Learn what matters"],
    ["What matters most?"],
    ["One preference is known"],
    ["Wants to garden again"],
    ["I miss my garden"],
)


def test_the_task_has_the_documented_form() -> None:
    assert directive(GUIDE, {"name": "Ada Lovelace", "preferred_name": "Ada", "birthday": None}) == (
        "## The Person You Talk With\n- Name: Ada Lovelace\n- Prefers to be called: Ada\n\n"
        "## Conversation Point: Clarify your values\nWhat matters most.\n\nOffer contrasts.\n\n"
        "## Your Goals for This Discussion\n- Learn what matters\n\n"
        "## This Point Is Complete When\n- One preference is known\n\n"
        "## Example Questions You Could Adapt\n- What matters most?\n\n"
        "## What You Already Know About This Topic\nKey points already discussed:\n- Wants to garden again\n\n"
        'Relevant things the person has said:\n- "I miss my garden"\n\n'
        "Build on this knowledge. Don't repeat questions.\n\n"
        "## Your Task\nAsk ONE clear question that helps achieve your goals."
    )


def test_without_anything_known_it_says_so() -> None:
    text = directive(PointGuide("T", "D", goals=["G"]))
    assert "## What You Already Know About This Topic\nNothing yet." in text
    assert "Don't repeat" not in text


def test_what_comes_from_elsewhere_is_to_be_checked() -> None:
    text = directive(PointGuide("T", "D", to_check=["Has a balcony"]))
    assert "Known from other conversations; check that it still holds:\n- Has a balcony" in text


@given(st.text(max_size=200))
def test_what_somebody_said_cannot_become_a_heading(words: str) -> None:
    headings = [line for line in directive(PointGuide("T", "D")).splitlines() if line.startswith("## ")]
    text = directive(PointGuide("T", "D", known=[words], quotes=[words], to_check=[words]))
    assert [line for line in text.split("\n") if line.startswith("## ")] == headings


def test_a_statement_goes_with_the_quote_it_was_taken_from() -> None:
    quotes = ["it hurts in my lower back", "since March"]
    assert assign(["Pain in the lower back", "Began in March"], quotes) == [
        ["Pain in the lower back"],
        ["Began in March"],
    ]
    assert assign(["Unrelated"], quotes) == [["Unrelated"], []]
    assert assign(["Unrelated"], []) == []
    assert assign_data({"since": "March", "place": "lower back"}, quotes) == [
        {"place": "lower back"},
        {"since": "March"},
    ]


@given(st.lists(st.text(max_size=30), max_size=5), st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_no_statement_is_lost_or_doubled(statements: list[str], quotes: list[str]) -> None:
    found = assign(statements, quotes)
    assert len(found) == len(quotes)
    assert sorted(text for texts in found for text in texts) == sorted(statements)


def test_keywords_match_in_any_form() -> None:
    assert keyword_count("I take painkillers and exercised daily.", ["painkiller", "exercise", "yoga"]) == 2
    assert keyword_count("My lower back hurts", ["lower back"]) == 1
    assert keyword_count("back to the lower floor", ["lower back"]) == 0
    assert keyword_count("because of that", ["because", "…"]) == 0
