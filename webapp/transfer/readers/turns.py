"""Conversations as lists or trees of turns, whichever program wrote them: a turn says who speaks and has a text.

So does ShareGPT (`from: human`, `value`), what the APIs of models take (`role`, `content`), and what many programs
export: a list of turns in an object, one file or table of turns for each conversation, nodes with their parents, a
question and its answer in one row, or all turns in one list, each naming its conversation (LobeChat, Claude Code).
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import Omission, ReadConversation, ReadFile, ReadMessage, Role
from webapp.transfer.field_values import instant, is_true, text_or_none
from webapp.transfer.json_text import object_in
from webapp.transfer.message_tree import by_id, count_omissions, current_branch
from webapp.transfer.readers.chatgpt_text import IMAGE
from webapp.transfer.readers.records import as_dict, as_list, picture_of, split_thought, text_file

FIELDS = SimpleNamespace(**json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8")))
"""The usual names of fields, the likeliest first, and of those who speak: a new one is a word in `turns.json`."""
BLOCKS = "blocks"
"""The ids of a turn's parts, which stand in a list of their own (Cherry Studio)."""
BETWEEN_PEOPLE = N_("nobody in it is known as an assistant")
SPEAKERS = (*FIELDS.people, *FIELDS.models)
_KNOWN = {*SPEAKERS, *FIELDS.hidden}
_PARTS = {*FIELDS.texts, *FIELDS.thinks, *FIELDS.people, *FIELDS.models}
_CARDS = re.compile(r"<(?:grok|xai):\w[^<>]*>[^<]*(?:<(?!/?(?:grok|xai):)[^<]*)*</(?:grok|xai):\w+>")
"""The mark of a quotation or a search in a reply, which is a card on Grok's page."""


def in_order(turns: list[Any]) -> list[Any]:
    """Return turns by their times; one that does not name the turn before it stands below the one above."""
    moments = [instant(first_of(turn, FIELDS.times)) for turn in turns]
    if None not in moments:
        order = sorted(range(len(turns)), key=moments.__getitem__)  # type: ignore[arg-type]
        turns = [turns[place] for place in order]
    return [{**turn, "parent": _parent(turn) or above.get("id")} for above, turn in pairwise([{}, *turns])]


