"""Usage records with prices: stored with the reply they belong to, or right after a background call."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, insert, select, update

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, table_of, writing
from webapp.db.failures import database_is_away
from webapp.llm.complete import Completion
from webapp.providers.catalogue import cached_price
from webapp.telemetry.logs import context
from webapp.text.tokens import estimate_tokens
from webapp.usage import sums
from webapp.usage.models import CHAT, SCHEDULE, UsageRecord

log = logging.getLogger(__name__)

CHARACTERS = 3
"""Characters per token of a background prompt, if the server reports no count; deliberately few."""


def record_reply(
    user_id: int,
    conversation_id: int,
    message_id: int,
    *,
    target: str | None,
    model: str | None,
    tokens: tuple[int | None, int | None, int | None],
    prompt_tokens: int,
    characters: int = 0,
    text: str,
) -> None:
    """Add a reply's tokens in, cached and out, reported or estimated, to the open transaction.

    `prompt_tokens` is our own estimate of the prompt, `characters` its length if that is meaningful.
    """
    input_count, _cached, output_count = tokens
    if input_count is None and output_count is None and not (text and model):
        return
    values = {
        "user_id": user_id,
        "conversation_id": conversation_id,
        "message_id": message_id,
        "kind": CHAT,
        "estimated_tokens": prompt_tokens or None,
        "characters": characters or None,
        **_costs(target, model, tokens, prompt_tokens, text),
    }
    db.session.execute(insert(table_of(UsageRecord)), values)


def count_as_schedule(message_id: int) -> None:
    """Count what a reply cost as a schedule's, in the open transaction; again it changes nothing."""
    conversation_id = select(Message.conversation_id).where(Message.message_id == message_id).scalar_subquery()
    is_reply = (  # by the conversation, of which there is an index
        UsageRecord.conversation_id == conversation_id,
        UsageRecord.message_id == message_id,
        UsageRecord.kind == CHAT,
    )
    mark = sums.lock_mark()
    reply_sums = sums.sums_of(*is_reply, UsageRecord.usage_id <= mark.usage_id)
    statement = update(UsageRecord).where(*is_reply).values(kind=SCHEDULE)
    db.session.execute(statement.execution_options(synchronize_session=False))
    sums.add(reply_sums, -1)
    sums.add({key._replace(source=SCHEDULE): counts for key, counts in reply_sums.items()})


def record_background(kind: str, completion: Completion, target: str | None) -> None:
    """Record a background call's cost, of the model `target`, in a transaction of its own; errors are logged."""
    log_context, usage = context(), completion.usage
    try:
        owner, conversation_id = log_context.get("user_id"), log_context.get("conversation_id")
        if owner is None and conversation_id is None:
            return
        tokens = usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens
        costs = _costs(target, completion.model, tokens, -(-completion.sent // CHARACTERS), completion.text)
        with _separate_transaction() as connection:
            # Locked, and looked for even if the owner is known: it may have been deleted while the model answered.
            query = select(Conversation.user_id).with_for_update(read=True)
            theirs = connection.scalar(query.where(Conversation.conversation_id == conversation_id))
            place = {"conversation_id": conversation_id if theirs else None, "kind": kind[:40]}
            if user_id := owner or theirs:
                connection.execute(insert(table_of(UsageRecord)).values(user_id=user_id, **place, **costs))
    except Exception as error:
        log.warning("usage not recorded", exc_info=not database_is_away(error))


@contextmanager
def _separate_transaction() -> Iterator[Connection]:
    """Yield a transaction that writes, on a connection of its own; other writing would wait for it on SQLite."""
    token = writing.set(True)
    try:
        with db.engine.begin() as connection:
            yield connection
    finally:
        writing.reset(token)


def _costs(
    target: str | None, model: str | None, tokens: tuple[int | None, int | None, int | None], prompt: int, text: str
) -> dict[str, Any]:
    """Return the columns of what an answer cost now: tokens in, cached and out as reported, else estimated."""
    input_count, cached, output_count = tokens
    input_price, output_price = cached_price(target)
    return {
        "target": target,
        "model": (model or "")[:200] or None,
        "input_tokens": prompt if input_count is None else input_count,
        "cached_tokens": cached or 0,
        "output_tokens": estimate_tokens(text) if output_count is None else output_count,
        "is_estimated": input_count is None or output_count is None,
        "created_at": now(),
        "input_price": input_price,
        "output_price": output_price,
    }


MILLION = 1_000_000


def cost(
    model: str | None, tokens: tuple[int, int, int], price: tuple[float | None, float | None] | None = None
) -> float | None:
    """Return dollars for tokens in, cached and out, at dollars per million as an admin set them; None if unknown."""
    input_count, cached, output_count = tokens
    if price is not None and (price[0] is not None or price[1] is not None):
        return (input_count * (price[0] or 0) + output_count * (price[1] or 0)) / MILLION
    rates = _rates(model or "")
    if rates is None:
        return None
    cached = min(cached, input_count)
    return ((input_count - cached) * rates[0] + cached * rates[1] + output_count * rates[2]) / MILLION


@lru_cache(maxsize=512)
def _rates(model: str) -> tuple[float, float, float] | None:
    """Return dollars per million tokens in, cached and out; None if unknown."""
    # Loaded on first use: it costs a web process 25 MB and most of a second that many never need.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    def price(**usage: int) -> float:
        return float(calc_price(Usage(**usage), model_ref=model).total_price)

    try:
        fresh = price(input_tokens=MILLION, output_tokens=0)
        cached = price(input_tokens=MILLION, cache_read_tokens=MILLION, output_tokens=0)
        return fresh, cached, price(input_tokens=0, output_tokens=MILLION)
    except (LookupError, ValueError):
        return None
