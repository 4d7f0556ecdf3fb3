"""The fake model's structured answers: by the form of what is sent, and in the forms the product sends."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from fakemodel.tasks import SUMMARY_CHARS, run_task, summary_of
from fakemodel.tasks.request import TaskRequest
from testkit.memory_extraction import apply_effects
from tests.memories.worlds import INSTRUCTIONS
from webapp.llm.structured import Part, schema_of
from webapp.memories.learning import journey_points
from webapp.memories.learning.model_call import SCHEMA_NAME
from webapp.memories.learning.prompt import ConversationLine, OpenPoint, build_extraction
from webapp.memories.rules.decide import decide
from webapp.memories.rules.state import State
from webapp.memories.rules.statements import FIELD, read_statements, statements_schema
from webapp.prompts.transcript import transcript

START = datetime(2026, 11, 21, tzinfo=UTC)


def run(name, *said, system=""):
    turns = [turn for text in said for turn in (("user", text), ("assistant", "I see."))]
    messages = [{"role": "system", "content": system}, {"role": "user", "content": transcript(turns, 8_000)}]
    return run_task(TaskRequest(name, {"properties": {"facts": {}}}, messages))


def extract(texts, memories=(), points=()):
    lines = [
        ConversationLine(i, "assistant" if text.startswith("A:") else "user", text, START + timedelta(minutes=i))
        for i, text in enumerate(texts, 1)
    ]
    call = build_extraction(lines, memories, points=points, instructions=INSTRUCTIONS)
    parts = [Part(FIELD, statements_schema([source.number for source in call.sources], list(call.numbered)))]
    if points:
        parts.append(Part(journey_points.FIELD, journey_points.points_schema()))
    answer = run_task(TaskRequest(SCHEMA_NAME, schema_of(parts), list(call.messages)))
    extraction = read_statements(answer[FIELD])
    assert extraction.malformed == 0
    state = State(call.sources, tuple(memories), call.numbered, context=call.context, is_trusted=True)
    return extraction, state, journey_points.read_points(answer.get(journey_points.FIELD))


def test_the_sentences_it_knows_become_memories_once():
    texts = [
        "Hi! My name is Alex and I live in Porto.",
        "A: Hello Alex! My name is Assistant.",
        "We decided to ship on Friday. I prefer Python. Do I prefer green tea?",
    ]
    extraction, state, _ = extract(texts)
    plan = decide(extraction.operations, state)
    memories = apply_effects((), plan.effects)
    assert sorted(memory.content for memory in memories) == [
        "Decided to ship on Friday",
        "Lives in Porto",
        "Name is Alex",
        "Prefers Python",
    ]
    assert not plan.rejections
    again, state, _ = extract(texts, memories)
    assert decide(again.operations, state).effects == ()


def test_points_are_assessed_by_the_words_they_share():
    points = [OpenPoint("Living situation", "Where the person lives and with whom"), OpenPoint("Money", "Savings")]
    _, _, (assessment,) = extract(["I live with my sister in a small living place"], points=points)
    assert assessment.point_number == 1
    assert assessment.relevant_quotes == ["I live with my sister in a small living place"]


@given(st.lists(st.text(max_size=60) | st.sampled_from(["My name is Alex.", "I prefer ", "Always "])))
def test_any_text_gives_grounded_operations(parts):
    extraction, state, _ = extract(["".join(parts)])
    reasons = {*decide(extraction.operations, state).rejections.values()}
    assert "quote_not_verbatim" not in reasons and "unknown_message" not in reasons


def test_a_summary_has_the_first_sentence_of_each_message_and_is_shorter_than_they_are():
    assert run("conversation_summary", "My boat is Ida. She is long.")["summary"] == "The user said: My boat is Ida."
    told = "I painted boat {n}0, a long one, with the help of friends. It took hours and hours in the yard by the sea."
    turns = [("user", f"(23 November 2026) The user said: {told.format(n=n)}") for n in range(13)]
    summary = summary_of(turns)
    assert all(f"boat {n}0," in summary for n in range(13)) and summary.count("The user said") == 1
    assert len(summary) <= SUMMARY_CHARS + 20
    assert summary_of([("user", "Thanks!"), ("assistant", "Welcome")]) == "2 messages."
