"""The multilingual embedder: near in meaning is near, whatever the languages."""

import numpy as np
import pytest

from webapp.llm.embedder_choice import floor_of
from webapp.llm.multilingual import DIM, MultilingualEmbedder
from webapp.llm.packaged_models import packaged_embedder


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


def test_vectors_are_unit_length_and_the_same_every_time(embedder: MultilingualEmbedder) -> None:
    rows = embedder.embed_passages(["Our cat is called Muffin.", "", "x\0y \ud800"])
    assert rows.shape == (3, DIM) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.array_equal(embedder.embed_passages(["Our cat is called Muffin."])[0], rows[0])
    assert embedder.embed_passages([]).shape == (0, DIM)


def test_a_question_is_near_its_answer_in_another_language(
    embedder: MultilingualEmbedder,
) -> None:
    told = ["Unsere Katze heißt Muffin.", "私はピーナッツアレルギーです。", "Мой брат живёт в Канаде."]
    asked = ["What is the name of our cat?", "Which allergy do I have?", "Where does my brother live?"]
    rows = embedder.embed_passages(told)
    cosines = np.stack([rows @ embedder.embed_query(question) for question in asked])
    assert np.argmax(cosines, axis=1).tolist() == [0, 1, 2]
    floor = floor_of(MultilingualEmbedder.model)
    assert np.diag(cosines).min() > floor > cosines[~np.eye(3, dtype=bool)].max()


def test_letters_by_chance_are_near_nothing(embedder: MultilingualEmbedder) -> None:
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


def test_settings_and_stored_vectors_name_the_packaged_models() -> None:
    assert isinstance(packaged_embedder("multilingual"), MultilingualEmbedder)
    assert isinstance(packaged_embedder(MultilingualEmbedder.model), MultilingualEmbedder)
    assert packaged_embedder("server") is None
    local = packaged_embedder("local")
    assert local is not None and isinstance(packaged_embedder(local.model), type(local))
