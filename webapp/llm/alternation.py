"""Messages as every chat template takes them: one system message, then user and assistant in turn; pure.

A conversation need not alternate: the assistant may begin it, a reply may have failed, several messages may have been
sent in a row. Servers whose template insists (Gemma, Mistral) refuse such a request altogether.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]

BEGINS = "[The assistant begins this conversation.]"
"""Stands in for the user's message before a first message of the assistant's."""
GAP = "\n\n"


def merge_turns(messages: Sequence[Message]) -> list[Message]:
    """The same text in the same order: system messages as one at the top, neighbours with the same role joined.

    The first message after it is the user's. Tool calls and their results stay where they are. A list that alternates
    is returned as it is, and the beginning of the result depends only on the beginning of the input.
    """
    system = [message for message in messages if message["role"] == "system"]
    found: list[Message] = []
    for message in messages:
        if message["role"] == "system":
            continue
        if not found and message["role"] != "user":
            found.append({"role": "user", "content": BEGINS})
        if found and _joins(found[-1], message):
            found[-1] = _joined(found[-1], message)
        else:
            found.append(message)
    if not system:
        return found
    head = system[0]
    for message in system[1:]:
        head = _joined(head, message)
    return [head, *found]


def without_system(messages: Sequence[Message]) -> list[Message]:
    """Put the system message before the text of the first user message, for templates without such a role."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return [{**message, "role": "user"} if message["role"] == "system" else message for message in messages]
    first = {**messages[1], "content": _together(messages[0]["content"], messages[1]["content"])}
    return [first, *messages[2:]]


def _joins(one: Message, other: Message) -> bool:
    return one["role"] == other["role"] and one["role"] != "tool" and not one.get("tool_calls")


def _joined(one: Message, other: Message) -> Message:
    return {**one, **other, "content": _together(one.get("content"), other.get("content"))}


def _together(one: Any, other: Any) -> Any:
    """Two contents as one: texts with an empty line between them, or lists of parts one after the other."""
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return one + GAP + other
    return [*_parts(one), *_parts(other)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
