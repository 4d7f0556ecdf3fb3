"""Relations of a claim to what is known: what it says again, contradicts, settles or is older than."""

from collections.abc import Sequence

import numpy as np

from webapp.memories.rules.check import Claim
from webapp.memories.rules.grounding import names_and_numbers_of
from webapp.memories.rules.policy import (
    MAYBE_SAME_COSINE,
    RELATED_COSINE,
    SAME_COSINE,
    USABLE_AT,
    ClaimStanding,
    at_least,
    is_older,
    may_replace,
)
from webapp.memories.rules.state import KnownMemory
from webapp.memories.rules.working_copy import Board
from webapp.text.words import plain_form, stems, words


def cosine(left: np.ndarray | None, right: np.ndarray | None) -> float:
    """Return the cosine of two vectors of the same length; 0 if one is missing or zero, or their lengths differ."""
    if left is None or right is None or left.shape != right.shape:
        return 0.0
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.dot(left, right)) / norm if norm > 0 else 0.0


def is_same(left: str, right: str, similarity: float) -> bool:
    """Return whether two statements have near vectors and the same words in some form: vectors hardly show a "not"."""
    return similarity >= SAME_COSINE and word_forms(left) == word_forms(right)


def may_be_same(left: str, right: str, similarity: float) -> bool:
    """Return whether two statements may say the same in other words, so that somebody has to read them to tell."""
    return similarity >= MAYBE_SAME_COSINE and names_and_numbers_of(left) == names_and_numbers_of(right)


def word_forms(statement: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names, numbers and signs of a statement, and its words in one form each."""
    tokens = words(plain_form(statement))
    forms = (term or word for term, word in zip(stems(tokens, keep_stop_words=True), tokens, strict=True))
    return names_and_numbers_of(statement), frozenset(forms)


def claim_standing(claim: Claim, current: KnownMemory) -> ClaimStanding:
    """Return how a claim relates to what it contradicts: older words yield; the user's own only they may change."""
    confidence = claim.draft.confidence
    is_weaker = not (at_least(confidence, USABLE_AT) or at_least(confidence, current.confidence))
    if is_weaker or is_older(claim.evidence.moment, current):
        return ClaimStanding.YIELDS
    if current.is_protected or not claim.is_usable or not may_replace(confidence, current.confidence):
        return ClaimStanding.WAITS
    return ClaimStanding.REPLACES if claim.is_trusted else ClaimStanding.PRECEDES


def is_shorter_lived(claim: Claim, memory: KnownMemory) -> bool:
    """Return whether a claim holds until a day and a memory without one, which it therefore does not end."""
    return claim.draft.until is not None and memory.until is None


def is_known(memory: KnownMemory, claim: Claim) -> bool:
    """Return whether a memory, closed or not, already says this based on these very words."""
    if not memory.rests_on(claim.evidence) or (claim.draft.slot and memory.slot != claim.draft.slot):
        return False
    return memory.has_wording(claim.form) or bool(claim.draft.slot and memory.value == claim.draft.value)


def is_restated_by(memory: KnownMemory, form: str, claim: Claim) -> bool:
    """Return whether a memory says this, or did when the claim was made and was reworded or closed by later words."""
    if memory.is_open and memory.form == form:
        return True
    is_later = memory.valid_to is not None and memory.valid_to >= claim.evidence.said_at
    return memory.has_wording(form) and (is_later or is_older(claim.evidence.moment, memory))


def was_noted(memory: KnownMemory, claim: Claim) -> bool:
    """Return whether the tool noted these words in a statement that shares a word with the claim."""
    shares = bool(set(stems(words(memory.content))) & set(stems(words(claim.draft.content))))
    return memory.origin == "tool" and claim.draft.origin != "tool" and shares and memory.is_open


def contains(memory: KnownMemory, claim: Claim) -> bool:
    """Return whether a memory that rests on the same words has all those of the claim, in the same order."""
    return (memory.is_current or not memory.is_open) and _padded_words(claim.draft.content) in _padded_words(
        memory.content
    )


def _padded_words(text: str) -> str:
    return f" {' '.join(words(text))} "


def is_related(claim: Claim, target: KnownMemory) -> bool:
    """Return whether a trusted model says that a claim is about a memory, they share a word, or are near."""
    if claim.is_trusted:
        return True
    stemmed = set(stems(words(f"{claim.draft.content} {claim.evidence.quote}")))
    shares = not stemmed.isdisjoint(stems(words(target.content)))
    return shares or cosine(target.embedding, claim.embedding) >= RELATED_COSINE


def similar_memories(claim: Claim, board: Board) -> list[KnownMemory]:
    """Return the memories of the same type without a key that say the same, most similar first."""
    similar = [
        (similarity, memory)
        for memory in board.find_all(lambda m: not m.slot and m.memory_type == claim.draft.memory_type)
        if is_same(memory.content, claim.draft.content, similarity := cosine(memory.embedding, claim.embedding))
    ]
    return [memory for _, memory in sorted(similar, key=lambda item: -item[0])]


def earlier_loss(claim: Claim, current: KnownMemory, board: Board) -> KnownMemory | None:
    """Return the record that the same value has lost to the same fact before."""
    slot, value = claim.draft.slot, claim.draft.value
    lost = board.find_all(lambda m: not m.is_open and m.superseded_by == current.ref and m.slot == slot)
    return next((m for m in lost if (m.value == value if slot else m.has_wording(claim.form))), None)


def stale_proposals(history: Sequence[KnownMemory], claim: Claim) -> list[KnownMemory]:
    """Return the values waiting for the user that are settled by a usable one said later."""
    return [
        memory
        for memory in history
        if memory.is_open
        and memory.needs_review
        and not memory.is_archived
        and not memory.is_protected
        and not is_older(claim.evidence.moment, memory)
        and may_replace(claim.draft.confidence, memory.confidence)
    ]


def may_leave_review(memory: KnownMemory, claim: Claim, opponent: KnownMemory | None = None) -> bool:
    """Return whether evidence settles why a memory waits: doubt, or a fact of the same key that it outranks."""
    is_settled = memory.contradicts is None or (opponent is not None and memory.contradicts == opponent.ref)
    return memory.needs_review and is_settled and at_least(claim.draft.confidence, USABLE_AT)


def outlives(memory: KnownMemory, claim: Claim, kept: KnownMemory | None) -> bool:
    """Return whether a memory is said for sure after the end of the one that it was set aside for (`kept`)."""
    end = kept.valid_to if kept is not None else None
    return memory.is_archived and end is not None and claim.evidence.said_at > end and claim.is_usable


def may_contradict(left: KnownMemory, right: KnownMemory) -> bool:
    if left.ref == right.ref or right.ref in left.settled_with or left.ref in right.settled_with:
        return False
    return left.is_current and right.is_current


def was_proposed(claim: Claim, target: KnownMemory, board: Board) -> bool:
    """Return whether the same words already stand as a memory on one side of a contradiction with the target."""
    resting = board.find_all(lambda memory: memory.rests_on(claim.evidence))
    return any(memory.contradicts == target.ref or memory.ref == target.contradicts for memory in resting)


def predecessors(memory: KnownMemory, memories: Sequence[KnownMemory]) -> list[KnownMemory]:
    """Return what a memory replaced, and what that had replaced, the latest first."""
    closed = [known for known in memories if not known.is_open]
    replaced: list[KnownMemory] = []
    refs = {memory.ref}
    while latest := [known for known in closed if known.superseded_by in refs and known not in replaced]:
        replaced += latest
        refs = {known.ref for known in latest}
    return replaced
