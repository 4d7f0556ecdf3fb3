"""The text of a message in ChatGPT's export, with its citations as links."""

import json
import re
from contextlib import suppress
from typing import Any

from webapp.transfer.readers.records import as_dict, as_list

IMAGE = "[image]"
"""Stands for a picture in a text."""
_MARK = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]|【\\d+[†:][^【】]*】")


def text_of(content: dict[str, Any]) -> str:
    """Return the text of a message's content, of which it may have several parts."""
    if content.get("content_type") == "code":
        language = content.get("language")
        fence = language if isinstance(language, str) and language != "unknown" else ""
        return f"```{fence}\n{content['text']}\n```" if content.get("text") else ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    return "\n\n".join(text for text in map(_part, parts) if text)


def with_citations(text: str, metadata: dict[str, Any]) -> str:
    """Put links where the marks of citations are; a mark that names no page goes."""
    placed = [citation for citation in map(as_dict, as_list(metadata.get("citations"))) if _is_place(citation)]
    for citation in sorted(
        placed, key=lambda item: item["start_ix"], reverse=True
    ):  # the last first: places stay right
        begin, end = citation["start_ix"], citation["end_ix"]
        if _MARK.fullmatch(text[begin:end]):
            text = text[:begin] + _links(as_dict(citation.get("metadata"))) + text[end:]
    for citation in map(as_dict, as_list(metadata.get("content_references"))):
        mark = citation.get("matched_text")
        if isinstance(mark, str) and mark.strip() and mark in text:
            alt = citation.get("alt")
            text = text.replace(mark, alt if isinstance(alt, str) and alt else _links(citation))
    return _MARK.sub(_name, text)


def _name(mark: re.Match[str]) -> str:
    """Return what a mark stands for in the sentence: the name of a person, place or work; of most, nothing."""
    kind, _, data = mark[0].strip("\ue200\ue201").partition("\ue202")
    with suppress(ValueError, RecursionError, LookupError, TypeError):
        return str(json.loads(data)[1]) if kind == "entity" else ""
    return ""


def _is_place(citation: dict[str, Any]) -> bool:
    begin, end = citation.get("start_ix"), citation.get("end_ix")
    return isinstance(begin, int) and isinstance(end, int) and 0 <= begin < end


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    data = as_dict(part)
    if data.get("content_type") == "image_asset_pointer":
        return IMAGE
    text = data.get("text")
    return text if isinstance(text, str) else ""


def _links(data: dict[str, Any]) -> str:
    pages = [as_dict(item) for item in as_list(data.get("items"))] or [data]
    titles = [(str(page.get("title") or page.get("url")), page.get("url")) for page in pages]
    links = [f"[{title}]({url})" for title, url in titles if isinstance(url, str) and url.startswith("http")]
    return f" ({', '.join(links)})" if links else ""
