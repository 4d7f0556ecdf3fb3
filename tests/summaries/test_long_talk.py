"""A long conversation by HTTP, with the jobs of every turn; `python -m bench long` does the same with 1,000 turns."""

import pytest

from testkit.counting import Counting
from testkit.long_talk import hold, mean, recall


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_was_told_early_is_found_and_a_turn_costs_no_more_than_before(app, client, monkeypatch) -> None:
    counting = Counting(app.extensions["completions"])
    monkeypatch.setitem(app.extensions, "completions", counting)
    turns = list(hold(app, client, counting, turns=48, every=3))
    found = list(recall(app, client, counting))
    assert all(turn.tokens <= turn.budget for turn in [*turns, *(turn for _, turn in found)])
    assert {item.fact.asked: item.kinds for item, _ in found if not item.kinds} == {}
    assert mean(turns, lambda turn: turn.calls) <= 2, "the reply, and one call in the background"
    assert mean(turns[-16:], lambda turn: turn.used) <= 2 * mean(turns[16:32], lambda turn: turn.used)
