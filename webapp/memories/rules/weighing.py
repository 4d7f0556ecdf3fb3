"""What a claim is measured against: how it relates to what is known, and which memories it touches."""

from __future__ import annotations

from dataclasses import replace

from webapp.memories.rules.admission import Claim
from webapp.memories.rules.board import Board
from webapp.memories.rules.keyed import CUES, is_users_own, key_holds
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.likeness import (
    Likeness,
    compare,
    cosine,
    differs_in_particulars,
    is_correcting,
    is_ending,
    is_negative,
    particulars_of,
)
from webapp.memories.rules.policy import Policy, Standing, is_older
from webapp.memories.rules.soundness import says_more, telling, value_stands
from webapp.memories.rules.speech import names_language, split_language
from webapp.memories.rules.state import KnownMemory
from webapp.memories.rules.turning import denies
from webapp.text.words import stems, words

LEAST_FRAME = 2
"""Terms that two statements must share, besides their names and numbers, for one to correct the other."""


def standing_of(claim: Claim, current: KnownMemory, policy: Policy) -> Standing:
    """How a claim relates to what it contradicts: older words yield; what the user wrote only they may change."""
    if is_older(claim.evidence.moment, current):
        return Standing.YIELDS
    standing = policy.standing(claim.draft.confidence, current.confidence)
    if standing is Standing.REPLACES and (current.is_protected or claim.is_doubtful):
        return Standing.WAITS
    return standing


def overruled(claim: Claim, current: KnownMemory, board: Board) -> KnownMemory | None:
    """The record that the same value has lost to the same fact before."""
    return next(
        (
            memory
            for memory in (
                board.in_slot(claim.draft.slot) if claim.draft.slot else board.find_all(lambda m: not m.slot)
            )
            if not memory.is_open
            and memory.superseded_by == current.ref
            and (memory.value == claim.draft.value if claim.draft.slot else memory.has_said(claim.draft.content))
        ),
        None,
    )


def stale_proposals(history: list[KnownMemory], claim: Claim, policy: Policy) -> list[KnownMemory]:
    """The values waiting for the user that are settled by a usable one said later."""
    return [
        memory
        for memory in history
        if memory.is_open
        and memory.needs_review
        and not memory.is_archived
        and not memory.is_protected
        and not is_older(claim.evidence.moment, memory)
        and policy.may_replace(claim.draft.confidence, memory.confidence)
    ]


def is_known(memory: KnownMemory, claim: Claim) -> bool:
    """Whether a memory, closed or not, already says this based on these very words."""
    says = memory.has_said(claim.draft.content)
    if claim.draft.slot:
        says = memory.slot == claim.draft.slot and (says or memory.value == claim.draft.value)
    return says and memory.rests_on(claim.evidence)


def is_more_than(claim: Claim, memory: KnownMemory) -> bool:
    return says_more(claim.draft.content, memory.content, cosine(memory.embedding, claim.embedding))


def without_key(claim: Claim) -> Claim:
    draft = replace(claim.draft, fact_key=None, fact_value=None)
    return replace(claim, draft=draft)


def holds(memory: KnownMemory, claim: Claim) -> bool:
    """Whether a memory says everything that a claim does: it contains it word for word; or, resting on the same words,
    it contains the quote, or one of the two has all terms of the other."""
    known = _spaced(memory.content)
    if memory.rests_on(claim.evidence) and _spaced(claim.evidence.quote) in known:
        return True
    if is_negative(memory.content) != is_negative(claim.draft.content):
        return False
    mine, theirs = set(telling(claim.draft.content)), set(telling(memory.content))
    subset = bool(mine and theirs) and (mine <= theirs or (theirs <= mine and not is_more_than(claim, memory)))
    return _spaced(claim.draft.content) in known or (memory.rests_on(claim.evidence) and subset)


def was_noted(memory: KnownMemory, claim: Claim) -> bool:
    """Whether the assistant noted these very words during its reply, in a statement that shares a word with the claim:
    one quote is not kept twice, by the tool and by the extraction that reads the turn afterwards."""
    shares = bool(set(telling(memory.content)) & set(telling(claim.draft.content)))
    return memory.origin == "tool" and claim.draft.origin != "tool" and shares and memory.rests_on(claim.evidence)


def noted_as(claim: Claim, board: Board) -> list[KnownMemory]:
    """The memories without a key that were made from the same words and state the fact that a keyed claim files: one
    quote is not kept twice, whichever came first. They contain its value, and say no more, or say it as such a fact."""
    key, value = claim.draft.slot, claim.draft.fact_value
    if key is None or not value:
        return []
    said = set(stems(words(f"{claim.draft.content} {value}")))
    return list(
        board.find_all(
            lambda m: (
                m.is_current
                and not m.slot
                and not m.is_protected
                and m.rests_on(claim.evidence)
                and value_stands(value, m.content)
                and is_negative(m.content) == is_negative(claim.draft.content)
                and (set(stems(words(m.content))) <= said or (key in CUES and key_holds(key, value, m.content)))
            )
        )
    )


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


