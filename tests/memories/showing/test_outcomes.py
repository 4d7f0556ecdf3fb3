"""Nothing is decided silently: every operation of an extraction is told by a line, or counted as not kept."""

import re
from typing import Any

from hypothesis import given, settings

from testkit.memory_extraction import apply_effects
from testkit.people import post_form
from tests.memories.conversing import answers, converse, memories_of, operation, say
from tests.memories.worlds import batches, worlds
from webapp.memories.rules.check import Refusal
from webapp.memories.rules.decide import decide
from webapp.memories.rules.state import Close, KnownMemory, State
from webapp.memories.rules.working_copy import Plan
from webapp.memories.showing.change_lines import ChangeLine, MemoryState, label, lines_of
from webapp.memories.showing.texts import refusal_summary

HTMX = {"HX-Request": "true"}


def snapshot(memory: KnownMemory) -> dict[str, Any]:
    """As a revision keeps it."""
    return {
        "content": memory.content,
        "fact_value": memory.fact_value,
        "needs_review": memory.needs_review,
        "valid_to": memory.valid_to.isoformat() if memory.valid_to else None,
        "superseded_by_id": memory.superseded_by,
    }


def change_lines(state: State, plan: Plan) -> list[ChangeLine]:
    """The lines of a plan, as its change set would be shown."""
    before = {memory.ref: memory for memory in state.memories}
    after = {memory.ref: memory for memory in apply_effects(state.memories, plan.effects)}
    ended = {effect.ref for effect in plan.effects if isinstance(effect, Close)}
    changes, said = [], {}
    for ref in dict.fromkeys(effect.ref for effect in plan.effects):
        old, new = before.get(ref), after[ref]
        only_evidence = old is not None and snapshot(old) == snapshot(new)
        changes.append(
            {
                "memory_id": ref,
                "before": 1 if old else None,
                "after": 1 if only_evidence or (not old and ref not in ended) else 2,
                "evidence": [1] if len(new.evidence) > len(old.evidence if old else ()) else [],
            }
        )
        if old:
            said[ref, 1] = snapshot(old)
        said[ref, changes[-1]["after"]] = snapshot(new)
    states = {
        ref: MemoryState(memory.content, is_closed=not memory.is_open, waits=memory.needs_review)
        for ref, memory in after.items()
    }
    return lines_of(changes, states, said)


@settings(max_examples=150)
@given(worlds(), batches)
def test_every_operation_has_a_line_or_is_counted_as_not_kept(state, batch):
    plan = decide(batch, state)
    lines = change_lines(state, plan)
    by_id = {line.memory_id: line for line in lines}
    after = {memory.ref: memory for memory in apply_effects(state.memories, plan.effects)}
    for effect in plan.effects:
        ref = effect.ref
        while ref not in by_id:  # one that was replaced by a later one of the same answer is told in that one's line
            ref = after[ref].superseded_by
        assert by_id[ref].text
        if by_id[ref].kind == "added":
            assert by_id[ref].text == after[ref].content
    number = len(plan.rejections)
    assert sum(plan.reasons.values()) == number == plan.counts["rejected"]
    assert bool(refusal_summary(plan.reasons)) is bool(number)
    assert bool(label(lines)) is bool(plan.effects)
    assert len(by_id) == len(lines)


def test_every_reason_has_words():
    for reason in Refusal:
        assert "nothing to remember" not in refusal_summary({reason.value: 1})
    assert refusal_summary({"secret": 1}) == "Not kept: a password, key or number that nobody should keep"
    assert refusal_summary({"already_known": 2, "question": 1}) == "Not kept: already known (2), only asked"
    assert refusal_summary({}) == ""


def porto(quote: str, value: str, confidence: float) -> dict:
    return operation(quote, f"Lives in {value}", fact_key="location", fact_value=value, confidence=confidence)


def test_what_was_not_taken_is_said_and_can_be_used_after_all(app, client, user, model, browser):
    talk = converse(app, user.user_id, "I live in Porto")
    answers(model, porto("I live in Porto", "Porto", 1.0))
    client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    (message_id,) = say(app, talk, "I live in Faro, more or less")
    answers(model, porto("I live in Faro", "Faro", 0.5))
    result = client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True}).json
    assert result["counts"]["overruled"] == 1

    page = browser.get(f"/c/{talk}").text
    assert "Kept: Lives in Porto, did not use Lives in Faro (less certain)" in page
    change = browser.get(f"/memories/changes/{result['change_set']['change_set_id']}", headers=HTMX).text
    assert "did not use" in change and "Use this one" in change
    kept, heard = memories_of(app, user.user_id)
    history = browser.get(f"/memories/{kept.memory_id}/history", headers=HTMX).text
    assert "not saved: contradicted" in history and "true until" not in history

    place = re.search(r'hx-post="(/memories/\d+/review)"', change)[1]
    assert place == f"/memories/{heard.memory_id}/review"
    used = post_form(browser, place, headers=HTMX, decision="replace", place="change").text
    assert "Now in use:" in used and "Lives in Faro" in used
    kept, heard = memories_of(app, user.user_id)
    assert heard.valid_to is None and kept.valid_to is not None and kept.superseded_by_id == heard.memory_id
    again = browser.get(f"/memories/changes/{result['change_set']['change_set_id']}", headers=HTMX).text
    assert "Use this one" not in again
    # And that can be undone as anything else.
    latest = client.get("/api/memories/changes").json["changes"][0]
    assert latest["counts"] == {"updated": 1, "superseded": 1}
    assert client.post(f"/api/memories/changes/{latest['change_set_id']}/undo").status_code == 200
    kept, heard = memories_of(app, user.user_id)
    assert kept.valid_to is None and heard.valid_to is not None


def test_a_secret_that_was_not_kept_is_said_under_the_reply(app, client, user, model, login):
    talk = converse(app, user.user_id, "My password is hunter2-and-more, my card is 4111 1111 1111 1111")
    card = operation("my card is 4111 1111 1111 1111", "Card is 4111 1111 1111 1111.")
    answers(model, operation("My password is hunter2-and-more"), card)
    client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    page = login(user).get(f"/c/{talk}").text
    assert "a password, key or number that nobody should keep" in page
    assert memories_of(app, user.user_id) == []
