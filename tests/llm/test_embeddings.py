"""Vectors from the local model and over HTTP."""

import json
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.llm.helpers import settings_for
from webapp.llm.capabilities import Capabilities
from webapp.llm.embeddings import Embedder, OpenAIEmbedder, normalise_rows
from webapp.llm.encoders import DIM, LocalEmbedder, MultilingualEmbedder
from webapp.llm.errors import MalformedOutput, ModelError
from webapp.llm.packaged_models import MAX_KEPT, Embeddings, floor_of, packaged_embedder
from webapp.llm.settings import ModelSettings

TEXTS = [
    "The cat sits on the mat.",
    "A kitten rests on a rug.",
    "Quarterly tax return",
    "naïve 🎉 漢字",
    "word " * 400,
    "x",
    "The user is allergic to peanuts",
    "Sie wohnt in Köln",
    "ninth text, so that there are two batches",
]


@pytest.fixture(scope="module")
def local():
    return LocalEmbedder()


@pytest.fixture
def remote(server):
    embedder = OpenAIEmbedder(settings_for(server, embedding_batch=4))
    yield embedder
    embedder.close()


def test_local_vectors_are_unit_length_and_mean_something(local):
    rows = local.embed_passages(TEXTS)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), local.dim), np.float32)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > 0.5 > 0.2 > rows[0] @ rows[2]


def test_a_text_does_not_depend_on_its_batch(local):
    rows = local.embed_passages(TEXTS)
    for text, row in zip(TEXTS, rows, strict=True):
        assert local.embed_query(text) @ row > 0.9999


def test_only_the_first_256_tokens_count(local):
    long = "tree " * 254
    assert local.embed_query(long) @ local.embed_query(long + "and something else entirely") > 0.9999


@pytest.mark.parametrize("text", ["", "   ", "\0", "\ud800 half", "a\0b", "🎉" * 5000])
def test_strange_texts_have_vectors(local, text):
    vector = local.embed_query(text)
    assert np.isfinite(vector).all()
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-5)


def test_nothing_gives_no_rows(local, remote):
    assert local.embed_passages([]).shape == (0, local.dim)
    assert len(remote.embed_passages([])) == 0


def test_both_adapters_give_the_same_vectors(local, remote):
    adapters: list[Embedder] = [local, remote]
    one, other = (adapter.embed_passages(TEXTS[:4]) for adapter in adapters)
    assert np.allclose(one, other, atol=1e-6)
    assert np.allclose(local.embed_query(TEXTS[0]), remote.embed_query(TEXTS[0], timeout=20), atol=1e-6)
    assert remote.dim == local.dim


def test_batches_keep_their_order(server, remote):
    rows = remote.embed_passages(TEXTS)
    assert [len(call["input"]) for call in server.calls()] == [4, 4, 1]
    for text, row in zip(TEXTS, rows, strict=True):
        assert remote.embed_query(text) @ row > 0.9999
    for connection in remote._client()._idle:
        connection.sock.shutdown(socket.SHUT_RD)  # as if the server had closed it meanwhile
    assert remote.embed_query(text) @ row > 0.9999


def test_base64_is_dropped_where_refused_and_asked_once(server):
    server.script(path="embeddings", fault={"refuse_base64": True})
    known = Capabilities()
    embedder = OpenAIEmbedder(settings_for(server), known)
    vectors = [embedder.embed_query("hello") for _ in range(2)]
    embedder.close()
    assert np.array_equal(*vectors)
    assert len(server.calls()) == 3
    assert not known.accepts(server.base_url, "all-minilm-l6-v2", "base64")


def test_a_query_is_tried_once_and_has_its_deadline(server, remote):
    server.script(path="embeddings", first_delay=30)
    with pytest.raises(ModelError, match="in time"):
        remote.embed_query("hello", timeout=0.2)
    assert len(server.calls()) == 1


