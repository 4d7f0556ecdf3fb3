"""The second question to a weak model: what is asked, and what its answer drops."""

import json

import pytest

from bench.extraction.twice import question, rejections, sentences_of, without
from testkit.memory_extraction import SimulatedUser

SAID = "I live in Ghent. I'm tired today, and my colleague Otto hates kelp. Should I buy a boat?"


def statement(quote: str, about: str = "user", **fields: object) -> dict[str, object]:
    return {"message": 1, "quote": quote, "about": about, "content": quote, **fields}


def test_sentences_are_asked_about_that_would_become_memories():
    call, _ = SimulatedUser().call([SAID])
    items = [
        statement("I live in Ghent"),
        statement("Otto hates kelp", "somebody_else"),
        statement("I'm tired today"),
        statement("buy a boat"),
        statement("never said so"),
        statement("I live in Ghent", action="retract", memory=1),
        None,
    ]
    sentences = sentences_of(call, items)
    assert sentences == {0: "I live in Ghent.", 2: "I'm tired today, and my colleague Otto hates kelp."}
    assert without(items, sentences, {sentences[2]}) == [*items[:2], *items[3:]]


def test_each_sentence_has_a_number_and_an_answer():
    messages, schema = question(["One.", "Two.\n{}"])
    rows = [json.loads(line) for line in messages[-1]["content"].split("\n")]
    assert rows == [{"sentence": 1, "text": "One."}, {"sentence": 2, "text": "Two.\n{}"}]
    assert schema["required"] == ["1", "2"]


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        ('{"1": {"theirs": "yes", "lasts": "yes"}, "2": {"theirs": "yes", "lasts": "no"}}', {"Two."}),
        ('{"1": {"theirs": "no", "lasts": "yes"}, "2": {"theirs": "yes", "lasts": "yes"}}', {"One."}),
        ('{"1": "no", "2": null, "3": {"theirs": "no"}}', set()),
        ("I cannot say.", set()),
    ],
)
def test_only_a_clear_no_drops_a_sentence(answer, gone):
    assert rejections(answer, ["One.", "Two."]) == gone
