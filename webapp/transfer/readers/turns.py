"""Conversations as lists or trees of turns, whichever program wrote them: a turn says who speaks and has a text.

So does ShareGPT (`from: human`, `value`), what the APIs of models take (`role`, `content`), and what many programs
export: a list of turns in an object, one file or table of turns for each conversation, nodes with their parents, a
question and its answer in one row, or all turns in one list, each naming its conversation (LobeChat, Claude Code).
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import (
    HIDDEN,
    MISSING_FILES,
    STEPS,
    ReadConversation,
    ReadFile,
    ReadMessage,
    Role,
    by_id,
    count_omissions,
    instant,
    is_true,
    shown_path,
    text_or_none,
)
from webapp.transfer.readers.chatgpt_text import IMAGE
from webapp.transfer.readers.records import as_dict, as_list, picture_of, split_thought, text_file

_LISTS = (
    "conversations",
    "messages",
    "messagesTree",
    "mapping",
    "entries",
    "turns",
    "msgs",
    "contents",
    "chunks",
    "chunkedPrompt",
    "requests",
    "visible",
)
_ROLE_KINDS = ("role_type", "message_type")
"""Fields that say who speaks where others have a name, if it is in them."""
_ROLES = ("from", "role", "sender", "author", "speaker", "src", "sender_name", "characterId")
_IS_PERSON = ("is_user", "is_human", "isCreatedByUser", "isUser")
_TEXTS = (
    *("value", "content", "text", "parts", "fragments", "message", "mes", "raw_content", "contentParts", "steps"),
    "part",
)
BLOCKS = "blocks"
"""The ids of a turn's parts, which stand in a list of their own (Cherry Studio)."""
_THOUGHTS = ("thinking_trace", "reasoning_content", "reasoningContent", "reasoning", "thinking", "thought")
_TIMES = (
    *("createdAt", "created_at", "create_time", "inserted_at", "timestamp", "updated_datetime", "time", "send_date"),
    *("date", "timestamp_ms"),
)
_STARTS = (*_TIMES, "created", "lastUpdate")
_UPDATES = ("updated_at", "updatedAt", "modify_time", "lastUpdate")
_PINS = ("starred", "pinned")
TITLES = ("title", "name", "chatTitle", "thread_title", "topic", "userTitle", "autoTitle")
IDS = ("id", "uuid", "_id", "conversation_id", "external_id", "conversationId")
_PARENTS = (
    "parentId",
    "parent_id",
    "parent",
    "parentMessageId",
    "parent_message_id",
    "parentUuid",
    "parent_response_id",
)
_QUESTIONS = ("query_str", "query", "question", "prompt")
_ANSWERS = ("answer", "response", "completion")
PEOPLE = ("human", "user", "you", "request", "prompt")
MODELS = (
    *("assistant", "gpt", "model", "bot", "ai", "response"),
    *("chatgpt", "claude", "gemini", "bard", "grok", "copilot", "deepseek", "mistral", "perplexity", "qwen", "llama"),
)
_HIDDEN = ("system", "developer", "tool", "function", "function_call", "observation", "none")
_KNOWN = (*PEOPLE, *MODELS, *_HIDDEN)
_THINKS = ("think", "thinking", "thoughts", "reasoning")
_ASIDE = ("error", "isError", "isThought", "isMeta", "isSidechain", "is_system", "is_alternative")
"""What marks a turn that its program does not show in the conversation."""


def in_order(turns: list[Any]) -> list[Any]:
    """Return turns by their times; one that does not name the turn before it stands below the one above."""
    moments = [instant(first_of(turn, _TIMES)) for turn in turns]
    if None not in moments:
        order = sorted(range(len(turns)), key=moments.__getitem__)  # type: ignore[arg-type]
        turns = [turns[place] for place in order]
    return [{**turn, "parent": _parent(turn) or above.get("id")} for above, turn in pairwise([{}, *turns])]


