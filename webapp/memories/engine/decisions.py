"""The rules of memory: what becomes of every operation that a model proposes.

`decide` is deterministic, does not depend on the order of the operations, and decides nothing new when asked again
after its plan was applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from webapp.memories.engine.admission import Claim, Refusal, admit
from webapp.memories.engine.board import Board, Plan, Rejection
from webapp.memories.engine.likeness import Likeness, compare, cosine
from webapp.memories.engine.operations import Action, MemoryOperation
from webapp.memories.engine.policy import Policy, is_older
from webapp.memories.engine.state import KnownMemory, Origin, State
from webapp.text.canonical import plain_text

DEFAULT_POLICY = Policy()


def decide(
    operations: Sequence[MemoryOperation],
    state: State,
    policy: Policy = DEFAULT_POLICY,
    origin: Origin = "extraction",
) -> Plan:
    """Weigh the operations of one call against what is known and return the effects to apply.

    Claims are taken in the order in which the user said them; each sees the effects of those before it.
    """
    considered = operations[: policy.max_operations]
    admitted = [(i, admit(i, operation, state, policy, origin)) for i, operation in enumerate(considered)]
    rejections = [Rejection(i, verdict) for i, verdict in admitted if isinstance(verdict, Refusal)]
    board = Board(state.memories)
    for claim in sorted((verdict for _, verdict in admitted if isinstance(verdict, Claim)), key=lambda c: c.order):
        refusal = _weigh(claim, board, policy)
        if refusal is not None:
            rejections.append(Rejection(claim.index, refusal))
    return Plan(
        effects=tuple(board.effects),
        rejections=tuple(sorted(rejections, key=lambda rejection: rejection.index)),
        capped=len(operations) - len(considered),
    )


def _weigh(claim: Claim, board: Board, policy: Policy) -> Refusal | None:
    if claim.action is Action.RETRACT:
        return _weigh_retraction(claim, board, policy)
    if claim.draft.slot:
        return _weigh_fact(claim, board, policy)
    target = board.get(claim.target)
    if target is not None and target.is_open and not target.has_said(claim.draft.content):
        return _weigh_change(claim, target, board, policy)
    return _weigh_statement(claim, board, policy)


# Keyed facts -------------------------------------------------------------------------------------------------------


def _weigh_fact(claim: Claim, board: Board, policy: Policy) -> Refusal | None:
    slot, value = claim.draft.slot, claim.draft.value
    history = board.in_slot(slot or "")
    if any(_is_known(memory, claim) for memory in history):
        return Refusal.KNOWN
    current = next((memory for memory in history if memory.is_current), None)
    same = next((memory for memory in history if memory.is_open and memory.value == value), None)
    if current is not None and same is current:
        board.add_evidence(current, claim)
        return None
    if current is not None:
        return _contest(claim, current, same, board, policy)
    if same is not None:
        board.add_evidence(same, claim, clears_review=_may_leave_review(same, claim, policy))
        return None
    said_at = claim.evidence.said_at
    if any(memory.value == value and memory.valid_to and memory.valid_to > said_at for memory in history):
        return Refusal.OLDER  # it ended after this was said
    twin = board.saying(claim.draft.content)
    if twin is not None and twin.slot != slot:
        return _adopt_twin(claim, twin, board, policy)
    usable = policy.is_usable(claim.draft.confidence)
    board.insert(claim, needs_review=not usable, replaces=_stale_proposals(history, claim, policy) if usable else ())
    return None


def _contest(
    claim: Claim, current: KnownMemory, same: KnownMemory | None, board: Board, policy: Policy
) -> Refusal | None:
    """Another value for a fact that is known. The stronger stands, the weaker is kept as history."""
    confidence = claim.draft.confidence
    wins = not is_older(claim.evidence.moment, current) and policy.may_replace(
        confidence, claim.explicit, current.confidence
    )
    if same is not None and same.needs_review and not same.is_archived:
        promoted = wins and not current.is_protected and _may_leave_review(same, claim, policy, against=current)
        if promoted:
            board.supersede(current, same, claim)
        board.add_evidence(same, claim, clears_review=promoted)
        return None
    if not wins:
        heard = _overruled(claim, current, board)
        if heard is None:
            board.insert(claim, overruled_by=current.ref)
        else:
            board.add_evidence(heard, claim)
    elif current.is_protected or not policy.is_usable(confidence):
        board.insert(claim, needs_review=True, contradicts=current.ref)
    else:
        stale = _stale_proposals(board.in_slot(claim.draft.slot or ""), claim, policy)
        board.insert(claim, replaces=[current, *stale])
    return None


def _overruled(claim: Claim, current: KnownMemory, board: Board) -> KnownMemory | None:
    """The record of the same value having lost to the same fact before."""
    return next(
        (
            memory
            for memory in board.in_slot(claim.draft.slot or "")
            if not memory.is_open and memory.superseded_by == current.ref and memory.value == claim.draft.value
        ),
        None,
    )


def _adopt_twin(claim: Claim, twin: KnownMemory, board: Board, policy: Policy) -> Refusal | None:
    """A keyed fact whose very statement is stored without that key: not twice, so one takes the other's place."""
    if twin.rests_on(claim.evidence):
        return Refusal.KNOWN
    usable = policy.is_usable(claim.draft.confidence)
    if twin.slot or twin.is_protected or not usable or is_older(claim.evidence.moment, twin):
        board.add_evidence(twin, claim)
    else:
        board.insert(claim, replaces=[twin])
    return None


def _stale_proposals(history: list[KnownMemory], claim: Claim, policy: Policy) -> list[KnownMemory]:
    """The values that wait for the user and are settled by a usable one that was said later."""
    return [
        memory
        for memory in history
        if memory.is_open
        and memory.needs_review
        and not memory.is_archived
        and not memory.is_protected
        and not is_older(claim.evidence.moment, memory)
        and policy.may_replace(claim.draft.confidence, claim.explicit, memory.confidence)
    ]


