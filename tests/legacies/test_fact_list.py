"""What is known of a person is numbered in the prompt; what disagrees with it stands beside it."""

import pytest
from hypothesis import given, strategies as st

from tests.spaces.helpers import converse, fill, make_space
from webapp.conversations.models import Conversation
from webapp.db.base import db, write_transaction
from webapp.legacies.extraction_prompt import LegacyFact
from webapp.legacies.fact_learning import keep_facts, subject_of
from webapp.legacies.fact_list import MAX_SHOWN, list_known
from webapp.memories.review.decisions import review_queue
from webapp.memories.schemas import MemoryQuery
from webapp.memories.store.writing import Vectors


@given(st.dictionaries(st.integers(1, 10**6), st.text(min_size=1), max_size=80))
def test_the_newest_facts_are_numbered_each_on_a_line_that_closes_nothing(facts):
    known = list_known(facts)
    assert list(known.numbered.values()) == list(facts)[:MAX_SHOWN]
    if facts:
        block = known.text.partition("<known_facts>")[2]
        assert block.count("<") == 1 and block.endswith("\n</known_facts>")
        assert [line.partition(".")[0] for line in block.split("\n")[1:-1]] == [str(n) for n in known.numbered]


@pytest.fixture
def statements(app, client, user):
    """What the user says of Ylva, told to the rules as a summary's call would; what is in use, and what waits."""
    space_id = make_space(client, "Ylva")
    talk = converse(client, space_id)

    def tell(text: str, kind: str, worded: str = "", contradicts: int | None = None):
        ids = fill(app, talk, text, count=1)
        with app.app_context():
            with write_transaction():
                subject, content = subject_of(db.session.get(Conversation, talk)), worded or text
                found = LegacyFact(category=kind, content=content, quote=text, message=1, contradicts=contradicts)
                keep_facts(talk, subject, [found], ids, Vectors())
            listed = client.get(f"/api/ai/legacies/{space_id}/facts").get_json()["facts"]
            waiting = review_queue(user.user_id, MemoryQuery()).items
            return (
                [fact["content"] for fact in listed],
                [(item.other.content, item.memory.content) for item in waiting if item.other],
                subject_of(db.session.get(Conversation, talk)).facts.text,
            )

    return tell


@pytest.mark.cases("first", "second", "category")
def test_neither_replaces_the_other(statements, first, second, category):
    statements(first, category)
    used, waiting, known = statements(second, category, contradicts=1)
    assert used == [first], "only one of the two is in prompts"
    assert waiting == [(first, second)]
    assert f"1. {first}" in known and second not in known


def test_a_number_that_was_not_given_contradicts_nothing(statements):
    statements("Ylva was born in 1921", "milestone")
    said = ["Ylva was born in 1921"]
    for number, text in ((None, "Ylva kept bees"), (0, "Ylva sang"), (7, "Ylva sailed"), (-1, "Ylva painted")):
        said.append(text)
        used, waiting, _ = statements(text, "hobby", contradicts=number)
        assert (used, waiting) == (said, []), number


def test_what_a_model_that_is_not_trusted_turns_round_is_in_the_users_words(untrusted_model, statements):
    used, _, _ = statements("Ylva never loved gardening.", "hobby", worded="Ylva loved gardening")
    assert used == ["Ylva never loved gardening."]
