"""Delivering what is due to a webhook: claim, send without a connection, note the outcome; after a failure, retry."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from webapp.accounts.models import User
from webapp.accounts.tokens import is_in_use
from webapp.background.events import Kind
from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Slice
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, rows_changed, write_transaction
from webapp.extensions import app_settings
from webapp.http.validation import utc_text
from webapp.memories.models import Memory, MemoryChangeSet
from webapp.network import http_client, outbound
from webapp.providers.key_encryption import unseal
from webapp.webhooks import service
from webapp.webhooks.models import Webhook, WebhookDelivery
from webapp.webhooks.signatures import headers, wait_after

LEASE = timedelta(seconds=60)
MAX_TEXT = 100_000
GONE = 410


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A delivery that was claimed, with what it takes to send it."""

    delivery_id: int
    attempts: int
    url: str
    body: bytes
    headers: dict[str, str]


def due_webhooks() -> Sequence[int]:
    """Return the webhooks with deliveries that are due. Those of an account that is stopped or closed wait for it."""
    due = (
        select(WebhookDelivery.webhook_id)
        .join(Webhook, Webhook.webhook_id == WebhookDelivery.webhook_id)
        .join(User, User.user_id == Webhook.user_id)
        .where(WebhookDelivery.status == "waiting", WebhookDelivery.due_at <= now(), User.is_active)
    )
    return db.session.scalars(due.distinct()).all()


def deliver(webhook_id: int) -> int:
    """Deliver what is due, oldest first, until one fails or time is up; returns how many."""
    delivered, turn = 0, Slice()
    while True:
        with write_transaction():
            attempt = _claim(webhook_id)
        if attempt is None:
            return delivered
        outcome = _send(attempt)
        with write_transaction():
            _note(webhook_id, attempt, outcome)
            if outcome.status != "delivered":
                return delivered
            delivered += 1
            is_over = not turn.has_time()
            if is_over:
                enqueue_after_commit("deliver", webhook_id=webhook_id)
        if is_over:
            return delivered


def _claim(webhook_id: int) -> _Attempt | None:
    """Return the next delivery that is due, reserved for a while; None if there is none."""
    hook = db.session.get(Webhook, webhook_id)
    if hook is None or not hook.is_active:
        return None
    if not db.session.scalar(select(User.is_active).where(User.user_id == hook.user_id)):
        return None
    if hook.token_id is not None and not is_in_use(hook.token_id):
        service.disable(hook, "the token that made it has ended")
        return None
    waiting = select(WebhookDelivery).where(
        WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.status == "waiting"
    )
    row = db.session.scalar(waiting.order_by(WebhookDelivery.delivery_id).limit(1))
    if row is None or row.due_at > now():  # what happened later waits behind one that failed, or is being sent
        return None
    secret = unseal(hook.secret).api_key
    if not secret:
        service.disable(hook, "its secret cannot be read any more; make a new one")
        return None
    statement = update(WebhookDelivery).where(
        WebhookDelivery.delivery_id == row.delivery_id,
        WebhookDelivery.attempts == row.attempts,
        WebhookDelivery.due_at == row.due_at,
    )
    attempts = row.attempts + 1
    if rows_changed(statement.values(attempts=attempts, due_at=now() + LEASE)) != 1:
        return None
    body = json.dumps(_delivery_body(hook, row), ensure_ascii=False, separators=(",", ":")).encode()
    return _Attempt(row.delivery_id, attempts, hook.url, body, headers(secret, row.event_id, int(time.time()), body))


@dataclass(frozen=True, slots=True)
class _Outcome:
    status: str
    answer: str
    ends: bool = False


def _send(attempt: _Attempt) -> _Outcome:
    try:
        answer = http_client.request(
            "POST",
            attempt.url,
            body=attempt.body,
            headers=attempt.headers,
            max_bytes=0,
            allowed=app_settings().outbound_allowed,
        )
    except (outbound.RequestRefused, outbound.RequestFailed) as error:
        return _Outcome("waiting", str(error))
    if 200 <= answer.status < 300:
        return _Outcome("delivered", str(answer.status))
    return _Outcome("waiting", f"It answered {answer.status}.", ends=answer.status == GONE)


def _note(webhook_id: int, attempt: _Attempt, outcome: _Outcome) -> None:
    """Record how an attempt went, unless there has been another one since."""
    hook = db.session.get(Webhook, webhook_id, with_for_update=True)
    row = db.session.get(WebhookDelivery, attempt.delivery_id, populate_existing=True)
    if hook is None or row is None or row.attempts != attempt.attempts or row.status != "waiting":
        return
    row.answer = outcome.answer[:200]
    if outcome.status == "delivered":
        row.status, hook.failing_since = "delivered", None
        return
    hook.failing_since = hook.failing_since or now()
    wait = wait_after(attempt.attempts)
    if wait is None or outcome.ends:
        row.status = "failed"
        service.disable(hook, outcome.answer if outcome.ends else f"it failed for two days. {outcome.answer}")
    else:
        row.due_at = now() + timedelta(seconds=wait)
        _postpone_following(hook.webhook_id, row.due_at)


def _postpone_following(webhook_id: int, until: datetime) -> None:
    """Postpone what waits behind a failed delivery: a URL that does not answer is tried once, not for each delivery."""
    statement = update(WebhookDelivery).where(
        WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.status == "waiting", WebhookDelivery.due_at < until
    )
    rows_changed(statement.values(due_at=until))


def _delivery_body(hook: Webhook, row: WebhookDelivery) -> dict[str, Any]:
    """Return the body of a delivery, from what exists now: nothing of what was forgotten meanwhile is in it."""
    data = dict(row.data)
    if row.kind in (Kind.MEMORY_CHANGED, Kind.MEMORY_FORGOTTEN):
        data |= _of_change_set(hook, int(data["change_set_id"]), row.kind == Kind.MEMORY_CHANGED)
    elif hook.with_content and "message_id" in data:
        latest = select(Message.content).join(Conversation, Conversation.conversation_id == Message.conversation_id)
        data["content"] = db.session.scalar(
            _own_conversations(latest, hook).where(Message.message_id == data["message_id"])
        )
    elif hook.with_content and "conversation_id" in data and row.kind != Kind.CONVERSATION_DELETED:
        statement = _own_conversations(select(Conversation.title), hook)
        data["title"] = db.session.scalar(statement.where(Conversation.conversation_id == data["conversation_id"]))
    if isinstance(data.get("content"), str):
        data["content"] = data["content"][:MAX_TEXT]
    return {"type": row.kind, "timestamp": utc_text(row.created_at), "data": data}


def _own_conversations(statement: Any, hook: Webhook) -> Any:
    return statement.where(Conversation.user_id == hook.user_id, Conversation.deleted_at.is_(None))


def _of_change_set(hook: Webhook, change_set_id: int, may_tell: bool) -> dict[str, Any]:
    change_set = db.session.get(MemoryChangeSet, change_set_id)
    if change_set is None or change_set.user_id != hook.user_id:
        return {"memory_ids": []}
    ids = [change["memory_id"] for change in change_set.changes]
    fields: dict[str, Any] = {"memory_ids": ids, "counts": change_set.counts}
    if may_tell and hook.with_content:
        statement = select(Memory.memory_id, Memory.content).where(
            Memory.user_id == hook.user_id, Memory.memory_id.in_(ids)
        )
        rows = db.session.execute(statement.order_by(Memory.memory_id)).all()
        fields["memories"] = [{"memory_id": number, "content": content} for number, content in rows]
    return fields
