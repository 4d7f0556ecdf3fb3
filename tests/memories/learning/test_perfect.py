"""An extractor without mistakes, in many words and languages: nothing it says is lost, merged or put otherwise."""

import pytest

from bench.extraction.memory import Bench
from tests.memories.learning.perfect_cases import CASES, statements


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_rightly_noted_is_kept_as_it_is(case):
    bench = Bench()
    for said, answers in case.sessions:
        call, _ = bench.call(said)
        numbers = {source.content: source.number for source in reversed(call.sources)}
        known = {n: m.content for n, ref in call.numbered.items() for m in bench.memories if m.ref == ref}
        bench.take(call, statements(answers, numbers, known))
    open_ones = [memory for memory in bench.memories if memory.is_open]
    refused = [
        (found.operations[rejection.index].content, rejection.reason.value)
        for _, found, plan in bench.plans
        for rejection in plan.rejections
    ]
    assert sorted(memory.content for memory in open_ones if not memory.needs_review) == sorted(case.then), refused
    assert sorted(memory.content for memory in open_ones if memory.needs_review) == sorted(case.waits)
