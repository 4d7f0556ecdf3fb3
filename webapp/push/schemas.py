"""Input and output of notifications."""

from pydantic import BaseModel, Field

from webapp.http.validation import Instant, Line, Output


class SubscriptionKeys(BaseModel):
    p256dh: Line = Field(max_length=100)
    auth: Line = Field(max_length=40)


class NewSubscription(BaseModel):
    """A PushSubscription as a browser writes it in JSON."""

    endpoint: Line = Field(max_length=2_000)
    keys: SubscriptionKeys


class EndedSubscription(BaseModel):
    endpoint: Line = Field(max_length=2_000)


class SubscriptionOut(Output):
    subscription_id: int
    created_at: Instant


class PushOut(BaseModel):
    public_key: str = Field(description="What a browser subscribes with (applicationServerKey).")
    subscriptions: list[SubscriptionOut] = Field(description="Your browsers that are notified.")
