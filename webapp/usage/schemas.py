"""Input and output of usage."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from webapp.http.validation import Day, Input, OptionalAmount, OptionalInteger
from webapp.usage.models import Quota

Grouping = Literal["day", "model", "conversation", "user"]
ReportDay = Annotated[Day, Field(ge=date(1970, 2, 1), lt=date(9999, 1, 1))]
"""A day with thirty before it and one after."""


class UsageQuery(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    first: ReportDay | None = Field(None, alias="from", description="The first day, UTC; thirty days ago by default.")
    last: ReportDay | None = Field(None, alias="to", description="The last day, UTC; today by default.")
    by: Grouping = "day"
    everyone: bool = Field(False, description="Of all users, for admins; implied by `by=user`.")


class UsageLine(BaseModel):
    key: str = Field(description="The day, model, conversation id or user id.")
    label: str
    chat_input_tokens: int = Field(description="Of replies to what somebody sent.")
    chat_output_tokens: int
    schedule_input_tokens: int = Field(description="Of replies to what schedules sent.")
    schedule_output_tokens: int
    background_input_tokens: int = Field(description="Of memories, titles, summaries and all else that is no reply.")
    background_output_tokens: int
    cached_tokens: int
    calls: int
    dollars: float | None = Field(description="Null where no price is known.")
    is_estimated: bool = Field(description="Whether some of it was estimated, because a server reported nothing.")

    @property
    def parts(self) -> tuple[int, int, int]:
        """Return the tokens of chat, of memory work, and of schedules."""
        return (
            self.chat_input_tokens + self.chat_output_tokens,
            self.background_input_tokens + self.background_output_tokens,
            self.schedule_input_tokens + self.schedule_output_tokens,
        )

    @property
    def tokens(self) -> int:
        """Return all tokens."""
        return sum(self.parts)


def _share(used: float, limit: float | None) -> float:
    return 0.0 if limit is None else used / limit if limit else 1.0


class QuotaState(BaseModel):
    period: str
    tokens: int | None
    tokens_used: int
    dollars: float | None
    dollars_used: float

    def share(self, tokens: int = 0) -> float:
        """Return how much of it is used, of tokens or of dollars, whichever is more; all of a limit of nothing. With
        `tokens`, once so many more are, at the price of those so far."""
        dollars = tokens * self.dollars_used / max(self.tokens_used, 1)
        return max(_share(self.tokens_used + tokens, self.tokens), _share(self.dollars_used + dollars, self.dollars))


class UsageReport(BaseModel):
    usage: list[UsageLine]
    total: UsageLine
    quotas: list[QuotaState]


class QuotaFields(Input):
    period: Literal["day", "month"]
    tokens: OptionalInteger = Field(None, ge=0, le=2_000_000_000)
    dollars: OptionalAmount = Field(None, ge=0, le=1e6)


class Quotas(Input):
    quotas: list[QuotaFields] = Field(
        max_length=2,
        description="At most one for each period; a period left out, or without either number, has no limit.",
    )

    @classmethod
    def of(cls, rows: Sequence[Quota]) -> "Quotas":
        return cls(quotas=[QuotaFields(period=row.period, tokens=row.tokens, dollars=row.dollars) for row in rows])
