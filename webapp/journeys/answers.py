"""A user's changes to a point by hand: confirm, reject, correct, skip, ask again, and undo."""

from dataclasses import replace
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import delete, select

from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, now
from webapp.errors import Conflict, require
from webapp.journeys.assessment import retire, write_state
from webapp.journeys.assessment_merge import Assessment, PointState, Quote, Replacement, after_lost_evidence, merge
from webapp.journeys.guides import lock_point_memory, postpone_point
from webapp.journeys.models import ConversationPoint, PointEvidence, PointMemory
from webapp.journeys.point_views import PointView, aims_of
from webapp.journeys.points import find_point, journey_view, load_evidence, newest_evidence, state_of
from webapp.journeys.report_job import request_reports
from webapp.journeys.schemas import PointAnswer
from webapp.memories.models import Memory
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.service import get_memory

_STATE = TypeAdapter(PointState)
_RESTORED = ("set_aside", "settled_conflicts", "settled_for")
REOPENING_MARGIN = 0.1
"""A confirmed memory's confidence stays this far below a point's threshold: it is evidence, but settles nothing."""


class LockedPoint:
    """A point of a conversation, with what is known about it for the user locked until the transaction ends."""

    def __init__(self, user_id: int, conversation_id: int, slug: str):
        self.user_id = user_id
        self.conversation: Conversation = get_conversation(user_id, conversation_id, lock=True)
        self.point: ConversationPoint = find_point(self.conversation, slug)
        self.row: PointMemory = lock_point_memory(user_id, self.point)
        self.all: list[Quote] = load_evidence([self.row.point_memory_id], conversation_id)[self.row.point_memory_id]

    @property
    def evidence(self) -> list[Quote]:
        """Return the evidence that counts now."""
        return [item for item in self.all if item.retired_at is None]

    @property
    def state(self) -> PointState:
        """Return what is known, as far as its evidence still exists."""
        return after_lost_evidence(state_of(self.row), len(self.evidence))

    def remember(self) -> None:
        """Keep the current state, to undo the change that follows."""
        rows = db.session.execute(
            select(PointEvidence.evidence_id, PointEvidence.retired).where(
                PointEvidence.evidence_id.in_([item.evidence_id for item in self.evidence])
            )
        )
        self.row.before_change = {
            "state": _STATE.dump_python(state_of(self.row), mode="json"),
            # Only how much of each was replaced: words are kept with the evidence alone, where forgetting finds them.
            "evidence": {str(evidence_id): len(retired or ()) for evidence_id, retired in rows},
            **{name: getattr(self.row, name) for name in _RESTORED},
            "confirmed_at": self.row.confirmed_at.isoformat() if self.row.confirmed_at else None,
        }

    def piece(self, evidence_id: int) -> Quote:
        """Return a piece of evidence that counts. Raises NotFound."""
        row = next((item for item in self.evidence if item.evidence_id == evidence_id), None)
        return require(row, "There is no such answer to this point.")

    def finish(self) -> PointView:
        """Return the point after the change; outdated summaries are made again."""
        db.session.flush()
        request_reports(self.user_id, self.point.journey_id)
        return self.view()

    def view(self, *, prefill: bool = True) -> PointView:
        """Return the point as it is now."""
        journey = journey_view(self.user_id, self.point.journey_id, self.conversation, prefill=prefill)
        return require(journey.view(self.point.slug), "There is no such point in this conversation.")


def answer(user_id: int, conversation_id: int, slug: str, given: PointAnswer) -> PointView:
    """Store what the user says of a point, of a memory offered for it, or of an answer. Raises NotFound, Conflict."""
    lock, is_yes = LockedPoint(user_id, conversation_id, slug), given.answer == "yes"
    if given.text is not None:
        _correct(lock, given.text, given.evidence_id)
    elif given.memory_id is not None:
        (_confirm_memory if is_yes else _dismiss_memory)(lock, given.memory_id)
    elif given.answer == "both":
        _accept_disagreement(lock)
    elif given.evidence_id is not None:
        (_choose if is_yes else _withdraw_answer)(lock, given.evidence_id)
    elif is_yes:  # what other conversations established, or what was said long ago
        lock.row.confirmed_at = now()
    else:
        _ask_again(lock)
    return lock.finish()


