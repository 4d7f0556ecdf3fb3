"""Input and output of groups of people."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from webapp.accounts import groups
from webapp.accounts.models import UserGroup
from webapp.http.validation import Id, Input, Instant, Line, Output, not_null
from webapp.usage import service as usage
from webapp.usage.schemas import QuotaFields, Quotas

MEMBERS = "Who is in it, by id."
QUOTAS = "What each member may spend who has no limits of their own; of several groups the largest holds."
Members = Annotated[list[Id], Field(max_length=5_000)]


class NewGroup(Input):
    name: Line = Field(min_length=1, max_length=100, description="Follows a group of the OpenID provider.")
    user_ids: Members = Field([], description=MEMBERS)
    quotas: list[QuotaFields] = Field([], max_length=2, description=QUOTAS)


class GroupChanges(Input):
    """Only the fields that are given are changed; lists are replaced whole."""

    name: Line | None = Field(None, min_length=1, max_length=100)
    user_ids: Members | None = Field(None, description=MEMBERS)
    quotas: list[QuotaFields] | None = Field(None, max_length=2, description=QUOTAS)

    _not_null = field_validator("*")(not_null)


class GroupOut(Output):
    group_id: int
    name: str
    user_ids: list[int] = Field(description=MEMBERS)
    quotas: list[QuotaFields] = Field(description=QUOTAS)
    created_at: Instant

    @classmethod
    def of(cls, row: UserGroup) -> GroupOut:
        quotas = usage.quotas_of(None, group_id=row.group_id)
        return cls.from_row(
            row, user_ids=[user.user_id for user in groups.members_of(row.group_id)], quotas=Quotas.of(quotas).quotas
        )


class GroupList(BaseModel):
    groups: list[GroupOut]
