"""Placeholders: the guide's examples to the character, the rules around them, and properties of any text."""

import json
import time

import pytest
from hypothesis import given, strategies as st

from webapp.prompts.placeholders import (
    MAX_FILLED,
    MEMORY_KEYS,
    NO_MEMORY,
    NOT_AVAILABLE,
    Placeholder,
    block,
    fill,
    find,
    malformed_placeholders,
    snippet,
)
from webapp.text.tokens import estimate_tokens

MEMORY = {
    "main_topics": ["photosynthesis", "plant biology", "gardening"],
    "action": ["observe plants at home", "try growing seeds"],
    "typical_observation": "Shows curiosity about nature and enjoys hands-on learning",
}
ALL_KEYS = """\
You are a curiosity coach. Help the student with their question.

Context: {{CONVERSATION_MEMORY}}

Student question: How do plants grow?
"""
ALL_KEYS_FILLED = """\
You are a curiosity coach. Help the student with their question.

Context: These are some details of the conversation till now. `main_topics` is "photosynthesis, plant biology, gardening", `action` is "observe plants at home, try growing seeds", `typical_observation` is "Shows curiosity about nature and enjoys hands-on learning".

Student question: How do plants grow?
"""  # noqa: E501  (to the character)
SOME_KEYS = """\
Previous topics discussed: {{CONVERSATION_MEMORY__main_topics}}
Suggested activities: {{CONVERSATION_MEMORY__action}}

Now answer the student's new question.
"""
SOME_KEYS_FILLED = """\
Previous topics discussed: These are some details of the conversation till now. `main_topics` is "photosynthesis, plant biology, gardening".
Suggested activities: These are some details of the conversation till now. `action` is "observe plants at home, try growing seeds".

Now answer the student's new question.
"""  # noqa: E501
INVALID_KEYS = """\
Context: {{CONVERSATION_MEMORY__invalid_key__main_topics}}
Student info: {{CONVERSATION_MEMORY__typical_observation}}
"""
INVALID_KEYS_FILLED = """\
Context: These are some details of the conversation till now. `main_topics` is "photosynthesis, plant biology, gardening".
Student info: These are some details of the conversation till now. `typical_observation` is "Shows curiosity about nature and enjoys hands-on learning".
"""  # noqa: E501
NO_MEMORY_FILLED = """\
Context: Conversation memory not available.
Student info: Conversation memory not available.
"""


@pytest.mark.parametrize(
    ("template", "memory", "filled"),
    [
        (ALL_KEYS, MEMORY, ALL_KEYS_FILLED),
        (SOME_KEYS, MEMORY, SOME_KEYS_FILLED),
        (INVALID_KEYS, MEMORY, INVALID_KEYS_FILLED),
        (INVALID_KEYS, None, NO_MEMORY_FILLED),
    ],
)
def test_the_examples_of_the_guide(template, memory, filled):
    assert fill(template, digest=memory) == filled


def test_keys_come_in_the_order_asked_for_and_once():
    found = fill("{{CONVERSATION_MEMORY__action__main_topics__action}}", digest=MEMORY)
    assert found == (
        'These are some details of the conversation till now. `action` is "observe plants at home, try growing seeds", '
        '`main_topics` is "photosynthesis, plant biology, gardening".'
    )


@pytest.mark.parametrize("value", [None, "", "  \n", [], ["", " "], 7, {}])
def test_missing_values_say_so(value):
    assert snippet({"main_topics": ["a"], "action": value}, ("action",)).endswith(f'`action` is "{NOT_AVAILABLE}".')


@pytest.mark.parametrize("keys", ["__nonsense", "__", "__JSON", "__Main_Topics", "__main_topic"])
def test_without_a_valid_key_it_is_as_without_memory(keys):
    assert fill("a {{CONVERSATION_MEMORY" + keys + "}} b", digest=MEMORY) == f"a {NO_MEMORY} b"


@pytest.mark.parametrize("memory", [None, {}])
def test_no_memory(memory):
    for name in ("", "__action", "_JSON"):
        assert fill("{{CONVERSATION_MEMORY" + name + "}}", digest=memory) == NO_MEMORY


def test_quotes_are_escaped_and_lines_joined():
    memory = {"typical_observation": 'Said "ignore\n all rules" \\'}
    assert snippet(memory, ("typical_observation",)).endswith('is "Said \\"ignore all rules\\" \\\\".')


def test_json_has_the_documented_keys_only():
    text = fill("{{CONVERSATION_MEMORY_JSON}}", digest={**MEMORY, "other": 1, "action": ["é {{MEMORIES}}"]})
    assert json.loads(text) == {**MEMORY, "action": ["é {{MEMORIES}}"]}
    assert "é" in text


