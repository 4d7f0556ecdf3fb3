import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemodel.tasks import run_task
from fakemodel.tasks.memory_operations import operations_of
from fakemodel.tasks.request import TaskRequest
from tests.memories.worlds import INSTRUCTIONS
from webapp.llm.structured import Part, schema_of
from webapp.memories.learning import journey_points as guided
from webapp.memories.learning.model_call import SCHEMA_NAME
from webapp.memories.learning.prompt import ConversationLine, OpenPoint, build_extraction
from webapp.memories.rules.decide import decide
from webapp.memories.rules.policy import Policy
from webapp.memories.rules.state import State, apply_effects
from webapp.memories.rules.statements import FIELD, read_statements, statements_schema

CASES = json.loads(Path(__file__).with_name("memory_operations.json").read_text(encoding="utf-8"))

TRUSTED = Policy(is_trusted=True)

START = datetime(2026, 11, 21, tzinfo=UTC)


def facts(text, known=()):
    return {(o["fact_key"], o["fact_value"]) for o in operations_of(1, text, list(known)) if o["action"] == "add"}


def contents(text):
    return [o["content"] for o in operations_of(1, text, []) if o["action"] == "add"]


def test_pets_and_plans_are_noted_as_what_they_are():
    assert contents("My dog Biscuit is a beagle. I'm training for the Porto marathon in April.") == [
        "Dog Biscuit is a beagle",
        "Training for the Porto marathon in April",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Alex", {("identity/name", "Alex")}),
        ("hi, my name's Ana Maria Silva!", {("identity/name", "Ana Maria Silva")}),
        ("Call me Al", {("identity/name", "Al")}),
        ("Please call me Sam from now on", {("identity/preferred_name", "Sam")}),
        ("my name is not Alex, it's Bob", {("identity/name", "Bob")}),
        ("Ich heiße Jörg.", {("identity/name", "Jörg")}),
        ("Je m'appelle Zoé", {("identity/name", "Zoé")}),
        ("我叫小明，很高兴", {("identity/name", "小明")}),
        ("I'm allergic to peanuts", {("health/allergy_peanuts", "peanuts")}),
        (
            "I’m allergic to peanuts, cats and dust 🤧!",
            {
                ("health/allergy_peanuts", "peanuts"),
                ("health/allergy_cats", "cats"),
                ("health/allergy_dust", "dust 🤧"),
            },
        ),
        ("Always answer in French, please.", {("instruction/answer_language", "French")}),
        (
            "I live in Rome and work at ACME since 2010. My birthday is May 3rd",
            {("identity/location", "Rome"), ("work/employer", "ACME"), ("identity/birthday", "May 3rd")},
        ),
        ("My wife's name is Anna, and I have a dog named Rex", {("people/wife_name", "Anna"), ("pet/dog_name", "Rex")}),
        ("I've just moved to Oslo last month", {("identity/location", "Oslo")}),
        ("I'm a software engineer", {("work/job", "a software engineer")}),
        ("Hi, I'm Marta.", {("identity/name", "Marta")}),
        ("I'm Dutch.", set()),
        ("my favourite colour is blue", {("preference/favourite_colour", "blue")}),
        ("I'm vegetarian", {("health/diet", "vegetarian")}),
    ],
)
def test_keyed_facts(text, expected):
    assert facts(text) == expected


@pytest.mark.parametrize(("text", "content", "kind"), CASES["statements_without_a_key"])
def test_statements_without_a_key(text, content, kind):
    (operation,) = operations_of(1, text, [])
    assert (operation["content"], operation["memory_type"], operation["fact_key"]) == (content, kind, None)


@pytest.mark.parametrize(
    ("text", "noted"), CASES["memories_read_as_a_person_would_note_them_in_the_language_they_were_told"]
)
def test_memories_read_as_a_person_would_note_them_in_the_language_they_were_told(text, noted):
    assert contents(text) == [noted]


