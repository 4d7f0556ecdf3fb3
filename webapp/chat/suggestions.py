"""Answers and actions that the assistant offers with a reply, taken from the end of its text; pure.

`<suggestions>{"values": […], "actions": […]}</suggestions>` is its last line, never shown: no extra call, no tools.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webapp.llm.dialects import overlap_of

OPENS, CLOSES = "<suggestions>", "</suggestions>"
MAX_SUGGESTIONS = 4
MAX_VALUE, MAX_LABEL, MAX_PAYLOAD = 300, 80, 4_000
ACTIONS = ("send", "search")

INSTRUCTION = f"""When it would spare the person typing, end the reply with one line that is not shown as text:
{OPENS}{{"values": ["…"], "actions": [{{"label": "…", "type": "send", "value": "…"}}]}}{CLOSES}
values are short answers or questions that the person may want to send next, in their words and language. actions are \
buttons: send says the value at once, search looks for it in what was said and remembered. Four together at most. \
Leave the line out when nothing helps, and never mention it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer that comes with a reply, within its limits."""

    values: list[str] = field(default_factory=list)
    actions: list[dict[str, str]] = field(default_factory=list)
    payload: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return bool(self.values or self.actions or self.payload)

    @property
    def data(self) -> dict[str, Any]:
        """Return the suggestions as the turn's stream sends them."""
        return {"suggested_values": self.values, "suggested_actions": self.actions, "custom_payload": self.payload}


class Trailer:
    """Passes a reply's text through as it arrives, except the block at its end."""

    def __init__(self) -> None:
        self._buffer = ""

    def feed(self, text: str) -> str:
        """Return the text that can be shown now; hold back line ends and a possible beginning of the block."""
        buffer = self._buffer + text
        index = buffer.find(OPENS)
        if index < 0:
            index = len(buffer) - overlap_of(buffer, OPENS)
        else:
            end = buffer.find(CLOSES, index)
            if end >= 0 and buffer[end + len(CLOSES) :].strip():
                self._buffer = ""  # the reply continues after it: this is text about such a block
                return buffer
        visible = buffer[:index].rstrip("\n")
        self._buffer = buffer[len(visible) :]
        return visible

    def end(self) -> tuple[str, Offer]:
        """Return what is left to show, and what is offered."""
        buffer, self._buffer = self._buffer, ""
        index = buffer.find(OPENS)
        if index < 0:
            return buffer, Offer()
        body = buffer[index + len(OPENS) :]
        offer = _read(body.split(CLOSES)[0])
        if offer is not None:
            return "", offer
        # A block that was cut off or is broken is not text either; text about such a block is.
        return ("", Offer()) if body.lstrip()[:1] in ("{", "") else (buffer, Offer())


def offer_from(data: Mapping[str, Any]) -> Offer:
    """Return the valid part of an offer that a model made; values before actions, four at most."""
    values: list[str] = []
    for item in _as_list(data.get("values")):
        text = _line(item, MAX_VALUE)
        if text and text not in values:
            values.append(text)
    actions: list[dict[str, str]] = []
    for item in _as_list(data.get("actions")):
        if not isinstance(item, Mapping):
            continue
        value = _line(item.get("value") or item.get("label"), MAX_VALUE)
        label = _line(item.get("label") or value, MAX_LABEL)
        kind = item.get("type") or "send"
        if value and label and kind in ACTIONS:
            actions.append({"label": label, "type": str(kind), "value": value})
    values = values[:MAX_SUGGESTIONS]
    payload = data.get("payload")
    fits = isinstance(payload, dict) and payload and len(json.dumps(payload)) <= MAX_PAYLOAD
    return Offer(values, actions[: MAX_SUGGESTIONS - len(values)], payload if fits else None)


def _read(body: str) -> Offer | None:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return offer_from(data) if isinstance(data, dict) else None


def _as_list(value: Any) -> list[Any]:
    return value[:20] if isinstance(value, list) else []


def _line(value: Any, limit: int) -> str:
    text = " ".join(str(value).split()) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    text = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return text if len(text) <= limit else ""
