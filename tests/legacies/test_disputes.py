"""Tellings about a person that disagree stand side by side; those that say the same become one."""

from __future__ import annotations

import pytest

from tests.spaces.helpers import converse, fill, make_space
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.legacies.disputes import topic_of
from webapp.legacies.fact_learning import ProposedFact, Vectors, keep_facts, known_facts
from webapp.memories.review.decisions import review_queue
from webapp.memories.schemas import MemoryQuery


@pytest.mark.parametrize(
    ("left", "right", "category"),
    [
        ("Ylva was born in 1921", "She was born on 4 May 1923 in Bergen", "milestone"),
        ("Ylva loved gardening", "Ylva hated gardening", "hobby"),
        ("Ylva enjoyed gardening", "Ylva could not stand gardening", "preference"),
        ("Ylva worked as a nurse", "Ylva was a teacher", "occupation"),
        ("Ylva had three children", "Ylva had two children", "relationship"),
    ],
)
def test_they_disagree(left: str, right: str, category: str) -> None:
    one, other = topic_of(left, category), topic_of(right, category)
    assert one is not None and other is not None
    assert one.name == other.name and one.value != other.value


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Ylva loved gardening", "Ylva enjoyed gardening a great deal"),
        ("Ylva was born in 1921", "born on 4 May 1921"),
        ("She hated cards", "She could not stand cards"),
    ],
)
def test_they_say_the_same(left: str, right: str) -> None:
    assert topic_of(left) == topic_of(right) is not None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Ylva loved gardening", "Ylva hated cards"),
        ("Ylva was born in 1921", "Ylva died in 1999"),
        ("Ylva was a keen gardener", "Ylva was a nurse"),
        ("Ylva loved her garden in Bergen", "Ylva was born in 1921"),
    ],
)
def test_they_have_nothing_to_do_with_each_other(left: str, right: str) -> None:
    one, other = topic_of(left, "hobby"), topic_of(right, "occupation")
    assert one is None or other is None or one.name != other.name


@pytest.fixture
def told(app, client, user):
    """What the user says of Ylva, told to the rules as a summary's call would; what is in use, and what waits."""
    space_id = make_space(client, "Ylva")
    talk = converse(client, space_id)

    def tell(*said: tuple[str, str], worded: str = ""):
        ids = fill(app, talk, *(text for text, _ in said), count=len(said))
        with app.app_context():
            with write_transaction():
                proposed = [
                    ProposedFact(kind, worded or text, text, number) for number, (text, kind) in enumerate(said, 1)
                ]
                keep_facts(user.user_id, space_id, talk, "Ylva", proposed, ids, Vectors())
            listed = client.get(f"/api/ai/legacies/{space_id}/facts").get_json()["facts"]
            waiting = review_queue(user.user_id, MemoryQuery()).items
            assert db.session.get(Message, ids[0]) is not None
            return (
                [fact["content"] for fact in listed],
                [(item.other.content, item.memory.content) for item in waiting if item.other],
                known_facts(user.user_id, space_id),
            )

    return tell


@pytest.mark.parametrize(
    ("first", "second", "category"),
    [
        ("Ylva was born in 1921", "Ylva was born in 1923", "milestone"),
        ("Ylva loved gardening", "Ylva hated gardening", "hobby"),
        ("Ylva worked as a nurse", "Ylva worked as a teacher", "occupation"),
    ],
)
def test_neither_replaces_the_other(told, first: str, second: str, category: str) -> None:
    told((first, category))
    used, waiting, known = told((second, category))
    assert used == [first], "only one of the two is in prompts"
    assert waiting == [(first, second)]
    assert first in known and second not in known


def test_within_one_telling_too(told) -> None:
    used, waiting, _ = told(("Ylva was born in 1921", "milestone"), ("Ylva was born in 1923", "other"))
    assert used == ["Ylva was born in 1921"]
    assert waiting == [("Ylva was born in 1921", "Ylva was born in 1923")]


def test_the_same_in_other_words_is_more_evidence(told, client) -> None:
    told(("Ylva loved gardening", "hobby"))
    used, waiting, _ = told(("Ylva enjoyed gardening a great deal", "hobby"))
    assert (used, waiting) == (["Ylva loved gardening"], [])


def test_what_a_model_that_is_not_trusted_turns_round_is_in_the_users_words(untrusted, told) -> None:
    used, _, _ = told(("Ylva never loved gardening.", "hobby"), worded="Ylva loved gardening")
    assert used == ["Ylva never loved gardening."]
