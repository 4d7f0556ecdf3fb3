"""Answers of the extraction call that were cut off: what is whole counts, the rest is asked for in smaller parts."""

import json

import pytest

from tests.memories.conversing import converse, current, operation
from webapp.memories.learning import extraction

SAID = ("I own a boat called Ida.", "I live in Porto by the sea.", "I play the cello on Sundays.", "I have two cats.")


def asked(model) -> list[str]:
    return [call["messages"][-1]["content"] for call in model.calls() if call["schema"] == "memory_operations"]


@pytest.fixture
def talk(app, user) -> int:
    return converse(app, user.user_id, *SAID)


def test_an_answer_cut_before_it_told_anything_is_split_and_never_repeated(app, user, model, talk):
    model.script(match="memory_operations", reply='{"statements": [{"mess', finish_reason="length")
    with app.app_context():
        result = extraction.extract(talk)
    sizes = [sum('"message":' in line for line in sent.split("\n")) for sent in asked(model)]
    assert sizes == [4, 2, 1, 3, 1, 2, 1, 1], sizes
    assert len(set(asked(model))) == len(sizes)
    assert result.unreadable == 4 and not result.has_more
    with app.app_context():
        assert not extraction.extract(talk).calls  # nothing is owed: the same would come of it again


def test_what_is_whole_counts_and_the_rest_is_read_by_the_next_call(app, user, model, talk):
    whole = json.dumps({"statements": [operation(SAID[0], "Owns a boat called Ida", message_number=1)]})
    rest = [operation(SAID[n], SAID[n].replace("I ", "").rstrip("."), message_number=n) for n in (1, 2, 3)]
    model.script(match="memory_operations", structured={"statements": rest, "title": "Sea"}, times=1)
    model.script(
        match="memory_operations", reply=f'{whole[:-2]}, {{"message": 2, "quo', finish_reason="length", times=1
    )
    with app.app_context():
        result = extraction.extract(talk)
    assert len(asked(model)) == 2 and not result.has_more
    assert "Owns a boat called Ida" in current(app, user.user_id)
