"""Search engines: how each is queried, and what of its response is used; pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from webapp.network.outbound import RequestRefused, check_url
from webapp.tools.remote_calls import RemoteRequest
from webapp.tools.toolset import ToolFailed
from webapp.tools.web.plain_text import text_of

MAX_RESULTS = 6
SNIPPET, MAX_URL_LENGTH = 600, 2_000


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found."""

    title: str
    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of search engine: its name, its usual URL, whether it takes a key, and how it is queried."""

    label: str
    address: str
    needs_key: bool
    ask: Callable[[str, str, str], RemoteRequest]
    rows: Callable[[Any], Any]
    text: str


def _searxng(address: str, key: str, query: str) -> RemoteRequest:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return RemoteRequest(f"{address}/search?q={quote_plus(query)}&format=json", headers=headers, is_internal=True)


def _brave(address: str, key: str, query: str) -> RemoteRequest:
    url = f"{address}/res/v1/web/search?q={quote_plus(query)}&count={MAX_RESULTS}"
    return RemoteRequest(url, headers={"X-Subscription-Token": key, "Accept": "application/json"}, is_internal=True)


def _tavily(address: str, key: str, query: str) -> RemoteRequest:
    body = {"query": query, "max_results": MAX_RESULTS}
    return RemoteRequest(f"{address}/search", "POST", {"Authorization": f"Bearer {key}"}, body, is_internal=True)


PROVIDERS = {
    "searxng": Provider("SearXNG", "", False, _searxng, lambda found: found["results"], "content"),
    "brave": Provider(
        "Brave Search",
        "https://api.search.brave.com",
        True,
        _brave,
        lambda found: found["web"]["results"],
        "description",
    ),
    "tavily": Provider("Tavily", "https://api.tavily.com", True, _tavily, lambda found: found["results"], "content"),
}
PAGES_ONLY = "pages"
"""No search engine: only URLs that the person wrote can be read."""


def hits(provider: Provider, answer: Any) -> list[Hit]:
    """Return the results in a response, without any that is not a URL. Raises ToolFailed if it is not understood."""
    try:
        rows = provider.rows(answer)
        items = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else None
    except (KeyError, TypeError, AttributeError):
        items = None
    if items is None:
        raise ToolFailed(f"{provider.label} answered in a way that is not understood.")
    return [hit for row in items[: 3 * MAX_RESULTS] if (hit := _hit(row, provider.text))][:MAX_RESULTS]


def _hit(row: dict[str, Any], text: str) -> Hit | None:
    url = str(row.get("url") or "").partition("#")[0]
    try:
        check_url(url)
    except RequestRefused:
        return None
    title, snippet = (" ".join(text_of(str(row.get(name) or "")[:8_000]).split()) for name in ("title", text))
    return Hit(title[:200] or url, url, snippet[:SNIPPET]) if len(url) <= MAX_URL_LENGTH else None


def result_list(query: str, hits: list[Hit]) -> str:
    """Return the results, as the model reads them."""
    if not hits:
        return f"Nothing was found for: {query}"
    return "\n\n".join(f"{number}. {hit.title}\n{hit.url}\n{hit.text}".strip() for number, hit in enumerate(hits, 1))
