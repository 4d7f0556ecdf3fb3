"""Changes in the memories' own words."""

from typing import Any

import pytest

from webapp.memories.showing.change_lines import ChangeLine, MemoryState, label, lines_of, shorten_statement


def change(memory_id: int, before: int | None, after: int | None) -> dict[str, Any]:
    return {"memory_id": memory_id, "before": before, "after": after, "evidence": []}


def states(contents: list[str], waiting: int = 0) -> dict[int, MemoryState]:
    """What memories say now, numbered from 1, of which one may wait."""
    return {number: MemoryState(text, waits=number == waiting) for number, text in enumerate(contents, 1)}


def test_what_was_learned_is_named():
    lines = lines_of([change(1, None, 1), change(2, None, 1)], states(["Lives in Lisbon.", "Allergic to peanuts"]), {})
    assert label(lines) == "Remembered: Lives in Lisbon, Allergic to peanuts"


def test_a_change_quotes_both_and_a_replacement_is_one_line():
    said = {
        (1, 1): {"content": "Ana", "valid_to": None},
        (1, 2): {"content": "Anabela", "valid_to": None},
        (2, 1): {"content": "Lives in Porto", "valid_to": None},
        (2, 2): {"content": "Lives in Porto", "valid_to": "2026-11-22T10:00:00+00:00", "superseded_by_id": 3},
    }
    same = lines_of([change(2, 1, 2), change(3, None, 1)], states(["", "Lives in Porto", "Lives in Porto"]), said)
    assert label(same) == "Changed: Lives in Porto", "another kind, in the same words"
    present = states(["Anabela", "Lives in Porto", "Lives in Faro"])
    lines = lines_of([change(1, 1, 2), change(2, 1, 2), change(3, None, 1)], present, said)
    assert [(line.memory_id, line.kind) for line in lines] == [(1, "changed"), (3, "replaced")]
    assert label(lines) == "Changed: Ana → Anabela, Lives in Porto → Lives in Faro"


def test_what_waits_ends_is_said_again_pinned_or_gone():
    said = {
        (1, 1): {"content": "Likes jazz", "needs_review": True},
        (2, 1): {"content": "Has a cat", "valid_to": None},
        (2, 2): {"content": "Has a cat", "valid_to": "2026-11-22T10:00:00+00:00"},
        (4, 1): {"content": "Runs", "is_pinned": False},
        (4, 2): {"content": "Runs", "is_pinned": True},
    }
    present = states(["Likes jazz", "Has a cat", "Swims", "Runs"], waiting=1)
    changes = [change(1, None, 1), change(2, 1, 2), change(3, 1, 1), change(4, 1, 2), change(5, None, 1)]
    lines = lines_of(changes, present, said)
    assert [line.kind for line in lines] == ["review", "ended", "confirmed", "kept", "gone"]
    assert lines[3].note == "Pinned"
    assert label(lines) == "No longer true: Has a cat · To review: Likes jazz · Pinned: Runs"
    assert label(lines[:1]) == "To review: Likes jazz"
    assert label([ChangeLine(5, "gone")]) == ""
    assert label(lines_of(changes[:1], states(["Likes jazz"]), said)) == "Remembered: Likes jazz", "once it was decided"


@pytest.mark.parametrize(
    ("statement", "short"),
    [
        ("Name is  Ana.", "Name is Ana"),
        ("Mia is her daughter", "Mia is her daughter"),
        ("Lisboa é a cidade dela", "Lisboa é a cidade dela"),
        ("word " * 40, "word word word word word word word word word word word word…"),
    ],
)
def test_statements_as_part_of_a_line(statement, short):
    assert shorten_statement(statement) == short
