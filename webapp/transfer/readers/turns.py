"""Conversations as lists or trees of turns, whichever program wrote them: a turn says who speaks and has a text.

So does ShareGPT (`from: human`, `value`), what the APIs of models take (`role`, `content`), and what many programs
export: a list of turns in an object, one file of turns for each conversation, nodes with their parents, a question
and its answer in one row, or all turns in one list, each naming its conversation (LobeChat).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import (
    Part,
    ReadConversation,
    ReadMessage,
    by_id,
    count_omissions,
    instant,
    shown_path,
    text_or_none,
)
from webapp.transfer.readers.records import as_dict, as_list, read_records, split_thought
from webapp.transfer.sources import Upload

_LISTS = ("conversations", "messages", "mapping", "entries", "turns", "contents", "chunks", "chunkedPrompt")
_ROLES = ("from", "role", "sender", "author")
_TEXTS = ("value", "content", "text", "parts", "fragments", "message")
_THOUGHTS = ("reasoning_content", "reasoningContent", "reasoning", "thinking", "thought")
_TIMES = ("createdAt", "created_at", "create_time", "inserted_at", "timestamp", "updated_datetime", "time")
_STARTS = (*_TIMES, "created")
_TITLES = ("title", "name", "chatTitle", "thread_title")
_IDS = ("id", "uuid", "_id", "conversation_id")
_PARENTS = ("parentId", "parent_id", "parent", "parentMessageId", "parent_message_id")
_TALKS = ("topicId", "topic_id", "conversationId", "conversation_id", "sessionId", "session_id")
_QUESTIONS = ("query_str", "query", "question", "prompt")
_ANSWERS = ("answer", "response", "completion")
_PEOPLE = ("human", "user", "request", "prompt")
_MODELS = ("assistant", "gpt", "model", "bot", "ai", "response")
_HIDDEN = ("system", "developer", "tool", "function", "function_call", "observation", "none")
_THINKS = ("think", "thinking", "thoughts")


class ShareGPT:
    """Reads lists of turns."""

    name, label = "sharegpt", "ShareGPT"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether turns are in it, or something that has a list of them."""
        return upload.has_record(upload.json_names, lambda item: _is_conversation(item) or _is_turn(item))

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations; turns that nothing holds together, not even the name of one, are one with the name
        of their file."""
        for name in upload.json_names:
            if upload.first_record(name, _is_conversation) is not None:
                yield from read_records(upload, [name], _is_conversation, lambda item: [_conversation(item)])
            elif upload.first_record(name, _is_turn) is not None:
                talks: dict[str, list[Any]] = {}
                yield from read_records(upload, [name], _is_turn, partial(_collect, talks))
                titles = _titles(upload, name) if any(talks) else {}
                for key, turns in talks.items():
                    title = titles.get(key) or PurePosixPath(name).stem
                    yield _conversation({"id": key, "title": title, "messages": _in_order(turns) if key else turns})


def _collect(talks: dict[str, list[Any]], item: Any) -> tuple[Part, ...]:
    if _role(item := as_dict(item)) and not {*_TEXTS}.isdisjoint(item):
        talks.setdefault(str(_first(item, _TALKS) or ""), []).append(item)
    return ()


def _titles(upload: Upload, name: str) -> dict[str, str]:
    """Return the titles of conversations by their ids, from lists beside that of the turns."""
    titles: dict[str, str] = {}
    with suppress(ValueError):
        for _, item in upload.items_under(name, "state", "data", "topics", "sessions"):
            row = as_dict(item)
            if title := text_or_none(_first(row, _TITLES) or _first(as_dict(row.get("meta")), _TITLES)):
                titles[str(row.get("id"))] = title
    return titles


def _in_order(turns: list[Any]) -> list[Any]:
    """Return turns by their times; one that does not name the turn before it stands below the one above."""
    moments = [instant(_first(turn, _TIMES)) for turn in turns]
    if None not in moments:
        order = sorted(range(len(turns)), key=moments.__getitem__)  # type: ignore[arg-type]
        turns = [turns[place] for place in order]
    return [{**turn, "parent": _parent(turn) or above.get("id")} for above, turn in pairwise([{}, *turns])]


def _first(item: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first of some fields that holds something."""
    return next(filter(None, map(item.get, names)), None)


def _turns(item: Any) -> list[Any]:
    """Return the turns in a conversation, each as one object."""
    turns = _first(as_dict(item), _LISTS)
    if isinstance(turns, dict) and (inner := _first(turns, _LISTS)):
        turns = inner
    rows = turns.values() if isinstance(turns, dict) else as_list(turns)
    return list(chain.from_iterable(map(_as_turns, rows)))


