"""Keyword scores against a plain computation of the same formula."""

import math
import random
from collections import Counter
from datetime import date

import numpy as np
import pytest

from webapp.retrieval.bm25f import NONE, KeywordIndex
from webapp.retrieval.weights import Weights

# No two of one stem.
WORDS = [f"{letter}ork{letter}x" for letter in "bcdfghjklmnpqrtvwxz"]


def plain_scores(texts: dict[int, str], order: list[int], query: str, weights: Weights) -> dict[int, float]:
    """BM25F by the book over rows in one order, without dates."""
    counts = {row: Counter(texts[row].split()) for row in order}
    mean = sum(sum(count.values()) for count in counts.values()) / len(order)
    scores = dict.fromkeys(order, 0.0)
    for term in dict.fromkeys(query.split()):
        having = sum(term in counts[row] for row in order)
        if not having:
            continue
        idf = math.log1p((len(order) - having + 0.5) / (having + 0.5)) ** weights.rarity
        for place, row in enumerate(order):
            total = 0.0
            fields = ((0, 1.0), (-1, weights.previous), (1, weights.following), (-2, weights.before_previous))
            for offset, weight in fields:
                if 0 <= place + offset < len(order):
                    other = order[place + offset]
                    length = sum(counts[other].values())
                    if offset:
                        weight *= weights.short / (weights.short + sum(counts[row].values()))
                    total += weight * counts[other][term] / (1 - weights.b + weights.b * length / mean)
            scores[row] += idf * (weights.k1 + 1) * total / (total + weights.k1)
    return scores


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5, 6, 7))])
def test_scores_equal_the_formula_through_additions_removals_and_compaction(seed):
    rng = random.Random(seed)
    index, texts, order = KeywordIndex(), {}, []
    for step in range(60):
        if order and rng.random() < 0.3:
            row = order.pop(rng.randrange(len(order)))
            index.remove(row)
            index.remove(row)
        else:
            text = " ".join(rng.choices(WORDS, weights=range(1, 20), k=rng.randrange(1, 12)))
            (row,) = index.append([text], [None])
            place = rng.randrange(len(order) + 1)
            order.insert(place, row)
            texts[row] = text
            index.link(row, order[place - 1] if place else NONE, order[place + 1] if place + 1 < len(order) else NONE)
        if step % 17 == 16 and order:
            renumbered = index.compact()
            texts = {int(renumbered[row]): texts[row] for row in order}
            order = [int(renumbered[row]) for row in order]
            assert len(index) == len(order)
        if not order:
            continue
        query = " ".join(rng.choices(WORDS, k=3))
        found, expected = index.search(query), plain_scores(texts, order, query, index.weights)
        for row in range(len(index)):
            assert found.scores[row] == pytest.approx(expected.get(row, 0.0), rel=1e-4, abs=1e-5)


def test_many_postings_are_merged_and_still_found():
    index = KeywordIndex()
    for start in range(0, 9000, 1000):
        index.append([f"{' '.join(WORDS[:15])} number{n}" for n in range(start, start + 1000)], [None] * 1000)
    (term,) = index.search("number4711").terms
    assert term[2].tolist() == [4711]
    rows = next(rows for word, _, rows in index.search(WORDS[2]).terms if word == WORDS[2])
    assert rows.tolist() == list(range(9000))


def test_the_date_counts_as_words():
    index = KeywordIndex()
    index.append(["walked the dog", "walked the dog", "walked the dog"], [date(2023, 5, 7), date(2023, 6, 7), None])
    for query, best in [("dog in May", 0), ("dog on 2023-06-07", 1), ("walked in June 2023", 1)]:
        assert int(np.argmax(index.search(query).scores)) == best
    assert index.search("May").scores.tolist()[1:] == [0, 0]
    assert np.ptp(index.search("7 dogs").scores) == 0


def test_neighbours_share_their_words_and_removed_ones_do_not():
    index = KeywordIndex()
    index.append(["where shall we go", "to the mountains", "sounds lovely"], [None] * 3)
    index.link(1, 0, 2)
    scores = index.search("mountains").scores
    assert scores[1] > scores[2] > scores[0] > 0
    index.remove(1)
    assert not index.search("mountains").scores.any()
    assert index.previous[2] == 0 and index.next_rows[0] == 2


def test_compaction_forgets_words():
    index = KeywordIndex()
    index.append(["alpha secretword", "alpha beta"], [None, None])
    index.remove(0)
    index.compact()
    assert index._vocabulary.find("secretword") is None and not index._vocabulary.starting_with("secret")
    assert [rows.tolist() for _, _, rows in index.search("alpha beta secretword").terms] == [[0], [0]]


def test_prefix_search_finds_unfinished_words():
    index = KeywordIndex()
    index.append(["a workshop in Oslo", "a worm", "nothing"], [None] * 3)
    assert np.flatnonzero(index.search("oslo works", prefix=True).scores).tolist() == [0]
    assert np.flatnonzero(index.search("wor", prefix=True).scores).tolist() == [0, 1]
    assert not index.search("wor").scores.any()


@pytest.mark.parametrize("query", ["", "the of and", "unknown", "?!", "🎉"])
def test_a_query_without_known_words_finds_nothing(query):
    index = KeywordIndex()
    assert not index.search(query).scores.size
    index.append(["the text", ""], [None, None])
    assert not index.search(query).scores.any()


def test_a_pasted_page_is_searched_by_its_rarest_words():
    index = KeywordIndex()
    index.append([f"common{n % 90}" for n in range(900)] + ["needle in hay"], [None] * 901)
    found = index.search(" ".join(f"common{n}" for n in range(90)) * 20 + " unknown needle")
    assert int(np.argmax(found.scores)) == 900
    assert len(found.terms) <= index.weights.query_terms


def test_without_vectors_a_rare_name_weighs_more():
    index = KeywordIndex(Weights(previous=0, following=0, before_previous=0, name_alone=3))
    texts = [f"the garden work of day {n}" for n in range(40)]
    index.append([*texts, "ylva slept", "gardens and work"], [None] * 42)
    query = "Was there garden work for Ylva"
    plain, alone = (index.search(query, keywords_only=alone) for alone in (False, True))
    idf = {alone: {word: value for word, value, _ in found.terms} for alone, found in ((0, plain), (1, alone))}
    assert idf[1]["ylva"] == pytest.approx(3 * idf[0]["ylva"])
    assert idf[1]["work"] == idf[0]["work"], "a word that is no name weighs what it did"
    assert int(alone.scores.argmax()) == 40
    assert index.search("ylva", keywords_only=True).terms == index.search("ylva").terms, "no capital, no name"
