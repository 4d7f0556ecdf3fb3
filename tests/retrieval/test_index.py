"""The index of a user: scope, neighbours, generations of vectors, changes."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.support.interleaving import at_once
from webapp.llm.encoders import LocalEmbedder, MultilingualEmbedder
from webapp.llm.packaged_models import floor_of
from webapp.retrieval.fusion import hits_to_show, relevant, terms_of
from webapp.retrieval.index import UserIndex
from webapp.retrieval.passages import KINDS, NO_SPACE, Filter, Passage, Scope, may_see, visible_rows
from webapp.retrieval.weights import FusionWeights, Weights

START = datetime(2026, 1, 1, tzinfo=UTC)
ME = Filter(Scope(1))


def passage(kind: str, number: int, text: str, **more) -> Passage:
    values = {"owner_id": 1, "created_at": START + timedelta(hours=number)} | more
    return Passage(kind, number, text, **values)


def places(keys) -> list[tuple[str, int, int]]:
    return [(*key, 0) for key in keys]


def without_vector(index: UserIndex, model: str) -> list[tuple[str, int]]:
    """The passages of which a model lacks the vector of a piece."""
    store = index._vectors.get(model)
    return [key for key in index._rows if store is None or any(row not in store for row in index._rows_of(key))]


def keys(hits) -> list[tuple[str, int]]:
    return [hit.key for hit in hits]


scopes = st.builds(Scope, st.integers(1, 3), st.frozensets(st.integers(1, 4)), st.none() | st.integers(1, 4))


@st.composite
def owned_passages(draw: st.DrawFn) -> list[Passage]:
    """Passages of several owners, some in several pieces."""
    made = []
    for number in range(draw(st.integers(0, 12))):
        fields = {
            "owner_id": draw(st.integers(1, 3)),
            "space_id": draw(st.none() | st.integers(1, 4)),
            "shared": draw(st.booleans()),
            "group_id": draw(st.none() | st.integers(1, 2)),
        }
        kind = draw(st.sampled_from(KINDS))
        for piece in range(draw(st.integers(1, 3))):
            text = draw(st.sampled_from(["oslo trip", "oslo", "the oslo trip of the year"]))
            made.append(passage(kind, number, text, piece=piece, **fields))
    return made


@pytest.fixture
def index() -> UserIndex:
    """An empty one."""
    return UserIndex()


@settings(max_examples=60)
@given(owned_passages(), owned_passages(), st.booleans(), st.booleans())
def test_what_was_prepared_for_a_search_changes_nothing_in_it(before, later, with_vectors, is_changed):
    index = UserIndex()
    index.add(before)
    rng = np.random.default_rng(0)
    for part in {item.key: item for item in before}.values():
        index.put_vectors("m", [part.place], rng.normal(size=(1, 8)).astype(np.float32))
    where = Filter(Scope(1, frozenset({1})))
    prepared = index.prepare("oslo trip", where)
    if is_changed:
        index.add(later)
        index.remove([item.key for item in before[:2]])
    vectors = {"m": rng.normal(size=8).astype(np.float32)} if with_vectors else {}
    assert index.search("oslo trip", vectors, where, 5, prepared=prepared) == index.search(
        "oslo trip", vectors, where, 5
    )


@settings(max_examples=150)
@given(owned_passages(), scopes, st.frozensets(st.sampled_from(KINDS), min_size=1))
def test_search_returns_all_and_only_what_may_be_seen(passages, scope, kinds):
    index = UserIndex()
    index.add(passages)
    expected = set()
    for p in passages:
        own = p.owner_id == scope.user_id
        shared = p.shared and p.space_id in scope.member_of
        here = scope.space_id is None or p.space_id == scope.space_id
        if (own or shared) and here and p.kind in kinds:
            expected.add(p.key)
    where = Filter(scope, kinds)
    assert set(keys(index.search("oslo", None, where, 50))) == expected
    index.put_vectors("m", [p.place for p in passages], np.ones((len(passages), 4), np.float32))
    found = index.search("oslo", {"m": np.ones(4, np.float32)}, where, 50, for_reply=True)
    assert set(keys(found)) <= expected and bool(found) == bool(expected)


@given(scopes, st.integers(1, 3), st.none() | st.integers(1, 4), st.booleans())
def test_columns_and_single_passages_have_one_scope(scope, owner, space, shared):
    mask = visible_rows(scope, np.array([owner]), np.array([space or NO_SPACE]), np.array([shared]))
    assert bool(mask[0]) == may_see(scope, owner, space, shared)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))])
def test_any_history_of_changes_equals_a_fresh_index(seed):
    rng = random.Random(seed)
    vocabulary = [f"term{n}" for n in range(30)]
    index, held, vectors = UserIndex(), {}, {}
    for _ in range(60):
        action = rng.random()
        if action < 0.6:
            batch = [
                passage(
                    rng.choice(KINDS),
                    rng.randrange(60),
                    " ".join(rng.choices(vocabulary, k=rng.randrange(1, 9))) + rng.choice(["", "?"]),
                    group_id=rng.choice([None, 1, 2]),
                )
                for _ in range(rng.randrange(1, 6))
            ]
            index.add(batch)
            for p in batch:
                held[p.key] = p
                vectors.pop(p.key, None)
        elif action < 0.8 and held:
            gone = rng.sample(sorted(held), rng.randrange(1, len(held) // 3 + 2))
            index.remove([*gone, ("memory", 9999)])
            for key in gone:
                del held[key]
                vectors.pop(key, None)
        elif action < 0.95 and held:
            chosen = rng.sample(sorted(held), rng.randrange(1, len(held) + 1))
            made = np.random.default_rng(rng.randrange(10**6)).standard_normal((len(chosen), 8)).astype(np.float32)
            index.put_vectors("m", places(chosen), made)
            vectors.update(zip(chosen, made, strict=True))
        else:
            index.compact()
        fresh = UserIndex()
        fresh.add(list(held.values()))
        fresh.put_vectors("m", places(list(vectors)), np.array(list(vectors.values()), np.float32).reshape(-1, 8))
        query, vector = " ".join(rng.choices(vocabulary, k=3)), np.ones(8, np.float32)
        assert len(index) == len(fresh) == len(held)
        assert sorted(without_vector(index, "m")) == sorted(set(held) - set(vectors))
        for given_vectors in (None, {"m": vector}):
            one = {hit.key: hit.score for hit in index.search(query, given_vectors, ME, 100)}
            two = {hit.key: hit.score for hit in fresh.search(query, given_vectors, ME, 100)}
            assert one == pytest.approx(two, abs=1e-4)


def test_a_message_is_found_by_its_neighbours_words(index):
    index.add(
        [
            passage("message", 1, "Which instrument does your sister play?", group_id=7),
            passage("message", 3, "Nice!", group_id=7),
            passage("message", 4, "My sister called", group_id=8),
            passage("memory", 2, "Unrelated", group_id=7),
        ]
    )
    index.add([passage("message", 2, "The cello, since she was six.", group_id=7)])
    hits = index.search("What instrument did my sister learn?", None, ME)
    assert keys(hits)[:2] == [("message", 1), ("message", 2)]
    answer = next(hit for hit in hits if hit.key == ("message", 2))
    assert answer.reason == "words nearby" and answer.matched == () and hits[0].matched == ("instrument", "sister")
    assert hits[0].parts["keyword"] == 1 and 0 < hits[0].parts["coverage"] < 1


def test_a_long_message_takes_on_little_of_its_neighbours_words(index):
    index.add(
        [
            passage("message", 1, "Which instrument does your sister play?", group_id=7),
            passage("message", 2, "The cello.", group_id=7),
            passage("message", 3, "Which instrument does your sister play?", group_id=8),
            passage("message", 4, "The cello. " + "Nothing of the kind was heard here before today. " * 12, group_id=8),
        ]
    )
    scores = {hit.key[1]: hit.parts["keyword"] for hit in index.search("my sister's instrument", None, ME)}
    assert scores[2] > 1.4 * scores[4] > 0


def test_a_drawing_without_words_changes_no_score():
    texts = ["The cello is in the hall", "A cello and a piano were sold yesterday", "Nice!"]
    plain, drawn = UserIndex(), UserIndex()
    said = [passage("message", number, text, group_id=number) for number, text in enumerate(texts, 1)]
    drawings = [passage("message", number, "| /\\ " * 50, group_id=number) for number in range(10, 40)]
    vectors = np.eye(3, 4, dtype=np.float32) + 0.1
    for index, passages in ((plain, said), (drawn, [*said, *drawings])):
        index.add(passages)
        index.put_vectors("m", places([p.key for p in said]), vectors)
    drawn.put_vectors("m", places([p.key for p in drawings]), np.full((30, 4), -0.5, np.float32))
    query = np.array([1, 0.2, 0, 0], np.float32)
    ranked = [index.search("Where is the cello?", {"m": query}, ME, k=3) for index in (plain, drawn)]
    assert [(hit.key, round(hit.score, 4)) for hit in ranked[0]] == [
        (hit.key, round(hit.score, 4)) for hit in ranked[1]
    ]


def test_what_the_best_hits_are_like_is_found_by_a_second_look(index):
    said = [passage("message", number, f"note {number}", group_id=number) for number in range(1, 31)]
    index.add(said)
    # Each is about something of its own, and likeness to the question falls with the number.
    vectors = np.hstack([np.linspace(0.9, 0.1, 30)[:, None], np.zeros((30, 1)), np.eye(30)]).astype(np.float32)
    vectors[:3, 0] = 2
    vectors[[0, 1, 2, 24], 1] = 2  # what the first three have in common, and the last of these
    index.put_vectors("m", places([p.key for p in said]), vectors)
    query = {"m": np.eye(32, dtype=np.float32)[0]}
    place = {}
    for weight in (0.0, 0.06):
        index.reweigh(Weights(), FusionWeights(second=weight))
        place[weight] = keys(index.search("Which?", query, ME, k=30, for_reply=True)).index(("message", 25))
    assert 10 <= place[0.06] < place[0.0]


def test_replacing_a_passage_forgets_its_old_text_and_vectors(index):
    index.add([passage("memory", 1, "likes tea")])
    index.put_vectors("m", places([("memory", 1), ("memory", 2)]), np.eye(2, dtype=np.float32))
    assert without_vector(index, "m") == []
    index.add([passage("memory", 1, "likes coffee")])
    assert not index.search("tea", None, ME) and keys(index.search("coffee", None, ME)) == [("memory", 1)]
    assert without_vector(index, "m") == [("memory", 1)]


def test_two_models_side_by_side(index):
    index.add([passage("memory", n, f"text {n}") for n in range(6)])
    old = np.array([[1, 0], [0.9, 0.1], [0, 1]], np.float32)
    new = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]], np.float32)
    index.put_vectors("old", places([("memory", n) for n in (0, 1, 2)]), old)
    index.put_vectors("new", places([("memory", n) for n in (3, 4, 5)]), new)
    queries = {"new": np.array([1, 0, 0], np.float32), "old": np.array([1, 0], np.float32)}
    hits = index.search("nothing in common", queries, ME)
    assert set(keys(hits)[:3]) == {("memory", 5), ("memory", 0), ("memory", 1)}
    assert all(hit.reason == "meaning" for hit in hits)
    assert index.search("nothing in common", {"other": np.ones(5, np.float32)}, ME) == []
    wide = index.search("text", {"new": np.ones(4, np.float32)}, ME)
    assert len(wide) == 6 and all(hit.reason == "words" for hit in wide), "a query of another width is passed over"
    assert UserIndex().search("text", queries, ME) == []


@pytest.mark.parametrize("embedder", [LocalEmbedder, MultilingualEmbedder])
def test_without_a_word_in_common_a_passage_is_found_from_its_models_floor_on(embedder):
    floor, model = floor_of(embedder.model), f"{embedder.model}/2"
    index = UserIndex()
    index.add([passage("message", n, text) for n, text in enumerate(["unsere Katze", "mein Bruder"])])
    asked = {model: np.array([1, 0], np.float32)}
    for cosine, is_found in ((floor - 0.02, False), (floor + 0.02, True)):
        index.put_vectors(model, places([("message", 0)]), np.array([[cosine, np.sqrt(1 - cosine**2)]], np.float32))
        index.put_vectors(model, places([("message", 1)]), np.array([[-0.1, 1]], np.float32))
        hits = index.search("what is the cat called", asked, ME)
        assert ([hit.id for hit in hits_to_show(hits)][:1] == [0]) is is_found
        assert bool(relevant(hits, terms_of("what is the cat called"))) is is_found


def test_filters_by_time_and_conversation(index):
    index.add([passage("message", n, "tea", group_id=n % 2 + 1) for n in range(6)])
    index.add([passage("document", 9, "tea", group_id=1), passage("chunk", 8, "tea", group_id=1)])
    here = index.search("tea", None, Filter(Scope(1), only_conversation=2), 20)
    assert set(keys(here)) == {("message", 1), ("message", 3), ("message", 5), ("document", 9)}
    when = Filter(Scope(1), since=START + timedelta(hours=2), until=START.replace(tzinfo=None) + timedelta(hours=4))
    assert set(keys(index.search("tea", None, when, 20))) == {("message", 2), ("message", 3)}


def test_recency_orders_equal_texts(index):
    index.add([passage("memory", n, "drinks tea") for n in (1, 3, 2)])
    assert [hit.id for hit in index.search("tea", None, ME)] == [3, 2, 1]


def test_a_reply_is_given_no_near_duplicates(index):
    notes = [("memory", number) for number in (5, 6, 7)]
    index.add([passage(*key, "tea tea") for key in notes] + [passage("message", 9, "tea", group_id=2)])
    index.put_vectors("m", places(notes), np.array([[1, 1], [1, 0.99], [1, -1]], np.float32))
    ranked = keys(index.search("tea time", None, ME))
    first, second = (key for key in ranked if key in notes[:2])
    assert keys(index.search("tea time", None, ME, for_reply=True)) == [key for key in ranked if key != second]


def test_memory_is_reported_and_given_back(index):
    empty = index.nbytes
    index.add([passage("message", n, f"common words and rare{n}", group_id=1) for n in range(3000)])
    index.put_vectors("m", places([("message", n) for n in range(3000)]), np.ones((3000, 64), np.float32))
    full = index.nbytes
    assert full - empty > 3000 * 64
    index.remove([("message", n) for n in range(2900)])
    index.compact()
    assert index.nbytes < full / 3
    assert keys(index.search("rare2950", None, ME, 1)) == [("message", 2950)]


def test_searches_and_changes_from_several_threads(index):
    index.add([passage("message", n, f"tea number{n}", group_id=1) for n in range(200)])

    def search() -> None:
        for n in range(100, 200):
            assert keys(index.search(f"number{n}", None, ME, 1)) == [("message", n)]

    def change() -> None:
        for n in range(100):
            index.remove([("message", n)])
            index.add([passage("message", 1000 + n, "tea", group_id=1)])
            if n % 20 == 0:
                index.compact()

    at_once(search, search, change)


@settings(max_examples=60)
@given(owned_passages(), st.data())
def test_nothing_of_what_was_forgotten_stays_in_words_or_vectors(passages, data):
    said = [replace(p, text=f"{p.text} secret{p.id}x{p.piece}") for p in passages]
    index = UserIndex()
    index.add(said)
    if said:
        index.put_vectors("m", [p.place for p in said], np.ones((len(said), 4), np.float32))
    gone = set(data.draw(st.lists(st.sampled_from([p.key for p in said]), unique=True))) if said else set()
    index.remove(gone)
    index.compact()
    known = index._keywords._vocabulary
    for p in said:
        assert (known.find(f"secret{p.id}x{p.piece}") is None) == (p.key in gone)
    assert sum(len(store) for store in index._vectors.values()) == sum(p.key not in gone for p in said)
