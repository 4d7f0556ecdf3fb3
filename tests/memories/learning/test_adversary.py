"""What models get wrong is not remembered wrongly: nothing is turned round, lost, or stored as somebody else's."""

import pytest

from bench.extraction.memory import Bench
from tests.memories.learning.adversary_cases import CASES


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_made_of_what_was_said_holds_to_it(case):
    bench = Bench()
    for said, items in case.sessions:
        call, _ = bench.call(said)
        plan = bench.take(call, [{"confidence": 1.0} | item for item in items])
        _, found, _ = bench.plans[-1]
        assert len(plan.outcomes) == len(found.operations)
    open_ones = [memory for memory in bench.memories if memory.is_open]
    assert [(m.content, m.slot) for m in open_ones if m.is_current] == case.then
    assert [m.content for m in open_ones if m.needs_review] == case.waits