def first_of(item: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first of some fields that holds something."""
    return next(filter(None, map(item.get, names)), None)


def as_whole(item: Any) -> dict[str, Any]:
    """Return a conversation as one object with what stands in others of it: its head, what was asked, the reply."""
    parts = [as_dict(item)]
    for part in parts:  # and what is found in these
        parts += filter(None, (as_dict(value) or object_in(value) for value in map(part.get, FIELDS.nested)))
    return {name: value for part in reversed(parts) for name, value in part.items()}


def turns_in(item: Any) -> list[Any]:
    """Return the turns in a conversation, each as one object."""
    whole = as_whole(item)
    turns = as_list(item) or first_of(whole, FIELDS.lists)
    turns = first_of(as_dict(turns), FIELDS.lists) or turns
    turns = [turns] if is_message(turns) else turns  # the root of a tree (OpenAssistant)
    stack = list(turns.values() if isinstance(turns, dict) else as_list(turns))[::-1]
    found: list[Any] = []
    while stack:
        row = stack.pop()
        if list(map(type, as_list(row))) in ([str, str], [dict, dict]) and not is_message(row[0]):
            row = dict(zip((FIELDS.questions[0], FIELDS.answers[0]), row, strict=True))
        found += as_turns(row)
        for name, is_child in (("children", as_dict), ("replies", is_turn)):  # which may be what to say next
            if children := list(filter(is_child, as_list(as_dict(found and found[-1]).get(name)))):
                above = found[-1].pop(name) and (found[-1]["id"] or f"above-{len(found)}")
                found[-1]["id"] = above
                stack += [{**child, "parent": above} for child in reversed(children)]
    return _with_reply(found, whole)


def _with_reply(asked: list[Any], whole: Mapping[str, Any]) -> list[Any]:
    """Return what was asked with the reply beside it, the first of several, as logs of models' APIs have them."""
    reply = first_of(whole, FIELDS.replies) or (asked and whole.get("message"))
    if isinstance(reply, str):
        is_open = bool(asked) and not words_of(_role(as_dict(asked[-1]))) & {*FIELDS.models}
        return [*asked, {"role": FIELDS.models[0], "content": reply}] if is_open else asked
    rows = as_list(whole.get("output")) or [
        row for place, row in enumerate(as_list(reply) or [reply]) if not place or "role" in as_dict(row)
    ]
    said = [turn for row in rows for turn in as_turns(row) if is_message(turn)]
    if said and not asked and isinstance(question := first_of(whole, (*FIELDS.questions, "input")), str):
        asked = [{"role": FIELDS.people[0], "content": question}]
    is_there = asked and said and first_of(as_dict(asked[-1]), FIELDS.texts) == first_of(said[0], FIELDS.texts)
    return [*asked, *said[bool(is_there) :]]


def as_turns(row: Any) -> list[Any]:
    """Return the turns in a row: a node may hold its message in an object, or versions of it, of which one was chosen,
    and a question come with its answer."""
    turn = {**as_dict(row)}
    if len(turn) == 1:  # under the name of its kind (X, Zed)
        turn = {"type": next(iter(turn)), **as_dict(next(iter(turn.values())))}
    versions = next(filter(None, map(as_list, map(turn.get, ("versions", "candidates", "responses")))), [])
    chosen = turn.get("primary_candidate_id", ""), turn.get("currentlySelected", "")
    picked = [one for n, one in enumerate(versions) if chosen in (("", n), (as_dict(one).get("candidate_id"), ""))]
    for inner in (*map(turn.get, ("message", "payload", "data", "info")), *(picked or versions)[:1]):
        if isinstance(inner, dict):
            turn = {**turn, **inner}
    if "role" in as_dict(turn.get("content")):  # as Gemini replies
        turn |= turn["content"]
    kind = _kind(turn.get("type"))
    if kind in _KNOWN and not _role(turn):  # nothing else says who speaks
        turn["role"] = kind
    turn["id"] = first_of(as_dict(row), ("uuid", "messageId", "message_id")) or turn.get("id")
    if versions and not first_of(turn, FIELDS.texts) and (inner_rows := as_list(turn.get("messages"))):
        return [inner for inner_row in inner_rows for inner in as_turns(inner_row)]
    question, answer = first_of(turn, FIELDS.questions) or as_dict(row).get("message"), first_of(turn, FIELDS.answers)
    if question and answer and (isinstance(question, str) and isinstance(answer, str) or not _role(turn)):
        beside = {name: turn[name] for name in (*FIELDS.times, *FIELDS.talks) if name in turn}
        asked = {name: turn[name] for name in FIELDS.files if name in turn} | beside
        beside["model"] = turn.get("model")
        return [{"role": "user", "content": question} | asked, {"role": "assistant", "content": answer} | beside]
    return [turn] if isinstance(row, dict) else [row]


def _role(turn: Mapping[str, Any]) -> str:
    """Return who speaks, in lower case: as a flag, a word, in an object, or as the kinds of the parts tell."""
    for name in FIELDS.is_person:
        if name in turn:
            return "user" if is_true(turn[name]) else "assistant"
    for name in FIELDS.role_kinds:
        if (kind := _kind(turn.get(name))) in _KNOWN:
            return kind
    for name in FIELDS.roles:
        value = turn.get(name)
        role = (first_of(value, ("role", "originalName")) or _role(value)) if isinstance(value, dict) else value
        if isinstance(role, str) and role:
            return _kind(role)
    kinds = {str(as_dict(part).get("type")).lower() for part in as_list(turn.get("fragments"))}
    return next((role for role in ("request", "response") if role in kinds), "")


def _kind(value: Any) -> str:
    """Return a kind of message in lower case: `user` for `user_message`, `user.message` or `userMessage`."""
    return re.sub(r"(?<=\w)[_.]?message\Z", "", str(value or "").lower())


def words_of(name: str) -> set[str]:
    """Return the words of a name, in lower case."""
    return {*re.findall(r"\w+", name.casefold())}


def is_message(turn: Any) -> bool:
    return isinstance(turn, dict) and bool(_role(turn)) and not {*FIELDS.texts, BLOCKS}.isdisjoint(turn)


def is_known(role: str) -> bool:
    """Return whether a role, or a name, is that of a person or model in a conversation, and not just anybody's."""
    return role in _KNOWN or bool(words_of(role) & {*FIELDS.models})


def is_turn(item: Any) -> bool:
    return any(is_message(turn) and _role(turn) in _KNOWN for turn in as_turns(item))


def is_conversation(item: Any) -> bool:
    turns = list(map(as_dict, turns_in(item)))
    if any(is_message(turn) and is_known(_role(turn)) for turn in turns):
        return True
    return isinstance(as_dict(item).get("mapping"), dict) and any(
        isinstance(turn.get("content"), str) for turn in turns
    )


def is_between_people(item: Any) -> bool:
    """Return whether somebody's words are in it, and nobody is known as an assistant or as the person that asks it."""
    rows = list(map(as_dict, turns_in(item) or [item]))
    named = [row for row in rows if first_of(row, FIELDS.texts) and first_of(row, (*FIELDS.roles, *FIELDS.names))]
    return bool(named) and not any(is_known(_role(row)) for row in named)


def read_conversation(item: Any) -> ReadConversation:
    if not is_conversation(item):
        raise ValueError(BETWEEN_PEOPLE if is_between_people(item) else N_("it has no turns"))
    turns, item = turns_in(item), as_whole(item)
    filled = [turn for turn in map(as_dict, turns) if first_of(turn, (*FIELDS.texts, *FIELDS.thoughts))]
    said = [turn for turn in filled if not any(is_true(turn.get(name)) for name in FIELDS.aside)]
    rows = by_id(({**turn, "parent": _parent(turn)} for turn in said), "id")
    path = current_branch(rows, "parent", item.get("currentId"), lambda row: instant(first_of(row, FIELDS.times)))
    roles = {key: _role(rows[key]) for key in path}
    # Where a model is named and no person is, whoever else speaks is the person.
    models = {role for role in roles.values() if words_of(role) & {*FIELDS.models}}
    is_named = not any(role in FIELDS.people for role in roles.values()) and bool(models)
    messages: list[ReadMessage] = []
    left_out = Counter({Omission.HIDDEN: len(filled) - len(said)})
    thoughts: list[str] = []
    for key in path:
        role = roles[key] if any(roles.values()) else ("user", "assistant")[len(messages) % 2]
        if role.startswith((*FIELDS.hidden,)):
            left_out[Omission.HIDDEN] += 1
            continue
        is_user = role in FIELDS.people or (is_named and role not in (*models, ""))
        is_waiting = bool(thoughts)
        message, others = read_message(key, rows[key], thoughts, is_user=is_user)
        left_out[Omission.HIDDEN] += is_waiting and is_user and message is not None  # a reply that was only thought
        left_out += others if message or others or thoughts else Counter({Omission.HIDDEN: 1})
        messages += [message] if message else []
    name = first_of(item, FIELDS.ids) or sha256(json.dumps(turns, sort_keys=True).encode()).hexdigest()[:32]
    return ReadConversation(
        source_id=str(name),
        title=text_or_none(first_of(item, FIELDS.titles)),
        messages=messages,
        created_at=instant(first_of(item, (*FIELDS.times, "lastUpdate")))
        or next((message.at for message in messages if message.at), None),
        updated_at=instant(first_of(item, FIELDS.updates)),
        is_pinned=any(is_true(item.get(name)) for name in FIELDS.pins),
        left_out=+(left_out + count_omissions(rows, path, len(path))),
    )


def _parent(turn: Mapping[str, Any]) -> Any:
    """Return the id of the turn before, which may be the last of those above."""
    return first_of(turn, FIELDS.parents) or next(reversed(as_list(turn.get("ancestors"))), None)


def read_message(
    key: str, turn: Mapping[str, Any], thoughts: list[str], *, is_user: bool
) -> tuple[ReadMessage | None, Counter[str]]:
    """Return the message in a turn, and what is left out of it; `thoughts` wait for the reply they belong to."""
    content = _Content()
    content.read(first_of(turn, FIELDS.texts))
    files = (as_dict(file) for name in FIELDS.files for file in as_list(turn.get(name)))
    content.files += filter(
        None, (picture_of(file) or text_file(file.get("text"), file.get("filename")) for file in files)
    )
    if spoken := _spoken(turn):
        content.thoughts, content.texts = [*content.thoughts, *content.texts], spoken
    text, thought = "\n\n".join(content.texts), ""
    if not is_user:
        text, thought = split_thought(text)
        beside = first_of({**turn, **as_dict(turn.get("extra"))}, FIELDS.thoughts)
        thoughts += filter(None, map(text_or_none, (*content.thoughts, thought, beside)))
    if not text and not content.files:
        return None, content.left_out
    sender = text_or_none(turn.get("sender"))
    model = first_of(turn, FIELDS.model_names) or (sender if sender not in SPEAKERS else None)
    model = text_or_none(as_dict(model).get("name") if isinstance(model, dict) else model)
    thought = "" if is_user else "\n\n".join(dict.fromkeys(thoughts))
    thoughts.clear()
    role: Role = "user" if is_user else "assistant"
    at = instant(first_of(turn, FIELDS.times))
    message = ReadMessage(key, role, text or IMAGE, at, None if is_user else model, content.files, thought)
    return message, content.left_out


def _spoken(turn: Mapping[str, Any]) -> list[str]:
    """Return what a model says by calling the tool for that; the text beside it is what it thinks (MemGPT)."""
    calls = (as_dict(as_dict(call).get("function")) for call in as_list(turn.get("tool_calls")))
    said = (object_in(call.get("arguments")).get("message") for call in calls if call.get("name") == "send_message")
    return [text for text in said if isinstance(text, str)]


@dataclass
class _Content:
    """The content of a turn, which may have parts, which may have parts themselves."""

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
            if len(content) == 1 and (tag := next(iter(content))).lower() in _PARTS:  # under the name of its kind
                content = {"type": tag, "text": content[tag]}
            kind = str(first_of(content | as_dict(content.get("style")), ("type", "phase")) or kind).lower()
            kind = FIELDS.thinks[0] if content.get("thought") is True else kind
            if "tool" in kind or "function" in kind or "system" in kind:
                self.left_out[Omission.HIDDEN if "system" in kind else Omission.STEPS] += 1
            elif picture := picture_of(content):
                self.files.append(picture)
            elif inner := first_of(content, (*FIELDS.texts, *FIELDS.thinks)):
                pieces = [as_dict(part).get("text") for part in as_list(inner)]
                words = [piece for piece in pieces if isinstance(piece, str)]
                self.read("".join(words) if words and len(words) == len(pieces) else inner, kind)
            elif "image" in kind or "file" in kind or "audio" in kind:
                self.left_out[Omission.MISSING_FILES] += 1
        elif text := text_or_none(content):
            packed = object_in(text)
            if "type" in packed and ("time" in packed or text_or_none(first_of(packed, FIELDS.texts))):
                self.read(packed, kind)  # the whole turn in its text, as Letta and AnythingLLM store it
            else:
                (self.thoughts if kind in FIELDS.thinks else self.texts).append(_CARDS.sub("", text))