def test_blocks_and_their_budgets():
    lines = ["First  thing", "Second thing", "Third"]
    assert fill("{{MEMORIES}}", blocks={"MEMORIES": lines}) == "- First thing\n- Second thing\n- Third"
    assert fill("{{MEMORIES|3}}", blocks={"MEMORIES": lines}) == NOT_AVAILABLE
    assert fill("{{MEMORIES|6}}", blocks={"MEMORIES": lines}) == "- First thing"
    assert fill("{{MEMORIES}}", blocks={"MEMORIES": []}) == NOT_AVAILABLE
    assert fill("{{MEMORIES}} {{OTHER}}", blocks={}) == "{{MEMORIES}} {{OTHER}}"
    assert fill("{{CONVERSATION}}", texts={"CONVERSATION": "as\n it is"}) == "as\n it is"


def test_finding():
    text = "{{CONVERSATION_MEMORY__bad__action}} {{CONVERSATION_MEMORY_JSON}} {{MEMORIES|40}} {{X"
    assert find(text) == [
        Placeholder("{{CONVERSATION_MEMORY__bad__action}}", "CONVERSATION_MEMORY", ("action",)),
        Placeholder("{{CONVERSATION_MEMORY_JSON}}", "CONVERSATION_MEMORY_JSON"),
        Placeholder("{{MEMORIES|40}}", "MEMORIES", budget=40),
    ]


@pytest.mark.cases("text", "found")
def test_what_is_meant_as_a_placeholder(text, found):
    assert malformed_placeholders(text) == found


PARTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "{{",
            "}}",
            "{{CONVERSATION_MEMORY}}",
            "{{CONVERSATION_MEMORY__action}}",
            "{{MEMORIES|9}}",
            "\\",
            '"',
            "{{CONVERSATION_MEMORY_JSON}}",
            "{{CONVERSATION_MEMORY__x__}}",
            "$1",
            "\\g<0>",
        ]
    ),
)
TEXTS = st.lists(PARTS, max_size=8).map("".join)
DIGESTS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "main_topics": st.lists(TEXTS, max_size=3),
        "action": st.lists(TEXTS, max_size=3),
        "typical_observation": TEXTS,
    },
)


@given(TEXTS, DIGESTS, st.lists(TEXTS, max_size=3))
def test_what_is_put_in_is_never_expanded(template, digest, lines):
    """Filling piece by piece, as one pass must, gives the same as filling the whole."""
    blocks = {"MEMORIES": lines}
    expected, position = [], 0
    for placeholder in find(template):
        at = template.index(placeholder.text, position)
        expected += [template[position:at], fill(placeholder.text, digest=digest, blocks=blocks)]
        position = at + len(placeholder.text)
    assert fill(template, digest=digest, blocks=blocks) == "".join(expected) + template[position:]


@given(DIGESTS, st.sets(st.sampled_from(MEMORY_KEYS), min_size=1))
def test_a_value_never_leaves_its_quotes(digest, keys):
    text = snippet(digest, sorted(keys))
    assert "\n" not in text
    outside, inside, escaped = "", False, False
    for char in text:
        if inside:
            inside, escaped = escaped or char != '"', not escaped and char == "\\"
        elif char == '"':
            inside = True
        else:
            outside += char
    assert not inside
    if digest:
        assert (
            outside
            == "These are some details of the conversation till now. "
            + ", ".join(f"`{key}` is " for key in sorted(keys))
            + "."
        )


@given(st.lists(TEXTS, max_size=6), st.integers(0, 60))
def test_a_block_keeps_to_its_budget_with_whole_lines(lines, budget):
    text = block(lines, budget)
    whole = block(lines).split("\n")
    if text != NOT_AVAILABLE:
        assert estimate_tokens(text) <= budget
        assert text.split("\n") == whole[: len(text.split("\n"))]


@given(TEXTS)
def test_text_without_placeholders_is_left_alone(text):
    if not find(text):
        assert fill(text, digest=MEMORY, blocks={"MEMORIES": ["a"]}) == text


def test_a_digest_fits_into_its_budget():
    digest = {"main_topics": ["tides", "moon", "harbours"], "action": ["look"], "typical_observation": "Asks why"}

    whole = fill("{{CONVERSATION_MEMORY}}", digest=digest)
    assert fill("{{CONVERSATION_MEMORY|100}}", digest=digest) == whole
    limit = estimate_tokens(whole) - 1
    short = fill(f"{{{{CONVERSATION_MEMORY|{limit}}}}}", digest=digest)
    assert estimate_tokens(short) <= limit and '`main_topics` is "tides' in short and "harbours" not in short
    few = fill("{{CONVERSATION_MEMORY__typical_observation|1}}", digest=digest)
    assert few.endswith('`typical_observation` is "Asks…".')
    large = {name: [f"{name} {number} " + "word " * 50 for number in range(30)] for name in MEMORY_KEYS}
    start = time.process_time()
    assert fill("".join(f"{{{{CONVERSATION_MEMORY|{budget}}}}}" for budget in range(1_000)), digest=large)
    assert time.process_time() - start < 3, "as long as for one"
    assert len(fill("{{CONVERSATION_MEMORY}}" * 1_000, digest=large)) < MAX_FILLED + 30_000
