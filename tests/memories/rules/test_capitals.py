"""Runs of capitalised words: where they begin and end."""

from webapp.memories.rules.capitals import capital_runs, count_small, parts_of


def test_runs_say_whether_they_begin_a_sentence_and_where_they_stand() -> None:
    runs = capital_runs(["Anna met Tom Hill. Then – “Anna”!", "met Tom Hill", "ALL OF IT"])
    assert runs == {
        (True, "Anna"): [0],
        (False, "Tom Hill"): [0, 1],
        (True, "Then"): [0],
        (False, "Anna"): [0],
    }


def test_parts_end_where_something_is_attached_or_a_sentence_ends() -> None:
    assert parts_of("Anna's Porto Club", True) == [(True, ["Anna"]), (False, ["Porto", "Club"])]
    assert parts_of("Dr. Ann Weber", False) == [(False, ["Dr", "Ann", "Weber"])]
    assert parts_of("GP. Takes", False) == [(False, ["GP"]), (True, ["Takes"])]
    assert parts_of("I", True) == []


def test_small_words_are_counted_without_what_surrounds_them() -> None:
    assert count_small(["will (will) Will", '"will" L\'été été'])["will"] == 3
    assert count_small(["L'été été"])["été"] == 1
