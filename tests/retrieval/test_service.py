"""Retrieval over the real tables: what is found, by words and by meaning, and what never is."""

import pytest

from tests.spaces.helpers import add_fact, join, make_space
from tests.support.queries import count_queries
from webapp.chat.context.assembly import assemble
from webapp.conversations import messages
from webapp.conversations.models import Conversation
from webapp.db.base import db, write_transaction
from webapp.memories.schemas import MemoryChanges, MemoryFields
from webapp.memories.service import create_memory, update_memory
from webapp.memories.store import forgetting
from webapp.retrieval.cache import IndexCache, index_cache
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.lookup import Question, phrases_of, retrieve, scope_of
from webapp.retrieval.service import search

OSLO = [("user", "I am planning a trip to Oslo in June"), ("assistant", "Oslo is lovely in June.")]


def keys(result):
    return [(item.kind, item.id) for item in result.items]


def remember(user_id: int, content: str, **fields) -> int:
    with write_transaction():
        return create_memory(user_id, MemoryFields(memory_type="fact", content=content, **fields)).memory_id


def test_messages_are_found_at_once_by_words_and_after_the_job_by_meaning(app, user, tell, run_jobs):
    talk = tell(user, OSLO)
    with app.app_context():
        found = search(user.user_id, "oslo trip")
        assert ("message", talk.ids[0]) in keys(found)
        assert "meaning" not in found.items[0].reason
        db.session.remove()
        run_jobs()
        found = search(user.user_id, "holiday in Norway's capital")
        assert found.with_meaning and found.items[0].key == ("message", talk.ids[0])
        assert found.items[0].reason == "meaning"


def test_a_forgotten_memory_is_never_found_by_any_process(app, user, run_jobs):
    with app.app_context():
        kept = remember(user.user_id, "My cat is called Luna")
        gone = remember(user.user_id, "My safe word is heliotrope")
        run_jobs()
        other = IndexCache(app, 2**20)
        first, second = index_cache().get(user.user_id, 5), other.get(user.user_id, 5)
        assert ("memory", gone) in first.index and ("memory", gone) in second.index
        with write_transaction():
            forgetting.forget(user.user_id, [gone])
        # Before any index has heard of it: by id it is gone.
        assert ("memory", gone) in first.index
        assert ("memory", gone) not in keys(search(user.user_id, "heliotrope safe word"))
        for cache in (index_cache(), other):
            index = cache.get(user.user_id, 5).index
            assert ("memory", gone) not in index and ("memory", kept) in index


def test_a_changed_memory_is_found_as_it_is(app, user, run_jobs):
    with app.app_context():
        memory_id = remember(user.user_id, "My bicycle is red")
        run_jobs()
        assert ("memory", memory_id) in keys(search(user.user_id, "bicycle red"))
        for change in ({"content": "My bicycle is blue"}, {"is_archived": True}):
            with write_transaction():
                update_memory(user.user_id, memory_id, MemoryChanges(**change))
            found = {item.key: item.content for item in search(user.user_id, "bicycle").items}
            assert found.get(("memory", memory_id)) == change.get("content")


def test_switches_and_scope(app, user, make_user, tell):
    stranger = make_user()
    mine, theirs = tell(user, OSLO), tell(stranger, OSLO)
    hidden = tell(user, [("user", "Oslo secret"), ("assistant", "Oslo noted")], is_temporary=True)
    with app.app_context():
        memory_id = remember(user.user_id, "The user wants to see Oslo")
        found = keys(retrieve(Question(user.user_id, "my Oslo trip"), 5))
        assert ("message", mine.ids[0]) in found and ("memory", memory_id) in found
        assert not {("message", number) for number in theirs.ids + hidden.ids} & set(found)
        found = keys(retrieve(Question(user.user_id, "my Oslo trip", memories=False), 5))
        assert ("memory", memory_id) not in found and ("message", mine.ids[0]) in found
        found = keys(retrieve(Question(user.user_id, "my Oslo trip", other_conversations=False), 5))
        assert found == [("memory", memory_id)]
        here = Question(user.user_id, "my Oslo trip", conversation_id=mine.conversation_id, verbatim_from=mine.ids[1])
        found = keys(retrieve(here, 5))
        assert ("message", mine.ids[0]) in found and ("message", mine.ids[1]) not in found
        assert keys(retrieve(Question(user.user_id, "How are you?"), 5)) == []
        assert keys(retrieve(Question(user.user_id, "quantum chromodynamics"), 5)) == []


def test_what_fits_no_longer_is_looked_up_in_its_own_conversation(app, user, tell):
    filler = [("assistant", "Soil, again. " * 1_500), ("user", "Go on.")] * 6
    talk = tell(user, [("user", "The greenhouse opens with Marmalade-77."), *filler, *OSLO])
    with app.app_context():
        with write_transaction():
            conversation = db.session.get(Conversation, talk.conversation_id)
            _, reply = messages.add_exchange(conversation, "What opens the greenhouse?", parent_id=talk.ids[-1])
        asked = assemble(reply.message_id, app.extensions["settings"]).messages[-1]["content"]
    assert "Marmalade-77" in asked and "Oslo" not in asked


def test_keyed_facts_are_found_by_their_key_whatever_is_away(app, user, monkeypatch):
    with app.app_context():
        memory_id = remember(
            user.user_id,
            "The user likes teal best",
            category="preference",
            fact_key="preference/favourite_colour",
            fact_value="teal",
            importance=0.3,
        )
        monkeypatch.setattr(IndexCache, "get", lambda *_: None)
        found = retrieve(Question(user.user_id, "What is my favourite colour?"), 0)
        assert keys(found) == [("memory", memory_id)] and not found.indexed
        assert found.items[0].reason == "exact fact"
        assert keys(retrieve(Question(user.user_id, "teal curtains"), 0)) == [("memory", memory_id)]


def test_the_names_of_those_who_share_are_one_look_up(app, api, make_user):
    people = [api(make_user(name=name)) for name in ("Anna", "Ben", "Cleo")]
    space_id = make_space(people[0])
    join(people[0], space_id, *people[1:])
    said = [add_fact(one, space_id, f"Joe kept bees, hive {n}", shared=True) for one in people for n in range(3)]
    with app.app_context():
        scope = scope_of(people[0].person.user_id, space_id)
        with count_queries() as sent:
            found = load_passages([("memory", number) for number in said], scope)
        names = [item.extra.get("by") for item in found.values()]
    assert names == [None] * 3 + ["Ben"] * 3 + ["Cleo"] * 3
    assert len(sent) == 2


COVERAGE, REVIEW = "What is the test coverage percentage?", "peer review deadline"


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        (COVERAGE, "the test coverage is 80 %", 1 / 3),
        (COVERAGE, "Test-Coverage rose", 1 / 3),
        (COVERAGE, "testing their coverage", 1 / 3),
        (COVERAGE, "We tested what it covered: tests' coverage", 1 / 3),
        *((COVERAGE, text, 0) for text in ("", "coverage test", "contest coverages", "a test of all the coverage")),
        *((COVERAGE, text, 0) for text in ("test", "of 1")),
        *(("Why?", "why not", 0), ("Coverage?", "coverage coverage", 0), ("", "a", 0)),
        ("Où est le café crème ?", "LE CAFE CRÈME EST FROID", 2 / 5),
        *((REVIEW, "peer review, peer review", 1 / 3), (REVIEW, "the peer review deadline", 2 / 3)),
    ],
)
def test_pairs_of_words_count_once_in_any_form_with_a_word_between(question, text, share):
    assert phrases_of(question)(text) == pytest.approx(share)
