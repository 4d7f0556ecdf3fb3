"""What the fake model takes from what people say of themselves: what tests and benchmarks lean on, by kind of rule."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemodel.tasks import run_task
from fakemodel.tasks.memory_operations import operations_of
from fakemodel.tasks.request import TaskRequest
from testkit.memory_extraction import apply_effects
from tests.memories.worlds import INSTRUCTIONS
from webapp.llm.structured import Part, schema_of
from webapp.memories.learning import journey_points as guided
from webapp.memories.learning.model_call import SCHEMA_NAME
from webapp.memories.learning.prompt import ConversationLine, OpenPoint, build_extraction
from webapp.memories.rules.decide import decide
from webapp.memories.rules.state import State
from webapp.memories.rules.statements import FIELD, read_statements, statements_schema

START = datetime(2026, 11, 21, tzinfo=UTC)


def facts(text, known=()):
    return {(o["fact_key"], o["fact_value"]) for o in operations_of(1, text, list(known)) if o["action"] == "add"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Alex", {("identity/name", "Alex")}),
        ("Please call me Sam from now on", {("identity/preferred_name", "Sam")}),
        ("my name is not Alex, it's Bob", {("identity/name", "Bob")}),
        ("我叫小明，很高兴", {("identity/name", "小明")}),
        (
            "I’m allergic to peanuts and dust 🤧!",
            {("health/allergy_peanuts", "peanuts"), ("health/allergy_dust", "dust 🤧")},
        ),
        ("Always answer in French, please.", {("instruction/answer_language", "French")}),
        (
            "I live in Rome and work at ACME since 2010. My birthday is May 3rd",
            {("identity/location", "Rome"), ("work/employer", "ACME"), ("identity/birthday", "May 3rd")},
        ),
        ("My wife's name is Anna, and I have a dog named Rex", {("people/wife_name", "Anna"), ("pet/dog_name", "Rex")}),
        ("I'm Dutch.", set()),
        ("my favourite colour is blue", {("preference/favourite_colour", "blue")}),
    ],
)
def test_keyed_facts(text, expected):
    assert facts(text) == expected


@pytest.mark.parametrize(
    ("text", "content", "kind"),
    [
        ("I prefer Python over Java.", "Prefers Python over Java", "preference"),
        ("I don't like long answers", "Does not like long answers", "preference"),
        ("Never use emoji!", "Never use emoji", "preference"),
        ("We decided to use Postgres", "Decided together to use Postgres", "decision"),
        ("My project Apollo uses Rust", "Project Apollo uses Rust", "project"),
    ],
)
def test_statements_without_a_key(text, content, kind):
    (operation,) = operations_of(1, text, [])
    assert (operation["content"], operation["memory_type"], operation["fact_key"]) == (content, kind, None)


@pytest.mark.parametrize(
    "text",
    [
        "If my name is Bob, what happens?",
        "Is my name Alex?",
        "Translate to German: my name is Bob. I live in Rome.",
        "She said my name is Bob",
        "> My name is Bob",
        "<documents>My name is Bob</documents> what is this?",
        "I wish I lived in Rome",
        "I have a question",
        "",
        "i no longer " * 20_000,
    ],
)
def test_what_is_not_said_of_oneself_is_left_alone(text):
    assert list(operations_of(1, text, [])) == []


KNOWN = [
    {"memory": 1, "type": "fact", "key": "identity/location", "value": "Rome", "text": "The user lives in Rome."},
    {"memory": 3, "type": "preference", "text": "The user loves green tea."},
]


@pytest.mark.parametrize(
    ("text", "number"),
    [("I no longer live in Rome", 1), ("Forget that I love green tea", 3), ("I no longer live in Paris", None)],
)
def test_retractions_name_the_memory_they_take_back(text, number):
    taken_back = [o["memory_number"] for o in operations_of(1, text, KNOWN) if o["action"] == "retract"]
    assert taken_back == ([number] if number else [])


def test_moving_takes_back_and_adds():
    operations = list(operations_of(1, "I no longer live in Rome but in Oslo", KNOWN))
    assert [(o["action"], o["memory_number"]) for o in operations] == [("retract", 1), ("add", None)]
    assert operations[1]["fact_value"] == "Oslo"


def extract(texts, memories=(), points=()):
    lines = [
        ConversationLine(i, "assistant" if text.startswith("A:") else "user", text, START + timedelta(minutes=i))
        for i, text in enumerate(texts, 1)
    ]
    call = build_extraction(lines, memories, points=points, instructions=INSTRUCTIONS)
    parts = [Part(FIELD, statements_schema([source.number for source in call.sources], list(call.numbered)))]
    if points:
        parts.append(Part(guided.FIELD, guided.points_schema()))
    answer = run_task(TaskRequest(SCHEMA_NAME, schema_of(parts), list(call.messages)))
    extraction = read_statements(answer[FIELD])
    assert extraction.malformed == 0
    state = State(call.sources, tuple(memories), call.numbered, context=call.context, is_trusted=True)
    return extraction, state, guided.read_points(answer.get(guided.FIELD))


def test_a_newcomer_sees_real_memories():
    texts = [
        "Hi! My name is Alex and I prefer Python.",
        "A: Hello Alex! My name is Assistant and I live in a server.",
        "Call me Al",
        "Actually, my full name is Alexander. We decided to ship on Friday 🚀",
    ]
    extraction, state, _ = extract(texts)
    plan = decide(extraction.operations, state)
    memories = apply_effects((), plan.effects)
    assert sorted(m.content for m in memories if m.is_current) == [
        "Decided together to ship on Friday 🚀",
        "Name is Alexander",
        "Prefers Python",
    ]
    assert not plan.rejections
    again, state, _ = extract(texts, memories)
    assert decide(again.operations, state).effects == ()


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("I'm a fan of jazz and study at night", {"Fan of jazz", "Studies at night"}),
        ("Ich liebe meine Frau", {"Liebt seine Frau"}),
        ("Ma jambe me fait mal", {"A mal à la jambe"}),
        ("Amo a mi mujer", {"Ama a su mujer"}),
        ("Estou com dor nas costas", {"Tem dor nas costas"}),
        ("我背痛", {"背痛"}),
        ("أحب زوجتي", {"يحب زوجته"}),
    ],
)
def test_what_is_told_of_oneself_in_any_language_is_kept_in_the_third_person(text, noted):
    extraction, state, _ = extract([text])
    plan = decide(extraction.operations, state)
    assert not plan.rejections
    assert {memory.content for memory in apply_effects((), plan.effects) if memory.is_current} == noted


def test_open_points_are_assessed_when_the_schema_asks():
    points = [OpenPoint("Living situation", "Where the person lives and with whom"), OpenPoint("Money", "Savings")]
    _, _, (assessment,) = extract(["I live with my sister in a small living place"], points=points)
    assert assessment.point_number == 1
    assert assessment.relevant_quotes == ["I live with my sister in a small living place"]
    assert extract(["hi"])[2] == ()


@settings(deadline=None)
@given(
    st.lists(
        st.text(max_size=60) | st.sampled_from(["My name is Alex.", "I'm allergic to ", "I prefer ", "no longer "])
    )
)
def test_any_text_gives_grounded_operations(parts):
    extraction, state, _ = extract(["".join(parts)])
    reasons = {*decide(extraction.operations, state).rejections.values()}
    assert "quote_not_verbatim" not in reasons and "unknown_message" not in reasons
