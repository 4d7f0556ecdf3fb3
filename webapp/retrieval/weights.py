"""Every weight and threshold of ranking and relevance, with what fitted it; none stands anywhere else.

The weights of BM25F and of fusion come from LoCoMo's dev half, in the first version. On 22 November 2026 k1, b, date,
rarity and those of fusion, and what names its numbers here, were tried on the three dev sets together (LoCoMo, 5
dialogues; LongMemEval, 250 questions pooled; BEAM 100K, 5 chats) with all-MiniLM-L6-v2 and every second question;
only `rarity` moved, and later `short`, `long`, `own`, `conversation` and `phrase` came in, on all questions, and
`wish` on 23 November, the same weight whichever of BEAM's chats is left out. The other
halves of the sets were not looked at. `python -m bench recall --data DIR --fit` prints the curve of every weight of the
two classes. What else there is was set by hand and says so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Parameters of BM25F; the field weights are those of the neighbours' words, the own words count 1.

    `rarity` is the power of a word's idf: 1.5 gave LoCoMo .010 recall@10 and LongMemEval .016 NDCG@10 over 1.
    `short`: a piece of so many words takes half of its neighbours' words on, a longer one less; 0 is all of them.
    `name_alone` is how much more a rare name weighs while there are no vectors (`bench recall --away --fit`): up to
    1.25 no set loses; at 1.5 LongMemEval gains .003 NDCG@10 and loses .010 recall@10; a larger `rarity` loses more.
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

    `long` comes on top of `vector` for a long piece, whose vector tells more than that of "Yes, last year!". `asking`
    is what a message that ends with a question loses: it seldom holds the answer. `own` is what the assistant's
    messages lose where the question is about the user, `wish` what a message gains in which the user says how answers
    should be ("Always give step-by-step proofs when I ask about congruence"), if it is nearer in meaning than most;
    `conversation` the share that a message gains of the scores of
    the best of its conversation, `phrase` what it gains for words that stand side by side in the question and in it,
    and `second` what comes after the first ten for how like the best few it is. A larger `vector` gains on BEAM what
    it costs on LoCoMo, whose turns are short. docs/recall.md has what each gives.
    """

    keyword: float = 0.5
    vector: float = 0.06
    previous: float = 0.5
    following: float = 0.5
    asking: float = 0.05
    long: float = 0.02
    own: float = 0.06
    wish: float = 0.15
    conversation: float = 0.05
    phrase: float = 0.6
    second: float = 0.06


LENDING, DECAY, LENT_AMONG = 5, 0.8, 256
"""How many of the best messages of a conversation lend to the others, each so much of the one before it, and among how
many of the best of all they are looked for."""
STANDING, ALIKE_TO, LOOKED_AT = 10, 3, 128
"""A second look leaves the first ten of a ranking as they are and ranks the others of so many anew, by how like the
best three they are."""
FEW, RARE = 5, 0.02
"""Passages, or the share of all, up to which a name is rare: where two people talk, each is named all the time."""
ALIKE_VECTORS = 0.96
"""Cosine from which on two passages say the same. Set by hand: paraphrases lie below .93."""
BY_MEANING = 0.15
"""Weighted z-score from which on "meaning" is named as a reason. Set by hand."""
BY_NEIGHBOURS = 0.2
"""Keyword score, relative to the best, from which on "words nearby" is. Set by hand."""

# Relevance: what a reply is not given at all. Set by hand in the first version, but for NEARLY.
COVERAGE = 0.34
"""Share of the question's words, by rarity, from which on a passage is taken for its words alone."""
SOME_MEANING, SOME_COVERAGE = 0.625, 0.15
"""Shares of its model's floor (`webapp/llm/floors.py`) and of the question's words that do together."""
MANY_WORDS = 0.5
"""The same share by number of words."""
NEARBY = 0.5
"""Keyword score, relative to the best, of a message that answers what the one before it asked."""
NEARLY = 0.35
"""Share of the score of the best from which on a passage comes along with one that is certain: .25 gives no more
recall and 100 tokens more."""
LISTED = 0.2
"""The same in a search box, where a person chooses. Set by hand."""
SIMILAR_QUESTION = 0.5
"""Share of words in common from which on two questions are much the same. Set by hand."""
UNWANTED = 0.25
"""What is left of the score of a passage that was called not relevant for such a question. Set by hand."""

# A reply's excerpts.
AGAIN = 0.8
"""What is left of the score of another piece of the same message: without it BEAM's reply recall is .07 lower."""
CORE = 200
"""UTF-8 bytes of the core of a piece, a sentence or two: LoCoMo's reply recall is .855 at 300, .870 at 200, .888 at
140, where answers begin to be cut in two."""
ORDINARY = 0.5
"""Confidence × importance × decay of an ordinary, fresh memory: one such ranks like a message of the same relevance."""