def test_passages_are_retried(server, remote):
    server.script(path="embeddings", fault={"http_status": 503}, times=2)
    assert remote.embed_passages(["hello"]).shape == (1, 384)
    assert len(server.calls()) == 3


def test_blank_and_broken_texts_are_accepted(remote):
    assert remote.embed_passages(["", "a\0b", "\ud800"]).shape == (3, 384)


def vectors(*rows):
    return {"data": [{"index": index, "embedding": row} for index, row in rows]}


@pytest.mark.parametrize(
    "answer",
    [
        {"data": []},
        vectors((0, [1.0, 2.0]), (1, [1.0])),
        vectors((0, [1.0, 2.0])),
        vectors((0, []), (1, [])),
        vectors((0, "!!"), (1, "!!")),
        vectors((0, [1.0, float("inf")]), (1, [1.0, 0.0])),
    ],
)
def test_wrong_answers_are_malformed_never_partial(server, answer):
    server.script(path="embeddings", structured=answer)
    embedder = OpenAIEmbedder(settings_for(server, max_retries=0))
    with pytest.raises(MalformedOutput):
        embedder.embed_passages(["a", "b"])
    embedder.close()


@pytest.mark.parametrize(
    "answer",
    [
        vectors((1, [0.0, 5.0]), (0, [2.0, 0.0])),
        vectors((1, {"float": [0.0, 5.0]}), (0, "AAAAQAAAAAA")),
        vectors((1, [[0.0, 5.0]]), (0, [[2.0, 0.0]]))["data"],
        {"embeddings": [[2.0, 0.0], [0.0, 5.0]]},
    ],
)
def test_answers_out_of_order_and_in_other_shapes_are_sorted_and_normalised(server, remote, answer):
    server.script(path="embeddings", structured=answer)
    assert remote.embed_passages(["a", "b"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_changed_length_is_noticed(server, remote):
    assert remote.dim == 384
    server.script(path="embeddings", structured=vectors((0, [1.0, 0.0])))
    with pytest.raises(MalformedOutput, match="length"):
        remote.embed_query("a")


def test_zero_rows_stay_zero():
    assert normalise_rows(np.zeros((1, 3), dtype=np.float32)).tolist() == [[0.0, 0.0, 0.0]]


def test_a_server_that_takes_few_texts_at_once_gets_few(remote, monkeypatch):
    asked = []

    def post(_client, _path, body, **_):
        asked.append(len(body["input"]))
        if len(body["input"]) > 3:
            error = Exception("batch size 7 > maximum allowed batch size 3")
            error.status_code, error.response, error.body = 413, SimpleNamespace(headers={}), str(error)
            raise error
        # Numbers as text, as some servers give them.
        rows = [{"index": str(n), "embedding": [len(text), 1]} for n, text in enumerate(body["input"])]
        return json.dumps({"data": rows[::-1]}).encode()

    monkeypatch.setattr("webapp.llm.embeddings.post", post)
    rows = remote.embed_passages(["x" * (n + 1) for n in range(7)])
    assert [round(float(row[0] / row[1])) for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert asked == [4, 2, 2, 3]


def test_the_reason_within_a_good_answer_is_told(remote, monkeypatch):
    monkeypatch.setattr(
        "webapp.llm.embeddings.post", lambda *_, **__: b'{"error": {"message": "no seats", "code": 400}}'
    )
    with pytest.raises(ModelError, check=lambda error: "no seats" in error.detail):
        remote.embed_passages(["x"])


@pytest.fixture
def choices() -> list[ModelSettings]:
    return []


@pytest.fixture
def embeddings(choices: list[ModelSettings]) -> Embeddings:
    return Embeddings(LocalEmbedder(), choose=lambda: choices[-1])


def test_what_gave_way_is_closed_when_its_last_user_is_done(server, embeddings, choices):
    choices.append(settings_for(server))
    first = embeddings.now()
    assert isinstance(first, OpenAIEmbedder)
    first.embed_passages(["bees"])
    client = first._client()
    for number in range(MAX_KEPT):
        choices.append(settings_for(server, api_key=f"key {number}"))
        embeddings.now()
    assert not client.is_closed()
    first.embed_passages(["whoever asked before stays with it"])
    del first
    assert client.is_closed()
    embeddings.close()


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


def test_vectors_are_unit_length_and_the_same_every_time(embedder):
    rows = embedder.embed_passages(["Our cat is called Muffin.", "", "x\0y \ud800"])
    assert rows.shape == (3, DIM) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.array_equal(embedder.embed_passages(["Our cat is called Muffin."])[0], rows[0])
    assert embedder.embed_passages([]).shape == (0, DIM)


def test_a_question_is_near_its_answer_in_another_language(embedder):
    told = ["Unsere Katze heißt Muffin.", "私はピーナッツアレルギーです。", "Мой брат живёт в Канаде."]
    asked = ["What is the name of our cat?", "Which allergy do I have?", "Where does my brother live?"]
    rows = embedder.embed_passages(told)
    cosines = np.stack([rows @ embedder.embed_query(question) for question in asked])
    assert np.argmax(cosines, axis=1).tolist() == [0, 1, 2]
    floor = floor_of(MultilingualEmbedder.model)
    assert np.diag(cosines).min() > floor > cosines[~np.eye(3, dtype=bool)].max()


def test_letters_by_chance_are_near_nothing(embedder):
    """All but one: about one in ten comes just above the floor (docs/recall.md)."""
    rows = embedder.embed_passages(["Unsere Katze heißt Muffin.", "My brother lives in Canada."])
    nonsense = [
        "xqzt blorfing wumpf",
        "qwrtz plimf grunx",
        "zzkp vrrt mnop",
        "fnord glabber wizzt",
        "brzq tlompf skwee",
    ]
    nearest = sorted(float((rows @ embedder.embed_query(words)).max()) for words in nonsense)
    floor = floor_of(MultilingualEmbedder.model)
    assert nearest[-2] < floor / 2 and nearest[-1] < floor + 0.02


def test_settings_and_stored_vectors_name_the_packaged_models():
    assert isinstance(packaged_embedder("multilingual"), MultilingualEmbedder)
    assert isinstance(packaged_embedder(MultilingualEmbedder.model), MultilingualEmbedder)
    assert packaged_embedder("server") is None
    local = packaged_embedder("local")
    assert local is not None and isinstance(packaged_embedder(local.model), type(local))


@pytest.mark.parametrize(("status", "stands_in"), [(404, True), (501, True), (503, False), (400, False), (401, False)])
def test_a_packaged_model_stands_in_for_a_server_without_embeddings(server, local, status, stands_in):
    capabilities = Capabilities()
    remote = OpenAIEmbedder(settings_for(server, max_retries=0), capabilities)
    embeddings = Embeddings(remote, stand_in=local)
    server.script(path="embeddings", fault={"http_status": status})
    assert embeddings.now() is remote
    with pytest.raises(ModelError):
        embeddings.now().embed_query("bees")
    assert embeddings.now() is embeddings.last is (local if stands_in else remote)
    assert Embeddings(remote).now() is remote, "where vectors are to come from there"
    again = OpenAIEmbedder(settings_for(server), capabilities)
    assert again.is_served is not stands_in, "other clients know it too"


def test_a_server_that_had_embeddings_is_waited_for(server, local, monkeypatch):
    remote = OpenAIEmbedder(settings_for(server))
    embeddings = Embeddings(remote, stand_in=local)
    remote.embed_query("bees")
    later = time.monotonic() + 40 * 86_400  # by then it is forgotten
    monkeypatch.setattr("webapp.llm.capabilities.time", SimpleNamespace(monotonic=lambda: later))
    remote.embed_query("bees")
    server.script(path="embeddings", fault={"http_status": 404})
    with pytest.raises(ModelError):
        remote.embed_query("hives")
    assert embeddings.now() is remote
