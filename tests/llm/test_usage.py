"""Models that think before they answer: their hidden tokens are allowed for, and what they think is no answer."""

import json

import pytest

from tests.llm.helpers import ASK
from tests.llm.test_complete import GOOD, Answer
from webapp.llm.errors import CutOffAnswer, MalformedOutput
from webapp.llm.structured import parse_object
from webapp.llm.usage import ROOM, has_thought, is_limit_used_up


def whole(content: str | None, reason: str = "stop", hidden: int = 0, **message: str) -> dict:
    """A completion object."""
    usage = {"prompt_tokens": 10, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": hidden}}
    return {
        "model": "test-background",
        "choices": [{"index": 0, "finish_reason": reason, "message": {"content": content, **message}}],
        "usage": usage,
    }


@pytest.fixture
def limits(server):
    """The limits that were asked for, call by call; the newest rules answer first."""
    found: list[int] = []

    def answers(*payloads: dict) -> list[int]:
        def note(body: dict) -> dict:
            found.append(body.get("max_tokens") or body["max_completion_tokens"])
            return {}

        for payload in reversed(payloads):
            server.script(respond=note, fault={"raw": json.dumps(payload)}, times=1)
        return found

    return answers


@pytest.mark.parametrize(
    "thinking",
    [
        whole("", "length", hidden=100),
        whole(None, "length", reasoning_content="Let me see, the user"),
        whole('<think>I could say {"items": [], "score": 1}', "length"),
    ],
)
def test_one_that_thought_its_limit_away_gets_room_and_keeps_it(completions, limits, thinking):
    asked = limits(thinking, whole(json.dumps(GOOD)), whole(json.dumps(GOOD)))
    parsed, completion = completions.complete_structured(ASK, Answer, "answer", max_tokens=100)
    assert parsed == Answer(**GOOD)
    assert completion.usage.requests == 2 and completion.usage.completion_tokens == 100
    completions.complete_structured(ASK, Answer, "answer", max_tokens=100)
    assert asked == [100, 100 + ROOM, 100 + ROOM]


def test_one_whose_thoughts_left_room_is_not_asked_again(completions, limits):
    asked = limits(whole(json.dumps(GOOD), hidden=40), whole(json.dumps(GOOD)))
    completions.complete_structured(ASK, Answer, "answer", max_tokens=100)
    completions.complete_structured(ASK, Answer, "answer", max_tokens=100)
    assert asked == [100, 100 + ROOM]


def test_with_room_it_is_asked_no_third_time(completions, limits):
    asked = limits(*[whole("", "length", hidden=100)] * 3)
    with pytest.raises(CutOffAnswer):
        completions.complete_structured(ASK, Answer, "answer", max_tokens=100)
    assert asked == [100, 100 + ROOM]


def test_one_that_does_not_think_gets_no_more_than_it_was_given(completions, limits):
    asked = limits(whole('{"items": [', "length"), whole(json.dumps(GOOD)))
    with pytest.raises(CutOffAnswer):
        completions.complete_structured(ASK, Answer, "answer", max_tokens=100)
    completions.complete_structured(ASK, Answer, "answer", max_tokens=100)
    assert asked == [100, 100]


@pytest.mark.parametrize(("opens", "closes"), [("<think>", "</think>"), ("[THINK]", "[/THINK]")])
def test_an_object_in_a_thought_is_no_answer(opens, closes):
    with pytest.raises(MalformedOutput):
        parse_object(f'{opens}perhaps {{"a": 1}}', {"a"})
    assert parse_object(f'{opens}perhaps {{"a": 1}}{closes} {{"a": 2}}', {"a"}) == {"a": 2}


@pytest.mark.parametrize("odd", [None, [], {}, {"choices": []}, {"choices": [None]}, {"usage": [], "choices": {}}])
def test_what_is_no_completion_shows_no_thought(odd):
    assert not has_thought(odd) and not is_limit_used_up(odd)
