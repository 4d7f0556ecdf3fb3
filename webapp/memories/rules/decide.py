"""The rules of memory: what happens to every operation a model proposes; deterministic, in any order, idempotent."""

from collections.abc import Sequence
from dataclasses import replace

from webapp.memories.rules.check import Claim, Refusal, check, rests_on_nothing, stands_in
from webapp.memories.rules.kinds import canonical_fact_key, canonical_value
from webapp.memories.rules.operations import Action, MemoryOperation
from webapp.memories.rules.policy import ClaimStanding, is_older
from webapp.memories.rules.relations import (
    claim_standing,
    contains,
    earlier_loss,
    is_known,
    is_related,
    is_restated_by,
    is_shorter_lived,
    may_contradict,
    may_leave_review,
    outlives,
    predecessors,
    similar_memories,
    stale_proposals,
    was_noted,
    was_proposed,
)
from webapp.memories.rules.state import AddEvidence, Close, Flag, KnownMemory, Origin, Revise, SourceMessage, State
from webapp.memories.rules.working_copy import Board, Plan
from webapp.text.canonical import canonical_statement, plain_text

MAX_VALUES = 2
"""How many values of one key an answer may give."""


def decide(operations: Sequence[MemoryOperation], state: State, origin: Origin = "extraction") -> Plan:
    """Return an effect, or a rejection, for each operation of a call, in the order the user said them."""
    board = Board(state.memories)
    if not state.is_trusted:
        operations = _drop_scattered_keys(operations)
    claims: list[Claim] = []
    rejections: dict[int, Refusal] = {}
    for index, operation in enumerate(operations):
        verdict = check(index, operation, state, origin)
        if isinstance(verdict, Claim):
            claims.append(verdict)
        else:
            rejections[index] = verdict
    for claim in sorted(claims, key=lambda claim: claim.order):
        refusal = _weigh(claim, board)
        if refusal is not None:
            rejections[claim.index] = refusal
    if origin != "tool":  # what a tool notes is not all that a message says
        for message in filter(lambda message: message.previous, state.messages):
            _look_for_losses(message, state, board)
    return Plan(tuple(board.effects), dict(sorted(rejections.items())))


def _look_for_losses(message: SourceMessage, state: State, board: Board) -> None:
    """Have what rests on nothing since its author changed a message wait, or end for what stands there again."""
    for memory in filter(None, (board.get(memory.ref) for memory in state.memories)):
        if not rests_on_nothing(memory, message):
            continue
        before = next((item for item in predecessors(memory, state.memories) if stands_in(item, message)), None)
        if before is not None:
            board.apply(Close(memory.ref, max(item.said_at for item in memory.evidence), superseded_by=before.ref))
            board.apply(AddEvidence(before.ref, (), before.confidence, before.until, clears_review=True))
        elif memory.is_current:
            board.apply(Flag(memory.ref))


def _drop_scattered_keys(operations: Sequence[MemoryOperation]) -> list[MemoryOperation]:
    """Return the operations, without those keys that one answer gives more than two values (an old and a new one)."""
    values: dict[str | None, set[str]] = {}
    for operation in operations:
        slot = canonical_fact_key(operation.fact_key, operation.category)
        values.setdefault(slot, set()).add(canonical_value(operation.fact_value, operation.content))
    return [
        operation.model_copy(update={"fact_key": None, "fact_value": None})
        if operation.fact_key and len(values[canonical_fact_key(operation.fact_key, operation.category)]) > MAX_VALUES
        else operation
        for operation in operations
    ]


def _weigh(claim: Claim, board: Board) -> Refusal | None:
    if claim.action is Action.RETRACT:
        return _weigh_retraction(claim, board)
    if board.find(lambda memory: is_known(memory, claim)):
        return Refusal.KNOWN
    if claim.draft.slot:
        return _weigh_fact(claim, board)
    target = board.get(claim.target)
    is_change = target is not None and target.is_open and not target.has_wording(claim.form)
    if target is not None and is_change and is_related(claim, target) and not is_shorter_lived(claim, target):
        return _weigh_change(claim, target, board)  # a number chosen at random costs no memory
    return _weigh_statement(claim, board)


# Keyed facts -------------------------------------------------------------------------------------------------------