def first_of(item: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first of some fields that holds something."""
    return next(filter(None, map(item.get, names)), None)


def turns_in(item: Any) -> list[Any]:
    """Return the turns in a conversation, each as one object."""
    turns = first_of(as_dict(item), _LISTS)
    if isinstance(turns, dict) and (inner := first_of(turns, _LISTS)):
        turns = inner
    stack = list(turns.values() if isinstance(turns, dict) else as_list(turns))[::-1]
    found: list[Any] = []
    while stack:
        row = stack.pop()
        if isinstance(row, list) and list(map(type, row)) == [str, str]:
            row = dict(zip((_QUESTIONS[0], _ANSWERS[0]), row, strict=True))
        found += as_turns(row)
        if children := list(filter(as_dict, as_list(as_dict(row).get("children")))):
            above = found[-1].pop("children") and (found[-1]["id"] or f"above-{len(found)}")
            found[-1]["id"] = above
            stack += [{**child, "parent": above} for child in reversed(children)]
    return list(map(_add_role, found))


def _add_role(turn: Any) -> Any:
    """Return a turn whose kind says who speaks, if nothing else does, with that as its role."""
    kind = str(as_dict(turn).get("type") or "").lower()
    return {**turn, "role": kind} if kind in _KNOWN and not _role(turn) else turn


def as_turns(row: Any) -> list[Any]:
    """Return the turns in a row: a node may hold its message in an object, or versions of it, of which one was chosen,
    and a question come with its answer."""
    turn = {**as_dict(row)}
    versions = next(filter(None, map(as_list, map(turn.get, ("versions", "candidates", "responses")))), [])
    chosen = turn.get("primary_candidate_id", ""), turn.get("currentlySelected", "")
    picked = [one for n, one in enumerate(versions) if chosen in (("", n), (as_dict(one).get("candidate_id"), ""))]
    for inner in (turn.get("message"), turn.get("payload"), *(picked or versions)[:1]):
        if isinstance(inner, dict):
            turn = {**turn, **inner}
    turn["id"] = first_of(as_dict(row), ("uuid", "messageId")) or turn.get("id")
    if versions and not first_of(turn, _TEXTS) and (inner_rows := as_list(turn.get("messages"))):
        return [inner for inner_row in inner_rows for inner in as_turns(inner_row)]
    question, answer = first_of(turn, _QUESTIONS) or as_dict(row).get("message"), first_of(turn, _ANSWERS)
    if question and answer and (isinstance(question, str) and isinstance(answer, str) or not _role(turn)):
        beside = {name: turn[name] for name in _TIMES if name in turn}
        return [{"role": "user", "content": question} | beside, {"role": "assistant", "content": answer} | beside]
    return [turn] if isinstance(row, dict) else [row]


def _role(turn: Mapping[str, Any]) -> str:
    """Return who speaks, in lower case: as a flag, a word, in an object, or as the kinds of the parts tell."""
    for name in _IS_PERSON:
        if name in turn:
            return "user" if is_true(turn[name]) else "assistant"
    for name in _ROLE_KINDS:
        if (kind := str(turn.get(name) or "").lower().removesuffix("_message")) in _KNOWN:
            return kind
    for name in _ROLES:
        value = turn.get(name)
        role = (value.get("role") or _role(value)) if isinstance(value, dict) else value
        if isinstance(role, str) and role:
            return role.lower()
    kinds = {str(as_dict(part).get("type")).lower() for part in as_list(turn.get("fragments"))}
    return next((role for role in ("request", "response") if role in kinds), "")


def words_of(name: str) -> set[str]:
    """Return the words of a name, in lower case."""
    return {*re.findall(r"\w+", name.casefold())}


def is_said(turn: Any) -> bool:
    return isinstance(turn, dict) and bool(_role(turn)) and not {*_TEXTS, BLOCKS}.isdisjoint(turn)


def is_turn(item: Any) -> bool:
    return any(is_said(turn) and _role(turn) in _KNOWN for turn in as_turns(item))


def is_conversation(item: Any) -> bool:
    turns = list(map(as_dict, turns_in(item)))
    if any(map(is_said, turns)):
        return True
    return isinstance(as_dict(item).get("mapping"), dict) and any(
        isinstance(turn.get("content"), str) for turn in turns
    )


def read_conversation(item: Any) -> ReadConversation:
    if not is_conversation(item):
        raise ValueError(N_("it has no turns"))
    turns = turns_in(item)
    filled = [turn for turn in map(as_dict, turns) if first_of(turn, (*_TEXTS, *_THOUGHTS))]
    said = [turn for turn in filled if not any(is_true(turn.get(name)) for name in _ASIDE)]
    rows = by_id(({**turn, "parent": _parent(turn)} for turn in said), "id")
    path = shown_path(rows, "parent", item.get("currentId"), lambda row: instant(first_of(row, _TIMES)))
    roles = {key: _role(rows[key]) for key in path}
    # Where a model is named and no person is, whoever else speaks is the person.
    models = {role for role in roles.values() if words_of(role) & {*MODELS}}
    is_named = not any(role in PEOPLE for role in roles.values()) and bool(models)
    messages: list[ReadMessage] = []
    left_out = Counter({HIDDEN: len(filled) - len(said)})
    thoughts: list[str] = []
    for key in path:
        role = roles[key] if any(roles.values()) else ("user", "assistant")[len(messages) % 2]
        if role in _HIDDEN:
            left_out[HIDDEN] += 1
            continue
        is_user = role in PEOPLE or (is_named and role not in (*models, ""))
        is_waiting = bool(thoughts)
        message, others = _message(key, rows[key], thoughts, is_user=is_user)
        left_out[HIDDEN] += is_waiting and is_user and message is not None  # a reply that was only thought
        left_out += others if message or others or thoughts else Counter({HIDDEN: 1})
        messages += [message] if message else []
    return ReadConversation(
        source_id=str(first_of(item, IDS) or _digest(turns)),
        title=text_or_none(first_of(item, TITLES)),
        messages=messages,
        created_at=instant(first_of(item, _STARTS)) or next((message.at for message in messages if message.at), None),
        updated_at=instant(first_of(item, _UPDATES)),
        is_pinned=any(is_true(item.get(name)) for name in _PINS),
        left_out=+(left_out + count_omissions(rows, path, len(path))),
    )


def _digest(turns: list[Any]) -> str:
    """Return what stands for the id that many of these files lack: the same words are the same conversation."""
    return hashlib.sha256(json.dumps(turns, sort_keys=True).encode()).hexdigest()[:32]


def _parent(turn: Mapping[str, Any]) -> Any:
    """Return the id of the turn before, which may be the last of those above."""
    return first_of(turn, _PARENTS) or next(reversed(as_list(turn.get("ancestors"))), None)


def _message(
    key: str, turn: Mapping[str, Any], thoughts: list[str], *, is_user: bool
) -> tuple[ReadMessage | None, Counter[str]]:
    """Return the message in a turn, and what is left out of it; `thoughts` wait for the reply they belong to."""
    content = _Content()
    content.read(first_of(turn, _TEXTS))
    files = (text_file(file.get("text"), file.get("filename")) for file in map(as_dict, as_list(turn.get("files"))))
    content.files += filter(None, files)
    text, thought = "\n\n".join(content.texts), ""
    if not is_user:
        text, thought = split_thought(text)
        beside = first_of({**turn, **as_dict(turn.get("extra"))}, _THOUGHTS)
        thoughts += filter(None, map(text_or_none, (*content.thoughts, thought, beside)))
    if not text and not content.files:
        return None, content.left_out
    names = map(turn.get, ("model", "modelId", "fromModel", "sender"))
    model = next((name for name in names if name and name not in (*PEOPLE, *MODELS)), None)
    model = text_or_none(as_dict(model).get("name") if isinstance(model, dict) else model)
    thought = "" if is_user else "\n\n".join(dict.fromkeys(thoughts))
    thoughts.clear()
    role: Role = "user" if is_user else "assistant"
    at = instant(first_of(turn, _TIMES))
    message = ReadMessage(key, role, text or IMAGE, at, None if is_user else model, content.files, thought)
    return message, content.left_out


@dataclass
class _Content:
    """The content of a turn, which may have parts, and they too."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    files: list[ReadFile] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def read(self, content: Any, kind: str = "") -> None:
        """Take in a content, or a part of the kind of that which it is in."""
        if isinstance(content, list):
            if {*map(type, content)} == {str, dict}:  # words, and others with a style, in one line (Telegram)
                content = ["".join(part if isinstance(part, str) else str(part.get("text") or "") for part in content)]
            for part in content:
                self.read(part, kind)
        elif isinstance(content, dict):
            kind = str(as_dict(content.get("style")).get("type") or content.get("type") or kind).lower()
            if "tool" in kind or "function" in kind:
                self.left_out[STEPS] += 1
            elif picture := picture_of(content):
                self.files.append(picture)
            elif inner := first_of(content, (*_TEXTS, *_THINKS)):
                pieces = [as_dict(part).get("text") for part in as_list(inner)]
                words = [piece for piece in pieces if isinstance(piece, str)]
                self.read("".join(words) if words and len(words) == len(pieces) else inner, kind)
            elif "image" in kind or "file" in kind or "audio" in kind:
                self.left_out[MISSING_FILES] += 1
        elif text := text_or_none(content):
            (self.thoughts if kind in _THINKS else self.texts).append(text)
