"""What comes in and goes out about tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from webapp.models.schemas import server_address
from webapp.tools.models import WebAccess
from webapp.validation import Flag, Line


def _address(value: str) -> str:
    return server_address(value) if value else ""


class WebAccessFields(BaseModel):
    """Only the fields that are given are changed. An empty address is the engine's usual one."""

    model_config = ConfigDict(extra="forbid")

    provider: Literal["searxng", "brave", "tavily", "pages"] | None = Field(
        None, description="`pages`: no search, only addresses that people write are read."
    )
    address: Annotated[Line, Field(max_length=500), AfterValidator(_address)] | None = None
    api_key: Line | None = Field(None, max_length=2_000, description="Goes in and never comes out; empty removes it.")
    is_enabled: Flag | None = None


class WebAccessOut(BaseModel):
    provider: str | None
    address: str
    key_set: bool
    is_enabled: bool

    @classmethod
    def of(cls, row: WebAccess | None) -> WebAccessOut:
        if row is None:
            return cls(provider=None, address="", key_set=False, is_enabled=False)
        return cls(provider=row.provider, address=row.address, key_set=row.key_set, is_enabled=row.is_enabled)


class WebTest(BaseModel):
    ok: bool
    detail: str