def _weigh_fact(claim: Claim, board: Board) -> Refusal | None:
    slot, value = claim.draft.slot, claim.draft.value
    history = board.in_slot(slot or "")
    current = next((memory for memory in history if memory.is_current), None)
    duplicate = next((memory for memory in history if memory.is_open and memory.value == value), None)
    if board.find(lambda m: _supports(m, claim) and (duplicate is not None or not _can_adopt_key(claim, m))):
        return Refusal.KNOWN  # whatever was learned under the key since
    is_waiting = duplicate is not None and duplicate.needs_review and not duplicate.is_archived
    if duplicate is not None and (current in (None, duplicate) or is_waiting):
        _confirm(claim, duplicate, board)
        return None
    if current is not None and is_shorter_lived(claim, current):
        return _weigh_statement(replace(claim, draft=replace(claim.draft, fact_key=None, fact_value=None)), board)
    if current is not None:
        return _settle_conflict(claim, current, board)
    said_at = claim.evidence.said_at
    if any(memory.value == value and memory.valid_to and memory.valid_to > said_at for memory in history):
        return Refusal.OLDER  # it ended after this was said
    if (twin := board.find_statement(claim.form)) is not None and twin.slot != slot:
        if _can_adopt_key(claim, twin):
            board.assign_key(twin, claim)
        else:
            board.add_evidence(twin, claim)
        return None
    is_sure = claim.is_usable and claim.is_trusted
    board.insert(claim, needs_review=not claim.is_usable, replaces=stale_proposals(history, claim) if is_sure else ())
    return None


def _settle_conflict(claim: Claim, current: KnownMemory, board: Board) -> Refusal | None:
    """Another value for a known fact, or another statement: the later word wins if it is sure enough. From a trusted
    model it replaces the known one, and the change is shown; from any other, that waits for the user to settle it."""
    standing = claim_standing(claim, current)
    if standing is ClaimStanding.YIELDS and (loss := earlier_loss(claim, current, board)):
        board.add_evidence(loss, claim)
    elif standing is ClaimStanding.YIELDS:
        board.insert(claim, overruled_by=current.ref)
    elif standing is ClaimStanding.WAITS:
        board.insert(claim, needs_review=True, contradicts=current.ref)
    elif standing is ClaimStanding.PRECEDES and board.find_statement(claim.form) is current:
        board.assign_key(current, claim)  # the same words, read otherwise
    elif standing is ClaimStanding.PRECEDES:
        board.insert(claim, precedes=current)
    else:
        slot = claim.draft.slot
        stale = stale_proposals(board.in_slot(slot), claim) if slot else []
        board.insert(claim, replaces=[current, *stale])
    return None


def _confirm(claim: Claim, memory: KnownMemory, board: Board) -> None:
    """More words for a memory that says the same: if it waits beside another, the later ones are used; if it was set
    aside for one that has ended, it is, unless its key has another value now."""
    disputed = board.get(memory.contradicts) if memory.needs_review else None
    history = board.in_slot(memory.slot) if memory.slot else []
    holder = next((other for other in history if other.is_current and other.ref != memory.ref), None)
    # It may have waited beside a value that has been replaced since: it disputes the fact, not that value.
    opponent = holder if disputed is None or (holder and disputed.slot != memory.slot) else disputed
    rival = holder or (opponent if opponent is not None and opponent.is_current else None)
    is_settled = may_leave_review(memory, claim, opponent=opponent)
    if is_settled and rival is not None:
        is_settled = _prefer_repeated(claim, memory, rival, board)
    is_back = holder is None and outlives(memory, claim, board.get(memory.superseded_by))
    board.add_evidence(memory, claim, is_used=is_settled or is_back)


def _prefer_repeated(claim: Claim, memory: KnownMemory, rival: KnownMemory, board: Board) -> bool:
    """Have a memory that the user said again used instead of its rival, which ends or waits; tell whether it is."""
    standing = claim_standing(claim, rival)
    if standing is ClaimStanding.REPLACES:
        board.apply(Close(rival.ref, claim.evidence.said_at, superseded_by=memory.ref))
    elif standing is ClaimStanding.PRECEDES:
        board.apply(Flag(rival.ref, memory.ref))
    return standing in (ClaimStanding.REPLACES, ClaimStanding.PRECEDES)


def _supports(memory: KnownMemory, claim: Claim) -> bool:
    """Return whether a claim's words bear a memory that says the same under another key, or under none."""
    has_other_slot = memory.slot != claim.draft.slot and memory.rests_on(claim.evidence)
    return has_other_slot and memory.has_wording(claim.form)


def _can_adopt_key(claim: Claim, twin: KnownMemory) -> bool:
    """Return whether a memory in the words of a keyed fact, stored without a key, may get that key."""
    may_change = twin.is_current and not twin.slot and not twin.is_protected
    return may_change and claim.is_usable and not is_older(claim.evidence.moment, twin)


# Statements without a key ------------------------------------------------------------------------------------------


def _weigh_statement(claim: Claim, board: Board) -> Refusal | None:
    similar = similar_memories(claim, board)
    if any(memory.rests_on(claim.evidence) for memory in similar):
        return Refusal.KNOWN
    if board.find(lambda m: m.rests_on(claim.evidence) and (was_noted(m, claim) or contains(m, claim))):
        return Refusal.KNOWN  # also if later words of the turn closed it: deciding again would find it so
    duplicate = board.find_statement(claim.form) or next((memory for memory in similar if memory.is_open), None)
    if duplicate is not None:
        _confirm(claim, duplicate, board)
        return None
    if board.find(lambda m: m.has_wording(claim.form) and is_older(claim.evidence.moment, m)):
        return Refusal.OLDER  # closed or reworded since: an earlier statement does not bring it back
    board.insert(claim, needs_review=not claim.is_usable)
    return None


