"""Input and output of shared links."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from webapp.db.base import now
from webapp.http.validation import Flag, Id, Input, Instant, ListOut, Output, PageQuery, Time
from webapp.sharing.models import ConversationShare

LATEST_YEAR = 2037  # TIMESTAMP ends in January 2038


def _future(value: datetime) -> datetime:
    """Return an instant in the future, in UTC; without a zone it is taken to be UTC."""
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    if moment <= now():
        raise ValueError("must be in the future")
    if moment.year > LATEST_YEAR:
        raise ValueError(f"must be before {LATEST_YEAR + 1}")
    return moment.astimezone(UTC)


class ShareQuery(PageQuery):
    conversation_id: Id | None = Field(None, description="Only the links of this conversation.")


class NewShare(Input):
    model_config = ConfigDict(populate_by_name=True)

    live: Flag = Field(False, description="Also show what is added later.")
    first: Id | None = Field(None, alias="from", description="The first message to show.")
    last: Id | None = Field(None, alias="to", description="The last message to show.")
    audience: Literal["anyone", "accounts"] = Field(
        "anyone", description="Anyone with the link, or only people with an account here."
    )
    expires_at: Annotated[Time, AfterValidator(_future)] | None = None


class ShareOut(Output):
    model_config = ConfigDict(serialize_by_alias=True)

    share_id: int
    url: str
    conversation_id: int
    title: str | None
    live: bool
    first: int | None = Field(serialization_alias="from")
    last: int | None = Field(serialization_alias="to")
    audience: str
    created_at: Instant
    expires_at: Instant | None
    is_expired: bool

    @classmethod
    def of(cls, row: ConversationShare, *, title: str | None, url: str) -> "ShareOut":
        return cls.from_row(
            row, url=url, title=title, live=row.is_live, first=row.first_message_id, last=row.last_message_id
        )


class ShareList(ListOut):
    shares: list[ShareOut]