# Statements without a key ------------------------------------------------------------------------------------------


def _weigh_statement(claim: Claim, board: Board, policy: Policy) -> Refusal | None:
    alike = _near(claim, board, policy, Likeness.SAME)
    if board.find(lambda memory: _is_known(memory, claim)) or any(m.rests_on(claim.evidence) for m in alike):
        return Refusal.KNOWN
    same = board.saying(claim.draft.content) or next((memory for memory in alike if memory.is_open), None)
    if same is not None:
        board.add_evidence(same, claim, clears_review=_may_leave_review(same, claim, policy))
        return None
    if board.find(lambda m: m.has_said(claim.draft.content) and is_older(claim.evidence.moment, m)):
        return Refusal.OLDER  # closed or reworded since: what was said before does not bring it back
    opposite = next((m for m in _near(claim, board, policy, Likeness.OPPOSED) if m.is_current), None)
    doubtful = not policy.is_usable(claim.draft.confidence)
    board.insert(claim, needs_review=doubtful or opposite is not None, contradicts=opposite.ref if opposite else None)
    return None


def _weigh_change(claim: Claim, target: KnownMemory, board: Board, policy: Policy) -> Refusal | None:
    """An update or supersession of a memory without a key. A rewording may be made; a contradiction is shown."""
    if board.find(lambda memory: _is_known(memory, claim)):
        return Refusal.KNOWN
    if is_older(claim.evidence.moment, target):
        return Refusal.OLDER
    known = board.saying(claim.draft.content)
    if known is not None:
        board.add_evidence(known, claim)
        if claim.action is Action.SUPERSEDE and _may_contradict(known, target):
            waiting, standing = (target, known) if known.is_protected else (known, target)
            if not waiting.is_protected:
                board.flag(waiting, standing)
        return None
    confidence = claim.draft.confidence
    if claim.action is Action.SUPERSEDE or target.is_protected or not policy.is_usable(confidence):
        board.insert(claim, needs_review=True, contradicts=target.ref)
        return None
    if not policy.may_replace(confidence, claim.explicit, target.confidence):
        return Refusal.WEAKER
    board.revise(target, claim.draft, claim)
    return None


def _weigh_retraction(claim: Claim, board: Board, policy: Policy) -> Refusal | None:
    """The user said that something no longer holds: it is closed, not forgotten. What they wrote waits for them."""
    target = board.get(claim.target)
    if target is None and claim.draft.slot:
        target = next((memory for memory in board.in_slot(claim.draft.slot) if memory.is_current), None)
        if target is not None and claim.draft.fact_value and target.value != claim.draft.value:
            target = None
    if target is None:
        return Refusal.UNKNOWN_MEMORY
    if not target.is_open or target.rests_on(claim.evidence) or _was_proposed(claim, target, board):
        return Refusal.KNOWN
    if is_older(claim.evidence.moment, target):
        return Refusal.OLDER
    if target.is_protected or not policy.is_usable(claim.draft.confidence):
        return _propose_retraction(claim, target, board)
    board.retract(target, claim)
    return None


def _propose_retraction(claim: Claim, target: KnownMemory, board: Board) -> Refusal | None:
    """Put the user's words beside the memory that they deny; they are about its fact but not a value of it."""
    texts = [claim.draft.content, *([claim.evidence.quote] if claim.may_be_quoted else [])]
    words = next((text for text in texts if not board.saying(text)), None)
    if words is None:
        return Refusal.KNOWN
    proposal = replace(claim.draft, content=plain_text(words), fact_key=None, fact_value=None)
    board.insert(replace(claim, draft=proposal), needs_review=True, contradicts=target.ref)
    return None


def _was_proposed(claim: Claim, target: KnownMemory, board: Board) -> bool:
    return board.find(lambda memory: memory.contradicts == target.ref and memory.rests_on(claim.evidence)) is not None


# Shared ------------------------------------------------------------------------------------------------------------


def _is_known(memory: KnownMemory, claim: Claim) -> bool:
    """Whether a memory, closed or not, already says this on account of these very words."""
    says = memory.has_said(claim.draft.content)
    if claim.draft.slot:
        says = memory.slot == claim.draft.slot and (says or memory.value == claim.draft.value)
    return says and memory.rests_on(claim.evidence)


def _near(claim: Claim, board: Board, policy: Policy, likeness: Likeness) -> list[KnownMemory]:
    """The memories of the same type and no key that are like the claim in the wanted way, most similar first."""
    found: list[tuple[float, KnownMemory]] = []
    for memory in board.find_all(lambda m: not m.slot and m.memory_type == claim.draft.memory_type):
        similarity = cosine(memory.embedding, claim.embedding)
        bounds = (policy.merge_similarity, policy.contradiction_similarity)
        if compare(memory.content, claim.draft.content, similarity, *bounds) is likeness:
            found.append((similarity, memory))
    return [memory for _, memory in sorted(found, key=lambda item: -item[0])]


def _may_leave_review(memory: KnownMemory, claim: Claim, policy: Policy, against: KnownMemory | None = None) -> bool:
    """Whether better evidence settles why a memory waits: it was doubtful. A contradiction is for the user to settle,
    except with a fact of the same key that the evidence outranks."""
    settled = memory.contradicts is None or (against is not None and memory.contradicts == against.ref)
    return memory.needs_review and settled and policy.is_usable(claim.draft.confidence)


def _may_contradict(left: KnownMemory, right: KnownMemory) -> bool:
    if left.ref == right.ref or right.ref in left.settled_with or left.ref in right.settled_with:
        return False
    return left.is_current and right.is_current
