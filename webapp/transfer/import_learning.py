"""Learning from imported conversations, if their owner wants it: with an estimate, a cap and pauses; oldest first.

Everything found waits in review; a killed job repeats at most one model call.
"""

import math
import time
from typing import Any

from sqlalchemy import func, select, tuple_

from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, write_transaction
from webapp.errors import Conflict
from webapp.extensions import app_settings
from webapp.i18n.marks import N_
from webapp.llm.errors import MalformedOutput, ModelError, NoModel
from webapp.memories.learning import past_conversations
from webapp.providers.catalogue import background_choice, catalogue, has_background_model
from webapp.telemetry import logs
from webapp.transfer.models import Import, ImportedMessage
from webapp.transfer.schemas import Estimate, LearnFields
from webapp.transfer.service import get_import
from webapp.usage.records import cost
from webapp.usage.service import require_room

CALLS = 4
"""Model calls of one job, as in `webapp/background/job_specs.py`; then it is the turn of others."""
SECONDS = 60.0
CHARACTERS = 3.5
"""Characters per token, on average across languages."""
CALL_TOKENS = 3_000
"""Tokens of conversation per call; the instructions and what is already known come on top."""
OVERHEAD_TOKENS = 2_500
ANSWER_TOKENS = 350
FINAL_STATUSES = ("done", "stopped")

Price = tuple[float | None, float | None] | None


def estimate(user_id: int, import_id: int) -> Estimate:
    """Return tokens and price of learning from all conversations of an import. Raises NotFound."""
    get_import(user_id, import_id)
    rows = db.session.execute(
        select(func.sum(func.length(Message.content)), func.max(Message.role == "user"))
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(*_learnable(user_id, import_id), Message.superseded_by_id.is_(None))
        .group_by(Message.conversation_id)
    ).all()
    tokens = [math.ceil(int(size) / CHARACTERS) for size, asked in rows if asked]
    calls = sum(max(1, math.ceil(count / CALL_TOKENS)) for count in tokens)
    input_tokens, output_tokens = sum(tokens) + calls * OVERHEAD_TOKENS, calls * ANSWER_TOKENS
    model, prices = _model_and_price()
    dollars = cost(model, (input_tokens, 0, output_tokens), prices)
    return Estimate(
        conversations=len(tokens),
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        dollars=dollars,
        model=model,
    )


def begin(user_id: int, import_id: int, fields: LearnFields) -> Import:
    """Start learning, or continue after a pause, up to some tokens or dollars. Raises NotFound, Conflict, TooMany."""
    row = get_import(user_id, import_id, lock=True)
    state = dict(row.learning or {})
    if row.stage not in ("done", "cancelled"):
        raise Conflict("Nothing can be learned from an import that has not run yet or has been undone.")
    if row.learn_status == "running":
        raise Conflict("That is already being done.")
    if row.learn_status in FINAL_STATUSES:
        raise Conflict(
            "Everything has already been read." if row.learn_status == "done" else "This has been stopped for good."
        )
    if not has_background_model():
        raise Conflict(NoModel.default_detail)
    require_room(user_id)
    total = len(db.session.scalars(_conversations(user_id, import_id)).all())
    if not total:
        raise Conflict("This import has no conversation to learn from.")
    fresh = {"read": 0, "calls": 0, "input_tokens": 0, "output_tokens": 0, "proposed": 0, "failed": 0}
    limits = fields.model_dump(include={"most_tokens", "most_dollars"})
    row.learning = fresh | state | {"of": total, "reason": None} | limits
    row.learn_status, row.updated_at = "running", now()
    db.session.flush()
    enqueue_after_commit("learn", import_id=import_id)
    return row


def stop(user_id: int, import_id: int, *, for_good: bool) -> Import:
    """Stop after the current model call, or only pause; what was found stays in review. Raises NotFound, Conflict."""
    row = get_import(user_id, import_id, lock=True)
    if row.learn_status not in ("running", *(["paused"] if for_good else [])):
        raise Conflict("Nothing is being learned from this import.")
    row.learn_status, row.updated_at = "stopped" if for_good else "paused", now()
    db.session.flush()
    return row


def run(import_id: int, *, seconds: float = SECONDS) -> str:
    """Continue for a few calls; returns the status afterwards. Raises ModelError if a later try may help."""
    end = time.monotonic() + seconds
    calls = 0
    price = _model_and_price()[1]
    db.session.rollback()
    while True:
        place = _next(import_id)
        if isinstance(place, str):
            return place
        conversation_id, after, user_id = place
        logs.set_context(job="learn", import_id=import_id, user_id=user_id, conversation_id=conversation_id)
        step, failed = None, False
        try:
            step = past_conversations.ask_about(conversation_id, after)
        except ModelError as error:
            if isinstance(error, NoModel) or (error.retryable and not isinstance(error, MalformedOutput)):
                raise
            failed = True  # what cannot be read is skipped, and counted
        status = _write(import_id, (conversation_id, after), step, price, failed=failed)
        if status != "running":
            return status
        calls += step is not None and step.answer is not None
        if calls >= CALLS or time.monotonic() > end:
            with write_transaction():
                enqueue_after_commit("learn", import_id=import_id)
            return "running"


