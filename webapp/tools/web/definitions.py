"""The two tools of the web, and their settings."""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from webapp.tools.calls import definition_of, failure
from webapp.tools.remote_calls import MAX_REDIRECTS, RemoteRequest, json_of, send_request
from webapp.tools.toolset import Output, Tool, ToolContext, ToolFailed
from webapp.tools.urls import is_known
from webapp.tools.web import plain_text
from webapp.tools.web.providers import PROVIDERS, Hit, hits, result_list

_ROOT = Path(__file__).resolve().parents[3]
UNKNOWN = "Only addresses that the user wrote or that a search found can be read. Search for the page, or ask for it."


class WebSearch(BaseModel):
    """Search the web. Say where facts come from."""

    query: str = Field(min_length=1, max_length=300)


class ReadPage(BaseModel):
    """The text of a page that the user named or a search found."""

    url: str = Field(min_length=4, max_length=2_000)


@dataclass(frozen=True, slots=True)
class Engine:
    """A search engine as set up: one of PROVIDERS, its URL, and its key."""

    provider: str
    address: str
    key: str = field(default="", repr=False)

    async def search(self, query: str) -> list[Hit]:
        """Return the results of a search. Raises ToolFailed."""
        provider = PROVIDERS[self.provider]
        return hits(provider, await json_of(provider.ask(self.address, self.key, query)))


NAMES = ("web_search", "read_page")
"""Of the tools that there may be."""


def web_tools(engine: Engine | None) -> list[Tool]:
    """Search, if there is an engine, and reading pages."""

    async def search(arguments: dict[str, Any], _context: ToolContext) -> Output:
        assert engine is not None
        try:
            query = WebSearch.model_validate(arguments).query
        except ValidationError:
            return failure("Give a query of at most 300 characters.")
        hits = await engine.search(query)
        return {"text": result_list(query, hits), "sources": [{"title": hit.title, "url": hit.url} for hit in hits]}

    tools = [Tool(definition_of("read_page", ReadPage), "remote", _read, seconds=30)]
    if engine is not None:
        tools.insert(0, Tool(definition_of("web_search", WebSearch), "remote", search))
    return tools


async def _read(arguments: dict[str, Any], context: ToolContext) -> Output:
    try:
        url = ReadPage.model_validate(arguments).url.strip()
    except ValidationError:
        return failure("Give the address of a page.")
    url = url if "://" in url else f"https://{url}"
    if not is_known(url, context.words):
        return failure(UNKNOWN)
    async with send_request(RemoteRequest(url, redirects=MAX_REDIRECTS)) as response:
        if response.status >= 300:
            raise ToolFailed(f"The page answered with an error ({response.status}).")
        if response.kind not in plain_text.KINDS:
            problem = "is a PDF; the user can attach it as a file" if "pdf" in response.kind else "is no text"
            raise ToolFailed(f"What is there {problem}.")
        charset = response.headers.get("content-type", "").partition("charset=")[2].strip(" \"';")[:40]
        final_url, kind, data = response.url, response.kind, await response.whole()
    page = await _as_text(data, charset, kind)
    if not page["text"]:
        raise ToolFailed("There is no text on this page. It may need a browser to be seen.")
    head = "\n".join(filter(None, (page["title"], final_url)))
    return {"text": f"{head}\n\n{page['text']}", "sources": [{"title": page["title"], "url": final_url}]}


async def _as_text(data: bytes, charset: str, kind: str) -> dict[str, str]:
    """Title and text of a page, extracted by another process, which ends with this call."""
    command = (sys.executable, "-m", plain_text.__name__, charset, kind)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, cwd=_ROOT, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        output, _ = await process.communicate(data)
        page: dict[str, str] = json.loads(output)
        return page
    except ValueError:
        raise ToolFailed("This page cannot be read.") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
