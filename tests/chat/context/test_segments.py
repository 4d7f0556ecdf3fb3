"""A prompt is one list of segments: what is sent of it, and what the account of the reply keeps."""

import pytest
from hypothesis import given

from tests.chat.context.test_builder import inputs, render
from webapp.chat.context.builder import build_context
from webapp.chat.context.segments import Segment, filled_mark
from webapp.chat.context.values import (
    MINIMUM_BUDGET,
    BudgetTooSmall,
    Chunk,
    ContextInput,
    Limits,
    Message,
    RetrievedPassage,
)
from webapp.legacies.fact_list import KnownFact
from webapp.memories.schemas import KnownItem
from webapp.prompts.placeholders import fill, pieces

SECRET = "The vault opens at nine"


def account(**what) -> str:
    """All that is kept of a prompt."""
    source = ContextInput(**{"prompt": "Be kind.", "messages": [Message(8, "user", "When?")], **what})
    context = build_context(source)
    assert SECRET in render(context)
    kept = str(context.record())
    assert SECRET not in kept
    return kept


def test_what_has_a_place_elsewhere_is_named():
    assert "- [[memory 3 revision 2]]\\n" in account(known=[KnownItem(3, SECRET, 2)])
    assert "- [[summary 4]]\\n" in account(chunks=[Chunk(4, SECRET, 1, 2)])
    fact = KnownFact(5, "- [habit] ", SECRET, " (shared), said by Ana", 6, SECRET)
    assert "- [habit] [[memory 5 revision 6]] (shared), said by Ana" in account(
        facts=[fact], facts_heading="Known facts about Joe:"
    )
    assert ">[[memory 7 revision 1]]</item>" in account(retrieved=[RetrievedPassage("memory", 7, SECRET, revision=1)])
    assert 'kind="document">[[document 9]]</item>' in account(retrieved=[RetrievedPassage("document", 9, SECRET)])


def test_the_title_of_another_conversation_is_not_kept():
    kept = account(retrieved=[RetrievedPassage("message", 9, "At nine.", source=SECRET)])
    assert 'kind="message">[[message 9]]</item>' in kept


def test_messages_of_the_conversation_are_named_shortened_ones_too():
    long = f"{SECRET}. " + "More words. " * 4_000
    context = build_context(ContextInput(prompt="P", messages=[Message(1, "user", "Hello"), Message(2, "user", long)]))
    assert SECRET in render(context)
    _, first, last = context.record()
    assert first == {"role": "user", "message_id": 1}
    assert last.pop("shortened_to") > 100
    assert last == {"role": "user", "message_id": 2}


def test_of_a_memory_that_repeats_what_others_say_only_its_own_place_is_masked():
    """Search and replace took the words wherever they stood."""
    context = build_context(ContextInput(prompt="- Be kind\nalways", known=[KnownItem(1, "Be kind")]))
    assert [message["content"] for message in context.record()][0] == "- Be kind\nalways"
    assert "- [[memory 1 revision 1]]\n</known>" in context.record()[1]["content"]


def test_a_placeholder_is_kept_as_it_was_written():
    made = pieces("Know this:\n{{MEMORIES}}\nGo.", blocks={"MEMORIES": [SECRET]})
    prompt = [Segment(text, filled_mark(of) if of else None) for text, of in made]
    assert "Know this:\\n[[filled {{MEMORIES}}]]\\nGo." in account(prompt=prompt)
    assert "[[filled {{MEMORIES}}]]" not in fill("[[filled {{MEMORIES}}]]", blocks={"MEMORIES": ["x"]})


def test_a_directive_is_kept_without_what_was_known():
    assert "Ask about school." in account(directive=f"Ask about school. {SECRET}", directive_record="Ask about school.")


@given(inputs())
def test_sent_and_kept_have_the_same_messages(source):
    context = build_context(source)
    kept = context.record()
    assert [message["role"] for message in kept] == [message["role"] for message in context.messages]
    for stored, real in zip(kept, context.messages, strict=True):
        if "message_id" in stored:
            assert "content" not in stored or real["content"].startswith(stored["content"][:3])


def test_limits_scale_with_the_window():
    small, large = Limits(window=1024), Limits(window=128_000, reply=4096)
    assert small.prompt >= 600 and large.prompt == 128_000 - 4096
    for limits in (small, large):
        sections = sum(limits.of(name) for name in ("instructions", "known", "summaries", "retrieved"))
        assert sections <= limits.prompt * 0.8
    assert large.of("retrieved") == large.retrieved and small.of("retrieved") < large.of("retrieved")


def test_too_small_a_window_is_refused():
    with pytest.raises(BudgetTooSmall):
        Limits(window=MINIMUM_BUDGET)
    with pytest.raises(BudgetTooSmall):
        Limits(window=4096, tools=4000)
