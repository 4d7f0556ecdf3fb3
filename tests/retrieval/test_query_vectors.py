"""Vectors in time or not at all, indexing that catches up, and a change of the model."""

import threading
import time

import numpy as np
from sqlalchemy import func, select

from tests.support.interleaving import at_once
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.llm.errors import ModelUnavailable
from webapp.llm.packaged_models import Embeddings
from webapp.retrieval import query_vectors, stored_vectors, vector_jobs
from webapp.retrieval.lookup import Question, retrieve
from webapp.retrieval.models import MessageEmbedding
from webapp.retrieval.query_vectors import QueryVectors
from webapp.retrieval.service import search
from webapp.shell.upkeep import sweep

TALK = [("user", "I adopted a greyhound called Comet"), ("assistant", "Welcome, Comet!")]


class Embedder:
    """Answers with ones, or fails, or waits."""

    dim = 3

    def __init__(self, model: str = "m", *, fails: bool = False, gate: threading.Event | None = None) -> None:
        self.model, self.fails, self.gate, self.asked = model, fails, gate, 0

    def embed_query(self, text: str, timeout: float | None = None) -> np.ndarray:
        self.asked += 1
        if self.gate is not None:
            self.gate.wait(20)
        if self.fails:
            raise ModelUnavailable
        return np.ones(3, np.float32)


def test_a_query_is_embedded_once_and_remembered():
    embedder = Embedder()
    vectors = QueryVectors(Embeddings(embedder), 5, lambda _: None)
    for _ in range(3):
        assert list(vectors.result(vectors.start("  a  query "))) == ["m/3"]
    assert embedder.asked == 1 and vectors.result(vectors.start("  ")) == {}


def test_a_query_that_is_being_embedded_is_not_embedded_again():
    gate = threading.Event()
    embedder = Embedder(gate=gate)
    vectors = QueryVectors(Embeddings(embedder), 20, lambda _: None)
    first, second = vectors.start("query"), vectors.start(" query ")
    assert second.future is first.future and not second.is_ready
    gate.set()
    assert list(vectors.result(second)) == list(vectors.result(first)) == ["m/3"]
    assert embedder.asked == 1


def test_the_deadline_is_that_of_whoever_asked_first(monkeypatch):
    gate = threading.Event()
    vectors = QueryVectors(Embeddings(Embedder(gate=gate)), 0.05, lambda _: None)
    first = vectors.start("query")
    assert vectors.result(first) == {}
    waited = []
    with monkeypatch.context() as patch:
        patch.setattr(query_vectors, "wait_for", lambda futures, timeout: waited.append(timeout) or (set(), set()))
        assert vectors.start("query").start == first.start
        vectors.result(vectors.start("query"))
    assert waited == [0.0]
    gate.set()
    first.future.result(20)
    assert list(vectors.result(vectors.start("query"))) == ["m/3"], "late, it serves the next who asks"


def test_an_embedder_that_fails_is_left_alone_and_asked_again_later(monkeypatch):
    embedder = Embedder(fails=True)
    vectors = QueryVectors(Embeddings(embedder), 5, lambda _: None)
    for number in range(8):
        assert vectors.result(vectors.start(f"query {number}")) == {}
    assert embedder.asked == query_vectors.FAILURES and vectors.is_away
    embedder.fails = False
    elapsed = time.monotonic() + query_vectors.REST_SECONDS
    monkeypatch.setattr(query_vectors.time, "monotonic", lambda: elapsed)
    assert list(vectors.result(vectors.start("again"))) == ["m/3"] and not vectors.is_away


def test_older_vectors_are_searched_with_the_model_that_made_them():
    older = Embedder("old")
    vectors = QueryVectors(Embeddings(Embedder("new")), 5, {"old": older}.get)
    assert sorted(vectors.result(vectors.start("query"), ["old/3", "new/3", "gone/3"])) == ["new/3", "old/3"]
    vectors.result(vectors.start("other"), ["gone/3"])
    assert older.asked == 1


def _count() -> int:
    db.session.rollback()
    return db.session.scalar(select(func.count()).select_from(MessageEmbedding))


def test_while_the_embedder_is_away_words_are_found_and_the_vectors_come_later(app, user, model, tell, run_jobs):
    model.script(path="embeddings", fault={"http_status": 503})
    tell(user, TALK)
    run_jobs(failures=True)
    with app.app_context():
        found = search(user.user_id, "greyhound comet")
        assert [item.role for item in found.items] == ["user", "assistant"] and not found.with_meaning
        assert retrieve(Question(user.user_id, "What is my greyhound called?"), 5).items
        assert _count() == 0 and db.session.scalar(select(Conversation.index_due))
        db.session.rollback()
        model.reset()
        app.extensions["redis"].flushall()  # even the retries are lost
        sweep()
        run_jobs()
        assert _count() == 2 and not db.session.scalar(select(Conversation.index_due))
        db.session.rollback()
        query_vectors.query_vectors()._failures = 0
        assert search(user.user_id, "my dog").with_meaning


def test_rebuilding_replaces_vectors_of_another_model(app, user, tell, run_jobs):
    tell(user, TALK)
    tell(user, TALK, is_temporary=True)
    with app.app_context():
        assert [vector_jobs.index_user(user.user_id).messages for _ in range(2)] == [2, 0], "run twice, done once"
        assert _count() == 2, "and none for what is temporary"
    for options in (["--now"], []):
        with app.app_context():
            for row in db.session.scalars(select(MessageEmbedding)):
                row.model = "before"
            db.session.commit()
        answer = app.test_cli_runner().invoke(args=["embeddings", "rebuild", *options])
        assert answer.exit_code == 0, answer.output
        if not options:
            run_jobs()
        with app.app_context():
            assert set(db.session.scalars(select(MessageEmbedding.model))) == {"all-minilm-l6-v2"} and _count() == 2
    assert "messages\tall-minilm-l6-v2\t2" in app.test_cli_runner().invoke(args=["embeddings", "status"]).output


def test_one_build_for_all_who_wait(app, user, tell, monkeypatch):
    from webapp.retrieval import cache

    tell(user, TALK)
    builds, load = [], cache.load_user
    monkeypatch.setattr(cache, "load_user", lambda user_id: (builds.append(time.sleep(0.1)), load(user_id))[1])

    def ask():
        with app.app_context():
            return len(app.extensions["index_cache"].get(user.user_id, 20).index)

    assert at_once(*[ask] * 6) == [2] * 6 and len(builds) == 1


def test_another_model_is_noticed_once_and_owes_everybody_vectors(app, user, tell, run_jobs, monkeypatch):
    tell(user, [("user", "We sail on Sunday."), ("assistant", "Fine.")])
    run_jobs()
    with app.app_context():
        assert stored_vectors.notice_model() == 0, "the first time nothing is known to be of another model"
        db.session.commit()
        assert not stored_vectors.users_awaiting_vectors()
        with monkeypatch.context() as patched:
            other = type("Other", (), {"model": "another"})()
            patched.setattr(stored_vectors, "embedder", lambda: other)
            assert stored_vectors.notice_model() == 1
            db.session.commit()
            assert stored_vectors.users_awaiting_vectors() == [user.user_id]
            assert stored_vectors.notice_model() == 0