def near(claim: Claim, board: Board, policy: Policy, likeness: Likeness) -> list[KnownMemory]:
    """The memories of the same type without a key that are like the claim in the wanted way, most similar first."""
    similar: list[tuple[float, KnownMemory]] = []
    for memory in board.find_all(lambda m: not m.slot and m.memory_type == claim.draft.memory_type):
        similarity = cosine(memory.embedding, claim.embedding)
        bounds = (policy.merge_similarity, policy.contradiction_similarity)
        if compare(memory.content, claim.draft.content, similarity, *bounds) is likeness:
            similar.append((similarity, memory))
    return [memory for _, memory in sorted(similar, key=lambda item: -item[0])]


def ended_by(claim: Claim, board: Board, policy: Policy) -> KnownMemory | None:
    """The current memory without a key that a statement says is over: "gave up coffee" ends "takes coffee black"."""
    if not is_ending(f"{claim.draft.content} {claim.evidence.quote}"):
        return None
    wanted = set(telling(claim.draft.content))
    touched = [
        (cosine(memory.embedding, claim.embedding), memory)
        for memory in board.find_all(
            lambda m: m.is_current and not m.slot and not m.rests_on(claim.evidence) and not is_ending(m.content)
        )
        if wanted & set(telling(memory.content))
    ]
    near = [pair for pair in touched if pair[0] >= policy.related_similarity or pair[1].embedding is None]
    return max(near, key=lambda pair: pair[0])[1] if near else None


def denied_by(claim: Claim, board: Board) -> KnownMemory | None:
    """The current keyed fact that the user says is not so, or no longer: "I don't live in Bristol"."""
    return board.find(
        lambda m: (
            m.is_current
            and m.slot is not None
            and is_users_own(m.slot)
            and not m.rests_on(claim.evidence)
            and denies(m.fact_value, claim.evidence.quote)
            and denies(m.fact_value, claim.draft.content)
        )
    )


def relanguaged(claim: Claim, board: Board) -> KnownMemory | None:
    """The current wish that names another language to answer in, and otherwise says the same."""
    if claim.draft.memory_type != MemoryType.INSTRUCTION or not names_language(claim.draft.content):
        return None
    mine, others = split_language(claim.draft.content)
    return board.find(
        lambda m: (
            m.is_current
            and not m.slot
            and m.memory_type == MemoryType.INSTRUCTION
            and names_language(m.content)
            and split_language(m.content)[0] != mine
            and (split_language(m.content)[1] <= others or others <= split_language(m.content)[1])
        )
    )


def corrected_by(claim: Claim, board: Board) -> KnownMemory | None:
    """The current memory without a key that says the same with another name or number, if the words correct it: "my
    best half marathon is 1:39 now" corrects "best half marathon is 1:42"."""
    content = claim.draft.content
    if not is_correcting(f"{content} {claim.evidence.quote} {claim.sentence}"):
        return None
    return board.find(
        lambda m: (
            m.is_current
            and not m.slot
            and not m.rests_on(claim.evidence)
            and differs_in_particulars(content, m.content)
            and _same_frame(content, m.content)
        )
    )


def _same_frame(left: str, right: str) -> bool:
    """Whether two statements say the same except for the names and numbers that only one of them has."""
    shared = particulars_of(left) & particulars_of(right)
    mine, theirs = _frame(left, shared), _frame(right, shared)
    return len(mine) >= LEAST_FRAME and 3 * len(mine & theirs) >= 2 * len(mine | theirs)


def _frame(statement: str, shared: frozenset[str]) -> set[str]:
    """What a statement says apart from its own names and numbers, and from words that only correct."""
    particular = {term for word in particulars_of(statement) - shared for term in stems(words(word))}
    return {term for term in telling(statement) if term not in particular and not is_correcting(term)}


def may_leave_review(memory: KnownMemory, claim: Claim, policy: Policy, against: KnownMemory | None = None) -> bool:
    """Whether better evidence settles why a memory waits: it was doubtful. A contradiction is for the user to settle,
    unless it is with a fact of the same key that the evidence outranks."""
    settled = memory.contradicts is None or (against is not None and memory.contradicts == against.ref)
    return memory.needs_review and settled and policy.is_usable(claim.draft.confidence)


def may_contradict(left: KnownMemory, right: KnownMemory) -> bool:
    if left.ref == right.ref or right.ref in left.settled_with or left.ref in right.settled_with:
        return False
    return left.is_current and right.is_current


def was_proposed(claim: Claim, target: KnownMemory, board: Board) -> bool:
    return board.find(lambda memory: memory.contradicts == target.ref and memory.rests_on(claim.evidence)) is not None