def _next(import_id: int) -> tuple[int, int, int] | str:
    """Return the conversation, the message after which to continue, and its owner; or the status, without one."""
    with write_transaction():
        row = db.session.get(Import, import_id, with_for_update=True)
        if row is None or row.learn_status != "running":
            return (row.learn_status if row else "") or "gone"
        state = dict(row.learning or {})
        if state.get("at"):
            return int(state["at"]), int(state.get("after") or 0), row.user_id
        statement = _conversations(row.user_id, import_id)
        if state.get("last"):
            last = db.session.get(Conversation, state["last"])
            moment = last.created_at if last is not None else None
            if moment is not None:
                statement = statement.where(
                    tuple_(Conversation.created_at, Conversation.conversation_id) > tuple_(moment, state["last"])
                )
            else:
                statement = statement.where(Conversation.conversation_id > state["last"])
        next_row = db.session.scalar(statement.limit(1))
        row.updated_at = now()
        if next_row is None:
            row.learn_status, row.learning = "done", state | {"reason": None}
            return "done"
        row.learning = state | {"at": next_row, "after": 0}
        return next_row, 0, row.user_id


def _write(
    import_id: int, place: tuple[int, int], step: past_conversations.Step | None, price: Price, *, failed: bool
) -> str:
    """Store what was found with the new position, unless another run was faster; returns the status."""
    conversation_id, after = place
    with write_transaction():
        row = db.session.get(Import, import_id, with_for_update=True)
        state = dict(row.learning or {}) if row is not None else {}
        if row is None or state.get("at") != conversation_id or (state.get("after") or 0) != after:
            return (row.learn_status if row else "") or "gone"
        result = past_conversations.write(step) if step is not None else None
        state["failed"] = state.get("failed", 0) + failed
        if step is not None and step.answer is not None and result is not None:
            proposed = result.counts["in_review"]
            state["calls"] += 1
            state["input_tokens"] += step.tokens[0]
            state["output_tokens"] += step.tokens[1]
            state["proposed"] += proposed
            state["model"] = step.answer.model
            if result.change_set_id:
                row.change_set_ids = [*row.change_set_ids, result.change_set_id]
                row.counts = row.counts | {"memories proposed": row.counts.get("memories proposed", 0) + proposed}
        if result is not None and result.has_more and result.last_id > after:
            state["after"] = result.last_id
        else:
            state |= {"at": None, "after": 0, "last": conversation_id, "read": state["read"] + 1}
        reason = _limit_reason(state, price)
        if reason and row.learn_status == "running":
            row.learn_status, state["reason"] = "paused", reason
        row.learning, row.updated_at = state, now()
        return row.learn_status or "gone"


def _limit_reason(state: dict[str, Any], price: Price) -> str | None:
    """Return why the learning may not continue, in words; None if it may."""
    tokens = state["input_tokens"] + state["output_tokens"]
    if state.get("most_tokens") is not None and tokens >= state["most_tokens"]:
        return N_("The tokens you allowed are used up.")
    if state.get("most_dollars") is not None:
        spent = cost(state.get("model"), (state["input_tokens"], 0, state["output_tokens"]), price)
        if spent is not None and spent >= state["most_dollars"]:
            return N_("The amount you allowed is used up.")
    return None


def _model_and_price() -> tuple[str | None, Price]:
    """Return the model for background work, and its price if an admin set one."""
    target = background_choice()
    if target is None:
        return app_settings().model.background_model, None
    prices = next(((o.input_price, o.output_price) for o in catalogue.read().offered if o.target.id == target.id), None)
    return target.model, prices


def _learnable(user_id: int, import_id: int) -> tuple[Any, ...]:
    """Return the conditions for conversations that an import brought and that memories may be made from."""
    statement = select(ImportedMessage.conversation_id).where(ImportedMessage.import_id == import_id)
    return (
        Conversation.user_id == user_id,
        Conversation.conversation_id.in_(statement),
        Conversation.deleted_at.is_(None),
        Conversation.uses_memory.is_(True),
        Conversation.makes_memory.is_(True),
    )


def _conversations(user_id: int, import_id: int) -> Any:
    """Return the ids of those conversations, oldest first."""
    return (
        select(Conversation.conversation_id)
        .where(*_learnable(user_id, import_id))
        .order_by(Conversation.created_at, Conversation.conversation_id)
    )
