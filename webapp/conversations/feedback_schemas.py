"""Requests and responses for ratings of replies."""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, Field

from webapp.http.validation import Flag, Instant, Output, SearchText
from webapp.i18n.marks import N_

Reason = Literal["accurate", "helpful", "clear", "wrong", "incomplete", "too_long", "tone", "memory", "refused"]
WORDS: dict[str, dict[Reason, str]] = {
    "up": {"accurate": N_("Right"), "helpful": N_("Helpful"), "clear": N_("Well said")},
    "down": {
        "wrong": N_("Not right"),
        "incomplete": N_("Incomplete"),
        "too_long": N_("Too long"),
        "tone": N_("Wrong tone"),
        "memory": N_("Used memory wrongly"),
        "refused": N_("Refused for no reason"),
    },
}
"""The reasons that are offered for each rating, in words."""

Reasons = Annotated[list[Reason], Field(max_length=20), AfterValidator(lambda values: list(dict.fromkeys(values)))]


class NewFeedback(BaseModel):
    rating: Literal["up", "down"]
    reasons: Reasons = []
    comment: SearchText = Field("", max_length=2_000)
    may_read: Flag = Field(False, description="Whether an admin may read this reply and what is said about it.")


class FeedbackOut(Output):
    message_id: int
    rating: str
    reasons: list[str]
    comment: str
    may_read: bool
    model: str | None
    prompt_version: str | None
    created_at: Instant
    updated_at: Instant


class Count(BaseModel):
    day: str = Field(description="In UTC.")
    model: str | None
    prompt_version: str | None
    up: int
    down: int


class CountQuery(BaseModel):
    days: int = Field(30, ge=1, le=365)


class Counts(BaseModel):
    counts: list[Count]


class ReadableFeedback(FeedbackOut):
    reply: str


class ReadableList(BaseModel):
    feedback: list[ReadableFeedback]
    next_cursor: str | None


assert {reason for words in WORDS.values() for reason in words} == set(get_args(Reason))
