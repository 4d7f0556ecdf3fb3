"""The exam of models that write memories: its labels hold, and an answer gets the marks that it deserves."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from webapp.memories.learning.exam import Marks, Paper, RightStatement, WrongStatement, call_of, mark, papers
from webapp.memories.rules.evidence import find_quote
from webapp.memories.rules.statements import KEYS
from webapp.prompts.catalogue import default_text
from webapp.providers.models import MemoryGrade
from webapp.text.sentences import clauses_of

INSTRUCTIONS = default_text("extraction")


def statement(quote: str, content: str, about: str = "user", **fields: Any) -> dict[str, Any]:
    return {
        "message": 1,
        "quote": quote,
        "about": about,
        "content": content,
        "kind": "fact",
        "confidence": 1.0,
        **fields,
    }


def right_of(known: RightStatement) -> dict[str, Any]:
    """What a careful model says."""
    return statement(known.quote, known.content, known.about[0].value, key=known.key or "none", value=known.value or "")


def wrong_of(trap: WrongStatement) -> dict[str, Any]:
    """What a weak model says."""
    return statement(trap.quote, trap.claim, key=trap.key or "none", value=trap.value or "")


def rights(paper: Paper) -> list[dict[str, Any]]:
    return [right_of(known) for message in paper.messages for known in message.right]


def wrongs(paper: Paper) -> list[dict[str, Any]]:
    return [wrong_of(trap) for message in paper.messages for trap in message.wrong]


def mark_items(paper: Paper, items: list[Any]) -> Marks:
    return mark(paper, call_of(paper, INSTRUCTIONS)[0], items)


def grade(marks: Marks) -> MemoryGrade:
    return MemoryGrade(recall=marks.recall, key_share=marks.key_share, false_share=marks.false_share, cases=marks.wrong)


def whole(answer: Any) -> Marks:
    """The marks of a whole exam in which each paper is answered so."""
    return Marks.total(mark_items(paper, answer(paper)) for paper in papers())


def test_the_exam_is_of_about_forty_messages_in_ten_languages():
    messages = [message for paper in papers() for message in paper.messages]
    assert len({paper.language for paper in papers()}) == 10
    assert len(messages) == sum(len(message.wrong) for message in messages) == 40
    kinds = [trap.why for message in messages for trap in message.wrong]
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(
        ("negation", "wish", "hypothesis", "other", "joke", "question", "pasted", "secret"), 5
    )


def test_its_quotes_stand_in_what_was_typed_and_its_keys_exist():
    for message in (message for paper in papers() for message in paper.messages):
        for known in (*message.right, *message.wrong):
            assert find_quote(known.quote, message.text), known
            assert known.key is None or known.key in KEYS, known


def test_a_careful_model_is_trusted():
    marks = whole(rights)
    assert (marks.recall, marks.key_share, marks.false_share) == (1, 1, 0)
    assert grade(marks).is_trusted


def test_every_trap_is_seen_and_what_is_false_is_not_found():
    marks = whole(wrongs)
    assert marks.inventions == marks.wrong == 40
    assert marks.matches == 0


def test_who_says_everything_verbatim_as_the_users_is_not_trusted():
    def parrot(paper: Paper) -> list[dict[str, Any]]:
        clauses = [
            message.text[span.start : span.end].strip()
            for message in paper.messages
            for span in clauses_of(message.text)
        ]
        return [statement(clause, clause) for clause in clauses]

    marks = whole(parrot)
    assert marks.false_share > 0.4
    assert not grade(marks).is_trusted


def test_who_says_nothing_is_not_trusted():
    assert not grade(whole(lambda _paper: [])).is_trusted


@pytest.mark.parametrize("item", [None, "a line", {}, {"quote": 3}, {"message": 1, "quote": "never said this at all"}])
def test_what_is_malformed_counts_for_nothing(item):
    paper = papers()[0]
    assert mark_items(paper, [item]) == mark_items(paper, [])
    assert mark_items(paper, [item, *rights(paper)]) == mark_items(paper, rights(paper))


def test_one_of_forty_is_forgiven_and_two_are_not():
    first = papers()[0]
    for count, is_trusted in ((1, True), (2, False)):
        marks = whole(lambda paper, n=count: rights(paper) + (wrongs(paper)[:n] if paper is first else []))
        assert marks.inventions == count
        assert grade(marks).is_trusted is is_trusted


@given(st.data())
def test_marks_are_of_what_is_said_in_any_order(data):
    """What is right is found and what is wrong is made, whatever else is said; one statement may say two right ones."""
    paper = data.draw(st.sampled_from(papers()))
    said = data.draw(st.lists(st.sampled_from(rights(paper)), unique_by=lambda item: (item["quote"], item["content"])))
    made = data.draw(st.lists(st.sampled_from(wrongs(paper)), unique_by=lambda item: item["quote"]))
    marks = mark_items(paper, data.draw(st.permutations([*said, *made])))
    assert marks == mark_items(paper, [*said, *made])
    assert marks.inventions == len(made)
    honest = mark_items(paper, said)
    assert len(said) <= marks.matches == honest.matches <= marks.right
    assert honest.inventions == 0
