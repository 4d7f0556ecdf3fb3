"""Every weight and threshold of ranking and relevance, with what it was fitted on; none is defined anywhere else.

BM25F and fusion were fitted on LoCoMo's dev half, then on the dev sets of LoCoMo (5 dialogues), LongMemEval (250
questions) and BEAM 100K (5 chats) with all-MiniLM-L6-v2; the other halves were not looked at. `python -m bench recall
--data DIR --fit` prints the curves. Everything else was set by hand and says so.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Parameters of BM25F; the field weights are for the neighbours' words, a row's own words count 1.

    `rarity` is the exponent of a word's idf: 1.5 gained LoCoMo .010 recall@10 and LongMemEval .016 NDCG@10 over 1. A
    piece of `short` words takes half of its neighbours' words, a longer one less; 0: all. `name_alone` is how much more
    a rare name weighs without vectors: up to 1.25 no set loses.
    """

    k1: float = 0.5
    b: float = 0.4
    previous: float = 0.7
    following: float = 0.3
    before_previous: float = 0.4
    date: float = 1.0
    short: float = 30.0
    query_terms: int = 32
    rarity: float = 1.5
    name_alone: float = 1.25


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """Weights of the keyword score (scaled to 1 at its best) and of the cosine (z-scored) with its neighbours'.

    `long` is added to `vector` for a long piece. `asking` is what a message loses that ends with a question.
    `conversation` is the share of its conversation's best that a message gains; `phrase` what it gains for neighbouring
    words, `second` for resembling the best few. docs/recall.md says what each gains.
    """

    keyword: float = 0.5
    vector: float = 0.06
    previous: float = 0.5
    following: float = 0.5
    asking: float = 0.05
    long: float = 0.02
    conversation: float = 0.05
    phrase: float = 0.6
    second: float = 0.06


LENDING, DECAY, LENT_AMONG = 5, 0.8, 256
"""How many of the best messages of a conversation lend to the others, by what factor each lends less than the one
before it, and among how many of the overall best they are chosen."""
STANDING, ALIKE_TO, MAX_CANDIDATES = 10, 3, 128
"""A second look leaves the first STANDING of a ranking as they are and ranks the others of the first MAX_CANDIDATES
again, by how much they resemble the best ALIKE_TO."""
FEW, RARE = 5, 0.02
"""Passages, or share of all, up to which a name is rare: where two people talk, each is named all the time."""
DUPLICATE_COSINE = 0.96
"""The cosine from which two passages say the same. Set by hand: paraphrases lie below .93."""
BY_MEANING = 0.15
"""The weighted z-score from which "meaning" is given as a reason. Set by hand."""
BY_NEIGHBOURS = 0.2
"""The keyword score, relative to the best, above which "words nearby" is given as a reason. Set by hand."""

# Relevance: what a reply is not given at all. Set by hand in the first version, except CLOSE_SHARE.
COVERAGE = 0.34
"""The share of the question's words, by rarity, from which a passage counts as relevant for its words alone."""
SOME_MEANING, SOME_COVERAGE = 0.625, 0.15
"""Shares of the model's floor (`webapp/llm/packaged_models.py`) and of the question's words that suffice together."""
MANY_WORDS = 0.5
"""COVERAGE's counterpart by number of words."""
NEARBY = 0.5
"""The relative keyword score from which a message counts by its neighbours' words, if some hit covers this much."""
CLOSE_SHARE = 0.35
"""The share of the best score from which a passage comes with a certain one: .25 costs 100 tokens, for nothing."""
SEARCH_SHARE = 0.2
"""The same for a search box, where a person chooses. Set by hand."""
SIMILAR_QUESTION = 0.5
"""The share of common words from which two questions are much the same. Set by hand."""
IRRELEVANT_FACTOR = 0.25
"""The factor for the score of a passage that was called not relevant for such a question. Set by hand."""

# A reply's excerpts.
REPEAT_FACTOR = 0.8
"""The factor for the score of another piece of the same message: without it BEAM's reply recall is .07 lower."""
CORE = 200
"""UTF-8 bytes of a piece's core: LoCoMo's reply recall is .855 at 300, .870 at 200, .888 at 140."""
ORDINARY = 0.5
"""Confidence × importance × decay of an ordinary, fresh memory: it ranks like a message of the same relevance."""