def _confirm_memory(lock: LockedPoint, memory_id: int) -> None:
    """Confirm a memory from elsewhere as one piece of evidence. Raises NotFound, Conflict if it cannot be one."""
    memory = get_memory(lock.user_id, memory_id)
    if memory.user_id != lock.user_id or memory.valid_to is not None or memory.is_archived:
        raise Conflict("This memory is no longer true.")
    if memory.memory_type == MemoryType.INSTRUCTION.value:
        raise Conflict("An instruction says how to answer. It is not an answer to a topic.")
    row, point = lock.row, lock.point
    if all(item.memory_id != memory_id for item in lock.evidence):
        lock.remember()
        state = lock.state
        db.session.add(_from_memory(row, memory))
        share = min(
            memory.confidence / max(1, len(point.completion_criteria)), point.confidence_threshold - REOPENING_MARGIN
        )
        assessment = Assessment(False, max(share, state.confidence), now())
        write_state(row, merge(state, assessment, point.confidence_threshold, rests_on=len(lock.evidence) + 1))
    row.confirmed_at = now()


def _from_memory(row: PointMemory, memory: Memory) -> PointEvidence:
    """Return the memory as evidence: with the words it rests on and their date, if there are any."""
    source, _ = newest_evidence([memory.memory_id]).get(memory.memory_id, (None, None))
    is_used = source is not None and db.session.scalar(
        select(PointEvidence.evidence_id).where(
            PointEvidence.point_memory_id == row.point_memory_id,
            PointEvidence.message_id == source.message_id,
            PointEvidence.start == source.start,
            PointEvidence.end == source.end,
        )
    )
    evidence = PointEvidence(
        point_memory_id=row.point_memory_id,
        memory_id=memory.memory_id,
        quote=memory.content,
        said_at=memory.created_at or now(),
        extracted_points=[memory.content],
        structured_data={},
    )
    if source is not None and not is_used:
        evidence.message_id, evidence.quote, evidence.said_at = source.message_id, source.quote, source.said_at
        evidence.start, evidence.end = source.start, source.end
    return evidence


def _dismiss_memory(lock: LockedPoint, memory_id: int) -> None:
    """Record that a memory does not answer this point; it stays a memory. Raises NotFound."""
    get_memory(lock.user_id, memory_id)
    lock.row.dismissed_memory_ids = sorted({*(lock.row.dismissed_memory_ids or ()), memory_id})


def _withdraw_answer(lock: LockedPoint, evidence_id: int) -> None:
    """Withdraw an answer that the user says is wrong, and reopen the point. Raises NotFound."""
    wrong = lock.piece(evidence_id)
    lock.remember()
    _retire(wrong, "not right")
    write_state(lock.row, after_lost_evidence(lock.state, len(lock.evidence) - 1))


def _correct(lock: LockedPoint, text: str, evidence_id: int | None) -> None:
    """Store the right answer that the user wrote, replacing one or added to the others. Raises NotFound."""
    wrong = lock.piece(evidence_id) if evidence_id is not None else None
    lock.remember()
    state, point = lock.state, lock.point
    left = len(lock.evidence) - (wrong is not None)
    if wrong is not None:
        _retire(wrong, "replaced")
    db.session.add(
        PointEvidence(
            point_memory_id=lock.row.point_memory_id,
            quote=text,
            said_at=now(),
            extracted_points=[text],
            structured_data={},
            criteria=list(wrong.criteria) or None if wrong is not None else None,
        )
    )
    assessment = Assessment(
        state.is_addressed, max(state.confidence, point.confidence_threshold - REOPENING_MARGIN), now()
    )
    write_state(lock.row, merge(state, assessment, point.confidence_threshold, rests_on=left + 1))
    if lock.row.is_addressed:
        lock.row.settled_for = aims_of(point)


