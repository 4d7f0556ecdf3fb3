"""What the fake model keeps of what strangers say in their first minutes, by its rules and the engine's."""

import json
from pathlib import Path

import pytest

from fakemodel.tasks import run_task
from fakemodel.tasks.request import TaskRequest
from testkit.memory_extraction import Bench
from webapp.llm.structured import schema_of
from webapp.memories.learning.model_call import SCHEMA_NAME
from webapp.memories.rules.policy import Policy
from webapp.memories.rules.statements import FIELD

CASES = json.loads(Path(__file__).with_name("first_minutes.json").read_text(encoding="utf-8"))


def kept(said: str) -> list[str]:
    bench = Bench(policy=Policy(is_trusted=True))
    call, parts = bench.call([said])
    bench.take(call, run_task(TaskRequest(SCHEMA_NAME, schema_of(parts), list(call.messages)))[FIELD])
    return sorted(memory.content for memory in bench.memories if memory.is_current)


@pytest.mark.parametrize(("said", "noted"), CASES["it_is_noted_in_the_words_of_a_person_in_the_language_it_was_said"])
def test_it_is_noted_in_the_words_of_a_person_in_the_language_it_was_said(said: str, noted: list[str]) -> None:
    assert kept(said) == sorted(noted)


@pytest.mark.parametrize("said", CASES["what_says_nothing_of_them_is_left_alone"])
def test_what_says_nothing_of_them_is_left_alone(said: str) -> None:
    assert kept(said) == []
