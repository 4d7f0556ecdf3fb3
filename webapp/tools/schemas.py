"""Requests and responses about tools."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from webapp.http.validation import Changes, Flag, Input, Instant, Line, Output
from webapp.providers.schemas import ServerUrl, server_url
from webapp.tools.models import ToolServer, WebAccess


def _address(value: str) -> str:
    return server_url(value) if value else ""


class WebAccessFields(Input):
    """Only the fields that are given are changed. An empty URL is the engine's usual one."""

    provider: Literal["searxng", "brave", "tavily", "pages"] | None = Field(
        None, description="`pages`: no search; only addresses that people write are read."
    )
    address: Annotated[Line, Field(max_length=500), AfterValidator(_address)] | None = None
    api_key: Line | None = Field(None, max_length=2_000, description="Write-only; empty removes it.")
    is_enabled: Flag | None = None


class WebAccessOut(Output):
    provider: str | None
    address: str
    key_set: bool
    is_enabled: bool

    @classmethod
    def of(cls, row: WebAccess | None) -> "WebAccessOut":
        return cls(provider=None, address="", key_set=False, is_enabled=False) if row is None else cls.from_row(row)


ServerName = Annotated[Line, Field(min_length=1, max_length=60)]


class NewToolServer(Input):
    """An MCP server that speaks streamable HTTP, or the event streams of the first revision."""

    name: ServerName
    url: ServerUrl = Field(description="Of its endpoint, such as https://example.org/mcp.")
    token: Line = Field("", max_length=4_000, description="Sent as a bearer token; write-only.")
    for_everyone: Flag = Field(False, description="Offer its tools to everybody; for admins.")


class ToolServerChanges(Changes):
    """Only the fields that are given are changed. An empty token removes it."""

    name: ServerName | None = None
    url: ServerUrl | None = None
    token: Line | None = Field(None, max_length=4_000)
    is_enabled: Flag | None = None
    tools_on: list[Line] | None = Field(None, max_length=200, description="The names of all tools that are on.")


class ServerTool(BaseModel):
    name: str
    title: str
    description: str
    reads_only: bool = Field(
        description="The server says that it changes nothing; for others, the user is asked before a call."
    )
    is_on: bool
    refused_by: list[str] = Field([], description="Models whose server refuses it: their replies go without it.")


class ToolServerOut(Output):
    server_id: int
    name: str
    url: str
    key_set: bool
    for_everyone: bool
    is_enabled: bool
    protocol: str | None
    tools: list[ServerTool]
    error: str | None = Field(description="Why the last test failed.")
    tested_at: Instant | None

    @classmethod
    def of(cls, row: ToolServer, refusals: Mapping[str, list[str]]) -> "ToolServerOut":
        return cls.from_row(
            row,
            for_everyone=row.user_id is None,
            protocol=row.age,
            tools=[ServerTool(**tool, refused_by=refusals.get(tool["name"], [])) for tool in row.tools],
        )


class ToolServerList(BaseModel):
    servers: list[ToolServerOut]


class WebTest(BaseModel):
    ok: bool
    detail: str
