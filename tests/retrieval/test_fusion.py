"""Fusion and ties."""

import numpy as np
import pytest

from webapp.retrieval.fusion import best_rows, best_rows_of_groups, fuse, rescore_rest, standardise, with_neighbours
from webapp.retrieval.weights import FusionWeights

ALL = np.ones(4, bool)
NAN = float("nan")


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_standardising_sees_only_allowed_rows_with_a_vector():
    z = standardise(floats(1, 3, NAN, 99), np.array([True, True, True, False]), ALL)
    assert z.tolist() == [-1, 1, 0, 0]
    assert standardise(floats(0.5, NAN, NAN, NAN), ALL, ALL).tolist() == [1, 0, 0, 0]
    assert standardise(floats(2, 2, 2, 2), ALL, ALL).tolist() == [1, 1, 1, 1]


def test_rows_that_do_not_count_are_measured_by_those_that_do():
    z = standardise(floats(1, 3, 9, 99), np.array([True, True, True, False]), np.array([True, True, False, True]))
    assert z.tolist() == [-1, 1, 7, 0]


def test_a_long_piece_has_more_of_its_vector():
    weights = FusionWeights(keyword=0.5, vector=0.1, long=0.1)
    fused = fuse(floats(0, 0), floats(1, 1), np.ones(2, bool), weights, floats(1, 0))
    assert fused.tolist() == pytest.approx([0.1, 0.2])


def test_the_best_of_a_conversation_lend_to_each_other_and_nobody_else():
    groups, times = np.array([0, 7, 7, 8]), np.zeros(4, np.int64)
    scores = floats(0.6, 0.55, 0.5, 0.52)
    assert best_rows_of_groups(scores, times, 4, groups, 0.1).tolist() == [1, 0, 2, 3]
    assert scores.tolist() == pytest.approx([0.6, 0.55 + 0.095, 0.5 + 0.095, 0.52 + 0.052])
    unlent = floats(0.6, 0.55, 0.5, -np.inf)
    assert best_rows_of_groups(unlent, times, 2, groups, 0.0).tolist() == [0, 1]
    assert unlent.tolist() == pytest.approx([0.6, 0.55, 0.5, -np.inf])


def test_a_second_look_ranks_what_is_like_the_best_first_but_behind_the_first_ten():
    scores = np.linspace(1, 0.4, 13, dtype=np.float32)
    before, likeness = scores.copy(), np.zeros(13, np.float32)
    likeness[12] = 1
    rescore_rest(scores, list(range(13)), likeness, 0.05)
    assert scores[:10].tolist() == before[:10].tolist()
    assert scores[12] > scores[10] > scores[11] and scores[12] <= scores[9]
    rescore_rest(scores, list(range(13)), likeness, 9.0)
    assert scores[12] == scores[9] and scores[10] < 0


def test_neighbours_add_their_share():
    weights = FusionWeights(previous=0.5, following=0.25)
    previous, following = np.array([-1, 0, 1, -1]), np.array([1, 2, -1, -1])
    assert with_neighbours(floats(4, 8, 0, 2), previous, following, weights).tolist() == [6, 10, 4, 2]


def test_fusing_scales_keywords_to_the_best_allowed():
    weights = FusionWeights(keyword=0.5, vector=0.1)
    allowed = np.array([True, True, True, False])
    fused = fuse(floats(10, 5, 0, 100), floats(0, 1, 5, 9), allowed, weights)
    assert fused.tolist() == pytest.approx([0.5, 0.35, 0.5, -np.inf])
    assert fuse(floats(0, 0, 0, 0), None, ALL, weights).tolist() == [0, 0, 0, 0]


def test_equal_scores_go_to_the_newest():
    scores = floats(0.5, 0.50001, -np.inf, 0.7)
    assert best_rows(scores, np.array([20, 10, 99, 1]), 9).tolist() == [3, 0, 1]
    assert best_rows(scores, np.array([20, 10, 99, 1]), 1).tolist() == [3]
    assert best_rows(floats(), np.array([], np.int64), 3).tolist() == []
