"""Records of tool calls as messages keep them: what they show, and what came from outside; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

MAX_SOURCES = 8

Calls = Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Source:
    """A page that a reply drew on."""

    url: str
    title: str
    host: str


def sources_of(calls: Calls | None) -> list[Source]:
    """Return the pages found by the calls of a reply, each once, those that were opened first; only URLs."""
    sources: dict[str, Source] = {}
    outputs = [_output(call) for call in sorted(calls or (), key=lambda call: call.get("tool_name") != "read_page")]
    for output in outputs:
        for item in output.get("sources") or ():
            url = str(item.get("url", ""))
            host = _host(url)
            if host and url not in sources:
                sources[url] = Source(url, str(item.get("title") or ""), host)
    return list(sources.values())[:MAX_SOURCES]


def outside_texts(calls: Calls | None) -> list[str]:
    """Return what tools returned from outside: other people's words, never evidence about the user."""
    return [text for call in calls or () if isinstance(text := _output(call).get("text"), str) and text]


def open_client_calls(calls: Calls | None) -> list[Mapping[str, Any]]:
    """Return the calls the client has to answer and has not yet answered."""
    return [call for call in calls or () if call.get("by") == "client" and _output(call).get("status") == "waiting"]


def arguments_line(arguments: Mapping[str, Any] | None) -> str:
    """Return what a tool was given, on one line."""
    values = {
        name: " ".join(str(value).split())[:200] for name, value in (arguments or {}).items() if value not in ("", None)
    }
    words = list(values.values()) if len(values) == 1 else [f"{name}: {value}" for name, value in values.items()]
    return " · ".join(words)[:300]


def _output(call: Mapping[str, Any]) -> Mapping[str, Any]:
    output = call.get("output")
    return output if isinstance(output, Mapping) else {}


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").removeprefix("www.") if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""
