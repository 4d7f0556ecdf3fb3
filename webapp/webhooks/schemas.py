"""Input and output of webhooks."""

from typing import Any, Self

from pydantic import BaseModel, Field

from webapp.background.events import Kind
from webapp.http.validation import Changes, Flag, Input, Instant, Line, Output
from webapp.webhooks.models import Webhook

MAX_URL = 1_000
ALL_KINDS = [kind.value for kind in Kind]


class NewWebhook(Input):
    url: Line = Field(max_length=MAX_URL, description="An http or https address.")
    kinds: list[Kind] = Field([Kind(kind) for kind in ALL_KINDS], min_length=1, description="What it is told.")
    with_content: Flag = Field(False, description="Include texts, not only ids.")


class WebhookChanges(Changes):
    url: Line | None = Field(None, max_length=MAX_URL)
    kinds: list[Kind] | None = Field(None, min_length=1)
    with_content: Flag | None = None
    is_active: Flag | None = Field(None, description="true switches one on again that was switched off.")


class WebhookOut(Output):
    webhook_id: int
    url: str
    kinds: list[str]
    with_content: bool
    is_active: bool
    disabled_reason: str | None
    created_at: Instant

    @classmethod
    def of(cls, row: Webhook, **fields: Any) -> Self:
        return cls.from_row(row, kinds=row.kind_list, **fields)


class CreatedWebhook(WebhookOut):
    secret: str = Field(description="Signs what is sent (Standard Webhooks). It is not shown again.")


class WebhookList(BaseModel):
    webhooks: list[WebhookOut]


class DeliveryOut(Output):
    delivery_id: int
    event_id: str
    kind: str
    status: str
    attempts: int
    answer: str | None
    created_at: Instant
    due_at: Instant


class DeliveryList(BaseModel):
    deliveries: list[DeliveryOut] = Field(description="The latest, newest first.")
