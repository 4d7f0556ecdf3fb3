"""Input and output of notifications."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from webapp.http.validation import Instant, Line
from webapp.push.models import PushSubscription


class SubscriptionKeys(BaseModel):
    model_config = ConfigDict(extra="ignore")

    p256dh: Line = Field(max_length=100)
    auth: Line = Field(max_length=40)


class NewSubscription(BaseModel):
    """A PushSubscription as a browser writes it in JSON."""

    model_config = ConfigDict(extra="ignore")

    endpoint: Line = Field(max_length=2_000)
    keys: SubscriptionKeys


class EndedSubscription(BaseModel):
    model_config = ConfigDict(extra="ignore")

    endpoint: Line = Field(max_length=2_000)


class SubscriptionOut(BaseModel):
    subscription_id: int
    created_at: Instant

    @classmethod
    def of(cls, row: PushSubscription) -> SubscriptionOut:
        return cls.model_validate(row, from_attributes=True)


class PushOut(BaseModel):
    public_key: str = Field(description="What a browser subscribes with (applicationServerKey).")
    subscriptions: list[SubscriptionOut] = Field(description="Your browsers that are notified.")