def _as_turns(row: Any) -> list[Any]:
    """Return the turns in a row: a node may hold its message in an object, and a question come with its answer."""
    turn = as_dict(row)
    if isinstance(turn.get("message"), dict):
        turn = {**turn, **turn["message"]}
    question, answer = _first(turn, _QUESTIONS), _first(turn, _ANSWERS)
    if isinstance(question, str) and isinstance(answer, str):
        beside = {name: turn[name] for name in _TIMES if name in turn}
        return [{"role": "user", "content": question} | beside, {"role": "assistant", "content": answer} | beside]
    return [turn] if isinstance(row, dict) else [row]


def _role(turn: Mapping[str, Any]) -> str:
    """Return who speaks, in lower case: as a word, in an object, or as the kinds of the parts tell."""
    for name in _ROLES:
        value = turn.get(name)
        role = as_dict(value).get("role") if isinstance(value, dict) else value
        if isinstance(role, str) and role:
            return role.lower()
    kinds = {str(as_dict(part).get("type")).lower() for part in as_list(turn.get("fragments"))}
    return next((role for role in ("request", "response") if role in kinds), "")


def _is_turn(item: Any) -> bool:
    known = (*_PEOPLE, *_MODELS, *_HIDDEN)
    return isinstance(item, dict) and _role(item) in known and not {*_TEXTS}.isdisjoint(item)


def _is_conversation(item: Any) -> bool:
    turns = list(map(as_dict, _turns(item)))
    if any(_role(turn) and not {*_TEXTS}.isdisjoint(turn) for turn in turns):
        return True
    return isinstance(as_dict(item).get("mapping"), dict) and any(
        isinstance(turn.get("content"), str) for turn in turns
    )


def _conversation(item: Any) -> ReadConversation:
    if not _is_conversation(item):
        raise ValueError(N_("it has no turns"))
    turns = _turns(item)
    filled = [turn for turn in map(as_dict, turns) if _first(turn, (*_TEXTS, *_THOUGHTS))]
    rows = by_id(({**turn, "parent": _parent(turn)} for turn in filled), "id")
    path = shown_path(rows, "parent", item.get("currentId"), lambda row: instant(_first(row, _TIMES)))
    has_roles = any(map(_role, rows.values()))
    messages: list[ReadMessage] = []
    for key in path:
        role = _role(rows[key]) if has_roles else ("user", "assistant")[len(messages) % 2]
        if role not in _HIDDEN and (message := _message(key, role, rows[key])):
            messages.append(message)
    # Many of these files have no ids: the same words are the same conversation.
    digest = hashlib.sha256(json.dumps(turns, sort_keys=True).encode()).hexdigest()[:32]
    return ReadConversation(
        source_id=str(_first(item, _IDS) or digest),
        title=text_or_none(_first(item, _TITLES)),
        messages=messages,
        created_at=instant(_first(item, _STARTS)) or next((message.at for message in messages), None),
        left_out=count_omissions(rows, path, len(messages)),
    )


def _parent(turn: Mapping[str, Any]) -> Any:
    """Return the id of the turn before, which may be the last of those above."""
    return _first(turn, _PARENTS) or next(reversed(as_list(turn.get("ancestors"))), None)


def _message(key: str, role: str, turn: Mapping[str, Any]) -> ReadMessage | None:
    is_user = role in _PEOPLE
    texts, thoughts = _texts(_first(turn, _TEXTS))
    text, thought = ("\n\n".join(texts), "") if is_user else split_thought("\n\n".join(texts))
    thoughts = list(filter(None, map(text_or_none, (*thoughts, thought, _first(turn, _THOUGHTS)))))
    if not text or turn.get("isThought"):
        return None
    model = None if is_user else text_or_none(_first(turn, ("model", "modelId", "fromModel")))
    at = instant(_first(turn, _TIMES))
    return ReadMessage(
        key, "user" if is_user else "assistant", text, at, model, thought="\n\n".join(dict.fromkeys(thoughts))
    )


def _texts(content: Any) -> tuple[list[str], list[str]]:
    """Return the texts and the thoughts in a content, which may have parts."""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        kind = str(as_dict(part).get("type") or "").lower()
        while isinstance(part, dict):
            part = _first(part, (*_TEXTS, *_THINKS))
        if text := text_or_none(part):
            (thoughts if kind in _THINKS else texts).append(text)
    return texts, thoughts