def _weigh_change(claim: Claim, target: KnownMemory, board: Board) -> Refusal | None:
    """An update or supersession in words without a key: a rewording, or the person's later word against a memory."""
    if target.slot and target.rests_on(claim.evidence):
        return Refusal.KNOWN
    if is_older(claim.evidence.moment, target):
        return Refusal.OLDER
    supersedes = claim.action is Action.SUPERSEDE
    duplicate = board.find_statement(claim.form)
    if duplicate is not None:
        if supersedes and may_contradict(duplicate, target):
            _settle_known(claim, duplicate, target, board)
            board.add_evidence(duplicate, claim)
        else:
            _confirm(claim, duplicate, board)
        return None
    if supersedes:
        return _settle_conflict(claim, target, board)
    standing = claim_standing(claim, target)
    if standing is ClaimStanding.PRECEDES or (standing is ClaimStanding.REPLACES and target.slot):
        return _weigh_statement(claim, board)  # beside the rest, or a fact: words without a value change none
    if standing is ClaimStanding.REPLACES:
        board.apply(Revise(target.ref, claim.draft, (claim.evidence,), claim.embedding))
    elif standing is ClaimStanding.WAITS:
        board.insert(claim, needs_review=True, contradicts=target.ref)
    else:
        board.insert(claim, overruled_by=target.ref)
    return None


def _settle_known(claim: Claim, duplicate: KnownMemory, target: KnownMemory, board: Board) -> None:
    """Two stored memories contradict each other and the user repeated one of them: it wins, or both are shown."""
    if _prefer_repeated(claim, duplicate, target, board):
        return
    waiting, current = (target, duplicate) if duplicate.is_protected else (duplicate, target)
    if not waiting.is_protected:
        board.apply(Flag(waiting.ref, current.ref))


def _weigh_retraction(claim: Claim, board: Board) -> Refusal | None:
    """Close a memory that the user said is no longer true, without forgetting it; one written by hand is flagged."""
    target = board.get(claim.target)
    if target is None and claim.draft.slot:
        target = next((memory for memory in board.in_slot(claim.draft.slot) if memory.is_current), None)
        if target is not None and claim.draft.fact_value and target.value != claim.draft.value:
            target = None
    if target is None or not is_related(claim, target):
        return Refusal.UNKNOWN_MEMORY
    if not target.is_open or target.rests_on(claim.evidence) or was_proposed(claim, target, board):
        return Refusal.KNOWN
    if is_older(claim.evidence.moment, target):
        return Refusal.OLDER
    if claim.is_trusted and claim.is_usable and not target.is_protected:
        board.apply(Close(target.ref, claim.evidence.said_at, evidence=(claim.evidence,)))
        return None
    return _dispute(claim, target, board)


def _dispute(claim: Claim, target: KnownMemory, board: Board) -> Refusal | None:
    """Put the user's words beside the memory that they deny: they are about its fact, but are no new value for it.

    If another memory that is in use says the same already, that is put there instead.
    """
    texts = [claim.draft.content, *([claim.evidence.quote] if claim.may_be_quoted else [])]
    statement = next((text for text in texts if canonical_statement(text) != target.form), None)
    if statement is None:
        return Refusal.KNOWN
    denial = board.find(lambda m: m.ref != target.ref and is_restated_by(m, canonical_statement(statement), claim))
    if denial is not None:
        return _use_as_denial(claim, denial, target, board)
    claim = replace(claim, draft=replace(claim.draft, content=plain_text(statement), fact_key=None, fact_value=None))
    if target.is_protected or not claim.is_usable:
        board.insert(claim, needs_review=True, contradicts=target.ref)
    else:
        board.insert(claim, precedes=target)
    return None


def _use_as_denial(claim: Claim, denial: KnownMemory, target: KnownMemory, board: Board) -> Refusal | None:
    """Settle a memory that the user's words deny with the one that says the same as they do."""
    waits_alone = denial.is_open and denial.needs_review and not denial.is_archived and denial.contradicts is None
    is_protected = denial.is_protected and target.is_protected
    if is_older(claim.evidence.moment, denial):
        return Refusal.OLDER
    if waits_alone and target.is_current:
        board.apply(Flag(denial.ref, target.ref))
    elif may_contradict(denial, target) and not is_protected:
        _settle_known(claim, denial, target, board)
    else:
        return Refusal.KNOWN
    if not denial.rests_on(claim.evidence):
        board.add_evidence(denial, claim)
    return None