def _choose(lock: LockedPoint, evidence_id: int) -> None:
    """Keep the chosen one of several disagreeing answers; the others stay in the history. Raises NotFound."""
    right = lock.piece(evidence_id)
    pairs = [pair for pair in lock.view(prefill=False).conflicts if evidence_id in (pair.one, pair.other)]
    lock.remember()
    left = len(lock.evidence)
    for pair in pairs:
        other = pair.other if pair.one == evidence_id else pair.one
        value = str(lock.piece(other).structured_data.get(pair.name, ""))
        statements = [text for text in lock.piece(other).extracted_points if value and value in text]
        left -= retire(other, Replacement(statements, [pair.name]))
    state = lock.state
    write_state(lock.row, replace(state, rests_on=min(state.rests_on, left)))
    if right.message_id is None:
        lock.row.confirmed_at = now()


def _accept_disagreement(lock: LockedPoint) -> None:
    """Record that two answers which seem to disagree are both right."""
    pairs = [[pair.one, pair.other] for pair in lock.view(prefill=False).conflicts]
    lock.remember()
    lock.row.settled_conflicts = [*(lock.row.settled_conflicts or ()), *pairs]


def skip(user_id: int, conversation_id: int, slug: str, choice: str) -> PointView:
    """Stop asking the user about a point (`skip`), or ask about it last (`later`). Raises NotFound."""
    lock = LockedPoint(user_id, conversation_id, slug)
    lock.remember()
    postpone_point(lock.conversation, lock.point, choice)
    return lock.finish()


def ask_again(user_id: int, conversation_id: int, slug: str) -> PointView:
    """Ask about a point again: undo a skip, or move what is known to its history. Raises NotFound."""
    lock = LockedPoint(user_id, conversation_id, slug)
    _ask_again(lock)
    return lock.finish()


def _ask_again(lock: LockedPoint) -> None:
    lock.remember()
    if lock.row.set_aside is not None:
        postpone_point(lock.conversation, lock.point, None)
    else:
        reset_point_state(lock)


def reset_point_state(lock: LockedPoint) -> None:
    """Move what is known about a point to its history."""
    for item in lock.evidence:
        _retire(item, "asked again")
    write_state(lock.row, PointState())
    lock.row.confirmed_at = None


def undo(user_id: int, conversation_id: int, slug: str) -> PointView:
    """Undo the user's last change to a point. Raises NotFound, Conflict if there is none or it was discussed since."""
    lock = LockedPoint(user_id, conversation_id, slug)
    before = lock.row.before_change
    if before is None:
        raise Conflict("There is nothing to undo, or this has been talked about since.")
    rows = db.session.scalars(
        select(PointEvidence).where(PointEvidence.point_memory_id == lock.row.point_memory_id)
    ).all()
    counted = before["evidence"]
    earlier = {item.evidence_id for item in lock.all if item.retired_at is not None}
    for row in rows:
        if str(row.evidence_id) in counted:
            row.retired_at = row.retired_why = None
            row.retired = (row.retired or [])[: counted[str(row.evidence_id)]] or None
        elif row.evidence_id not in earlier:
            db.session.delete(row)
    write_state(lock.row, _STATE.validate_python(before["state"]))
    for name in _RESTORED:
        setattr(lock.row, name, before[name])
    lock.row.confirmed_at = datetime.fromisoformat(before["confirmed_at"]) if before["confirmed_at"] else None
    lock.row.before_change = None
    return lock.finish()


def forget_state(row: PointMemory) -> None:
    """Delete what is known about a point, including its history."""
    db.session.execute(delete(PointEvidence).where(PointEvidence.point_memory_id == row.point_memory_id))
    write_state(row, PointState())
    row.confirmed_at = row.before_change = row.settled_for = row.settled_conflicts = None
    row.set_aside = row.set_aside_at = None
    db.session.flush()


def _retire(item: Quote, why: str) -> None:
    row = db.session.get_one(PointEvidence, item.evidence_id)
    row.retired_at, row.retired_why = now(), why
