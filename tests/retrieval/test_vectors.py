"""Exact vector search."""

import numpy as np
import pytest

from webapp.retrieval.vectors import VectorStore


def test_cosines_equal_brute_force_through_changes():
    rng = np.random.default_rng(3)
    store, held = VectorStore(16), {}
    for _ in range(40):
        rows = rng.choice(3000, size=rng.integers(1, 120), replace=False).tolist()
        if rng.random() < 0.4:
            store.remove(rows)
            for row in rows:
                held.pop(row, None)
        else:
            vectors = rng.standard_normal((len(rows), 16)).astype(np.float32)
            store.put(rows, vectors)
            held.update(zip(rows, vectors, strict=True))
        query = rng.standard_normal(16).astype(np.float32)
        cosines = store.cosines(query, 3000)
        assert len(store) == len(held) and set(np.flatnonzero(~np.isnan(cosines)).tolist()) == set(held)
        for row, vector in held.items():
            exact = vector @ query / np.linalg.norm(vector) / np.linalg.norm(query)
            assert cosines[row] == pytest.approx(exact, abs=0.02)


def test_a_row_without_a_vector_has_no_cosine():
    store = VectorStore(2)
    store.put([4, 5], np.array([[1, 1], [2, 2]], np.float32))
    assert np.isnan(store.cosines(np.zeros(2, np.float32), 6)).all()


def test_zero_vectors_and_wrong_widths():
    store = VectorStore(3)
    store.put([0], np.zeros((1, 3), np.float32))
    assert store.cosines(np.ones(3, np.float32), 1)[0] == 0
    with pytest.raises(ValueError, match="expected"):
        store.put([0], np.zeros((1, 2), np.float32))
    with pytest.raises(ValueError, match="expected"):
        store.cosines(np.ones(2, np.float32), 1)


def test_renumbering_follows_rows():
    store = VectorStore(2)
    store.put([0, 1, 2], np.array([[1, 0], [0, 1], [1, 1]], np.float32))
    store.renumber(np.array([-1, 0, 1], np.int32))
    assert 2 not in store and len(store) == 2
    assert store.cosines(np.array([0, 1], np.float32), 2).tolist() == pytest.approx([1, 0.7071], abs=0.01)
