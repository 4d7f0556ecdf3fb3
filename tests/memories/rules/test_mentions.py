"""Names in memories: in scripts with capitals and without, and what only looks like a name."""

import random

import pytest

from webapp.memories.rules.capitals import capital_runs, count_small, parts_of
from webapp.memories.rules.mentions import Note, names_of

CALENDAR = frozenset({"may", "june", "thursday", "sunday"})


def name_counts(*texts: str, things: bool = False) -> dict[str, int]:
    """The names in notes of one kind, each with how many mention it."""
    notes = [Note(number, text, things) for number, text in enumerate(texts)]
    return {name.label: len(name.memory_ids) for name in names_of(notes, CALENDAR)}


@pytest.mark.cases("text", "names")
def test_names_are_capitals_within_sentences(text, names):
    assert sorted(name_counts(text)) == names


def test_a_first_word_is_a_name_if_it_is_one_elsewhere():
    assert name_counts("Anna is a nurse", "Works with Anna", "Likes tea") == {"Anna": 2}
    assert name_counts("Anna Lima is a nurse", "Works with Anna Lima") == {"Anna Lima": 2}
    assert name_counts("Visited Rome", "Was never in Rome, visited Bari") == {"Rome": 2, "Bari": 1}, (
        "visited is written small"
    )
    assert name_counts("Will is a friend", "Lunch with Will", "They will see", "it will rain") == {}, (
        "more often written small"
    )


def test_what_begins_several_notes_about_things_and_no_other_is_one():
    assert name_counts("Rex is a dog", "Rex is twelve", things=True) == {"Rex": 2}
    assert name_counts("Rex is a dog", things=True) == {}
    assert name_counts("Rex is a dog", "Rex is twelve") == {}
    notes = [Note(1, "Has a dog", True), Note(2, "Has a cat", True), Note(3, "Has a car")]
    assert names_of(notes) == []


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (("سارة أخته", "سارة، طبيبة في دبي"), "سارة"),
        (("הבן איתי בן 5", "הבן לא ישן"), "הבן"),
        (("पापा को शुगर है", "पापा को इंसुलिन लगती है"), "पापा"),
        (("太郎は医者", "太郎の犬"), "太郎"),
        (("보리는 강아지", "보리가 아프다"), "보리"),
        (("ลูกสาวอายุ 6 ขวบ", "ลูกสาวกลัวน้ำมาก"), "ลูกสาว"),
    ],
)
def test_scripts_without_capitals_have_names_too(texts, name):
    assert name_counts(*texts, things=True) == {name: 2}
    assert name_counts(*texts) == {}
    notes = [Note(number, text, True) for number, text in enumerate(texts)]
    [found] = names_of([*notes, Note(9, f"1 {name} 2"), Note(10, "x")])
    assert found.memory_ids == (0, 1, 9), "wherever it stands"


def test_a_name_in_a_script_with_spaces_is_a_whole_word():
    notes = [Note(1, "علي صديق", True), Note(2, "علي طبيب", True), Note(3, "عليه دين"), Note(4, "يعرف علي، منذ سنة")]
    assert [name.memory_ids for name in names_of(notes)] == [(1, 2, 4)]


def test_values_of_some_facts_are_names_and_ones_own_is_not():
    notes = [
        Note(1, "im living in bristol", False, "identity/location", "bristol"),
        Note(2, "Has a flat in Bristol"),
        Note(3, "גרה בחיפה", False, "identity/origin", "חיפה"),
        Note(4, "Rex is a dog", True, "pet/name", "Rex"),
        Note(5, "Is called Priya Shah", False, "identity/name", "Priya Shah"),
        Note(6, "Likes it when Priya is written right, like Anna Shah does"),
        Note(7, "eats no meat", False, "health/diet", "vegan"),
        Note(8, "Moved", False, "work/employer", "Bosch GmbH, Halle 7"),
    ]
    found = {name.label: name.memory_ids for name in names_of(notes)}
    assert found == {"Bristol": (1, 2), "חיפה": (3,), "Rex": (4,), "Anna Shah": (6,), "Bosch GmbH": (8,)}


def test_a_longer_name_counts_as_the_one_that_stands_alone():
    assert name_counts("Met Anna", "Met Anna Lima", "Met Tom") == {"Anna": 2, "Tom": 1}
    assert name_counts("Met Anna", "Met Anna Lima", "Met Anna Costa") == {"Anna": 1, "Anna Lima": 1, "Anna Costa": 1}
    assert name_counts("Moved to Porto", "In the Porto Chess Club") == {"Porto": 2, "Porto Chess Club": 1}


def test_days_and_months_name_nobody_unless_one_begins_what_is_about_somebody():
    assert name_counts("Met Tom on a Thursday in May", "Sings on Thursdays", "Free since June") == {"Tom": 1}
    notes = [Note(1, "June is my daughter", True), Note(2, "Plays with June")]
    assert [(name.key, name.memory_ids) for name in names_of(notes, CALENDAR)] == [("june", (1, 2))]


def test_the_same_notes_have_the_same_names_and_odd_ones_none():
    texts = [f"Met {one} and {other}" for one in ("Anna", "Élise", "Tom") for other in ("Rex", "Elise", "Bo")]
    notes = [Note(number, text) for number, text in enumerate(texts)]
    found = names_of(notes)
    assert found == names_of(list(notes))
    assert found[0].key == "elise", "with and without the accent, it is the most frequent"
    assert name_counts() == name_counts("", " ", "-", "…", "' '", "A", "'A", "A'", "-A-", "A. B.", "\u0301A") == {}
    maker = random.Random(5)
    for _ in range(300):
        names_of([Note(1, "".join(maker.choices("Aa'’-. (É太서عπΔǅ1\u0301", k=12)), True, "x/y", "É太 'A,b")])


def test_runs_say_whether_they_begin_a_sentence_and_where_they_stand():
    runs = capital_runs(["Anna met Tom Hill. Then – “Anna”!", "met Tom Hill", "ALL OF IT"])
    assert runs == {(True, "Anna"): [0], (False, "Tom Hill"): [0, 1], (True, "Then"): [0], (False, "Anna"): [0]}


def test_parts_end_where_something_is_attached_or_a_sentence_ends():
    assert parts_of("Anna's Porto Club", True) == [(True, ["Anna"]), (False, ["Porto", "Club"])]
    assert parts_of("Dr. Ann Weber", False) == [(False, ["Dr", "Ann", "Weber"])]
    assert parts_of("GP. Takes", False) == [(False, ["GP"]), (True, ["Takes"])]
    assert parts_of("I", True) == []


def test_small_words_are_counted_without_what_surrounds_them():
    assert count_small(["will (will) Will", '"will" L\'été été'])["will"] == 3
    assert count_small(["L'été été"])["été"] == 1