@pytest.mark.parametrize(
    "text",
    [
        "If my name is Bob, what happens?",
        "what if I were allergic to nuts?",
        "Suppose I live in Rome.",
        "Is my name Alex?",
        "Do you think I prefer tea",
        "Translate to German: my name is Bob. I live in Rome.",
        "Write a story. My name is Bob.",
        "She said my name is Bob",
        '"My name is Bob" is a song',
        "> My name is Bob",
        "```\nmy name is Bob\n```",
        "<documents>My name is Bob</documents> what is this?",
        "call me later",
        "I like that",
        "I'd like a coffee",
        "I wish I lived in Rome",
        "I have a question",
        "my question is how to sort a list",
        "我喜欢什么？",
        "",
        "🎉🎉🎉",
        "i no longer " * 20_000,
        "my name is " * 20_000,
    ],
)
def test_what_is_not_said_of_oneself_is_left_alone(text):
    assert list(operations_of(1, text, [])) == []


@pytest.mark.parametrize(("text", "confidence"), CASES["confidence"])
def test_confidence(text, confidence):
    (operation,) = operations_of(1, text, [])
    assert operation["confidence"] == confidence


KNOWN = CASES["known"]


@pytest.mark.parametrize(("text", "number"), CASES["retractions_name_the_memory_they_take_back"])
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
    state = State(call.sources, tuple(memories), call.numbered, context=call.context)
    return extraction, state, guided.read_points(answer.get(guided.FIELD))


def test_a_newcomer_sees_real_memories():
    texts = [
        "Hi! My name is Alex and I prefer Python.",
        "A: Hello Alex! My name is Assistant and I live in a server.",
        "Call me Al",
        "Actually, my full name is Alexander. We decided to ship on Friday 🚀",
    ]
    extraction, state, _ = extract(texts)
    plan = decide(extraction.operations, state, TRUSTED)
    memories = apply_effects((), plan.effects)
    assert sorted(m.content for m in memories if m.is_current) == [
        "Decided together to ship on Friday 🚀",
        "Name is Alexander",
        "Prefers Python",
    ]
    assert plan.rejections == ()
    again, state, _ = extract(texts, memories)
    assert decide(again.operations, state, TRUSTED).effects == ()


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("I'm a fan of jazz and study at night", {"Fan of jazz", "Studies at night"}),
        ("I have back pain since Monday", {"Has back pain since Monday"}),
        ("My left knee hurts", {"Left knee hurts"}),
        ("Ich liebe meine Frau", {"Liebt seine Frau"}),
        ("Ich habe starke Kopfschmerzen", {"Hat starke Kopfschmerzen"}),
        ("Mir tut das Knie weh", {"Das Knie tut weh"}),
        ("J'adore ma femme", {"Adore sa femme"}),
        ("J'aime mes chats parce que je vis seule", {"Aime ses chats"}),
        ("J'ai mal au dos", {"A mal au dos"}),
        ("Ma jambe me fait mal", {"A mal à la jambe"}),
        ("Me gusta mi trabajo", {"Le gusta su trabajo"}),
        ("Amo a mi mujer", {"Ama a su mujer"}),
        ("Me duele la rodilla", {"Le duele la rodilla"}),
        ("Adoro a minha mulher", {"Adora a sua mulher"}),
        ("Estou com dor nas costas", {"Tem dor nas costas"}),
        ("Adoro mia figlia", {"Adora sua figlia"}),
        ("Sono vegetariana e allergica alle noci", {"È vegetariana", "Allergica alle noci"}),
        ("Ho mal di schiena", {"Ha mal di schiena"}),
        ("我爱我的妻子", {"爱自己的妻子"}),
        ("我背痛", {"背痛"}),
        ("أحب زوجتي", {"يحب زوجته"}),
        ("ظهري يؤلمني", {"ظهره يؤلمه"}),
    ],
)
def test_what_is_told_of_oneself_in_any_language_is_kept_in_the_third_person(text, noted):
    extraction, state, _ = extract([text])
    plan = decide(extraction.operations, state, TRUSTED)
    assert plan.rejections == ()
    assert {memory.content for memory in apply_effects((), plan.effects) if memory.is_current} == noted


@pytest.mark.parametrize(("text", "key", "value"), CASES["a_key_is_kept_with_its_bare_value"])
def test_a_key_is_kept_with_its_bare_value(text, key, value):
    extraction, state, _ = extract([text])
    (memory,) = apply_effects((), decide(extraction.operations, state, TRUSTED).effects)
    assert (memory.fact_key, memory.fact_value) == (key, value)


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
    reasons = {rejection.reason for rejection in decide(extraction.operations, state, TRUSTED).rejections}
    assert "quote_not_verbatim" not in reasons and "unknown_message" not in reasons
