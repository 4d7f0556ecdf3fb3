"""Open WebUI's export of chats: a JSON array, each chat a tree of messages below `chat.history`.

As its own code writes it (backend/open_webui/models/chats.py, src/lib/components/chat/Settings/Chats.svelte, 2026).
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from webapp.i18n.marks import N_
from webapp.llm.markdown_state import MarkdownState
from webapp.transfer.content import Omission, Part, ReadConversation, ReadMessage
from webapp.transfer.field_values import instant, text_or_none
from webapp.transfer.message_tree import branch, by_id, count_omissions, newest_leaf, parent_links
from webapp.transfer.readers.records import as_dict, as_list, read_records
from webapp.transfer.readers.turns import read_message
from webapp.transfer.sources import Upload

OTHERS = N_("it belongs to another account of that Open WebUI, whose own export is the one to bring in")
_TAG = re.compile(r"<details type=\"(\w+)\"[^<>]*>|<details\b[^<>]*>|</details>")
_SUMMARY = re.compile(r"<summary>[^<]*</summary>")
_OPEN = re.compile(r"\s*+(?:<summary>[^<]*</summary>[^\n]*)?(?:\n+>[^\n]*)*")
_KINDS = ("reasoning", "tool_calls", "code_interpreter")


class OpenWebUI:
    """Reads Open WebUI's export."""

    name, label = "openwebui", "Open WebUI"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether a chat with a history is in it."""
        return upload.has_record(upload.json_names, _is_chat)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the chats of one account; those of other users in an admin's export are theirs alone."""
        account = ""

        def convert(item: Any) -> Iterator[Part]:
            nonlocal account
            conversation = _conversation(item)
            owner = text_or_none(item.get("user_id")) or account
            account = account or owner
            if owner != account:
                raise ValueError(OTHERS)
            yield conversation

        yield from read_records(upload, upload.json_names, _is_chat, convert)


def _is_chat(item: Any) -> bool:
    chat = _chat_of(item)
    return isinstance(chat.get("history"), dict) or (chat is not item and isinstance(chat.get("messages"), list))


def _chat_of(item: Any) -> dict[str, Any]:
    """Return the chat in an item of an export, which is stored alone by some."""
    chat = as_dict(item).get("chat")
    return chat if isinstance(chat, dict) else as_dict(item)


def _conversation(item: Any) -> ReadConversation:
    if not _is_chat(item):
        raise ValueError(N_("it has no history"))
    chat = _chat_of(item)
    history = as_dict(chat.get("history"))
    if nodes := as_dict(history.get("messages")):
        rows = {str(key): row for key, row in nodes.items() if isinstance(row, dict)}
    else:
        rows = by_id(as_list(history.get("messages")) or as_list(chat.get("messages")), "id")
    if not any(row.get("parentId") for row in rows.values()):
        path = list(rows)
    else:
        path = _path(rows, [history.get("currentId"), item.get("current_message_id"), chat.get("currentId")])
    left_out = Counter[str]()
    messages = [message for key in path if (message := _message(key, rows[key], left_out)) is not None]
    return ReadConversation(
        source_id=str(item.get("id") or ""),
        title=text_or_none(item.get("title")) or text_or_none(chat.get("title")),
        messages=messages,
        created_at=instant(item.get("created_at")),
        updated_at=instant(item.get("updated_at")),
        is_archived=bool(item.get("archived")),
        is_pinned=bool(item.get("pinned")),
        tags=list(_tags(as_dict(item.get("meta")).get("tags") or chat.get("tags"))),
        may_remember=not any(_is_by_other_user(rows[key], item) for key in path),
        left_out=left_out + count_omissions(rows, path, len(messages)),
    )


def _path(rows: dict[str, dict[str, Any]], keys: list[Any]) -> list[str]:
    """Return the ids of the branch that was seen last: through the named message and on along its last children, as
    Open WebUI repairs it; else to the newest message. A lone reply without a time was left by a broken stream.
    """
    times = {key: moment.timestamp() for key, row in rows.items() if (moment := instant(row.get("timestamp")))}
    parents = parent_links(rows, "parentId", times)
    leaf = next((str(key) for key in keys if str(key) in rows), None)
    if leaf and len(rows) > 1 and not parents[leaf] and rows[leaf].get("role") == "assistant" and leaf not in times:
        leaf = None
    last = {parent: key for key, parent in parents.items() if parent is not None}
    seen: set[str] = set()
    while leaf is not None and leaf in last and leaf not in seen:
        seen.add(leaf)
        listed_last = [key for key in as_list(rows[leaf].get("childrenIds")) if parents.get(str(key)) == leaf]
        leaf = str(listed_last[-1]) if listed_last else last[leaf]
    return branch(parents, leaf or newest_leaf(parents, times))


def _tags(value: Any) -> Iterator[str]:
    """Yield names of tags: the export has their ids, with underscores; old exports have objects with a name."""
    for tag in as_list(value):
        name = text_or_none(as_dict(tag).get("name") if isinstance(tag, dict) else tag)
        if name and name != "none":
            yield name.replace("_", " ")


def _is_by_other_user(row: dict[str, Any], item: dict[str, Any]) -> bool:
    """Return whether another person wrote a message in a shared chat, from which nothing is learned about the user."""
    author = text_or_none(row.get("user_id"))
    return row.get("role") == "user" and author is not None and author != item.get("user_id")


def _message(key: str, row: dict[str, Any], left_out: Counter[str]) -> ReadMessage | None:
    """Return the message in a row, whose reply may be folded in part, or (as in what is made of this program) apart."""
    if row.get("role") not in ("user", "assistant"):
        return None
    content, thought = row.get("content"), ""
    if isinstance(content, str):
        content, thought, steps = without_details(content)
        left_out[Omission.STEPS] += steps
    content = content or row.get("content_list") or row.get("output")
    turn = {**row, "content": content, "files": list(map(_file, map(as_dict, as_list(row.get("files")))))}
    message, others = read_message(key, turn, [thought] if thought else [], is_user=row["role"] == "user")
    left_out += others
    return message


def _file(item: dict[str, Any]) -> dict[str, Any]:
    """Return a file with its name and the text extracted from it; the export has no bytes but those of pictures."""
    inner = as_dict(item.get("file"))
    name = item.get("name") or inner.get("filename")
    text = as_dict(inner.get("data")).get("content") or item.get("content")
    return {**item, "name": name, "filename": name, "text": text}


def without_details(content: str) -> tuple[str, str, int]:
    """Take out of a reply what Open WebUI folds: returns the rest, what was thought, and how many steps of tools there
    were. One inside another belongs to it, one in code stays, one that a broken stream left open has its summary and
    quoted lines."""
    rest, thoughts, steps = [], [], 0
    index = 0
    ends = _ends(content)
    place, read = MarkdownState(), 0
    for tag in _TAG.finditer(content):
        if tag.start() < index or tag[1] not in _KINDS:
            continue
        place, read = place.advance(content[max(read, index) : tag.start()]), tag.start()
        if place.in_code:
            continue
        rest.append(content[index : tag.start()])
        end, index = ends.get(tag.start()) or _open_end(content, tag.end())
        inner = _SUMMARY.sub("", content[tag.end() : end].lstrip(), count=1)
        if tag[1] == "reasoning":
            thoughts.append("\n".join(line.removeprefix(">").removeprefix(" ") for line in inner.strip().splitlines()))
        else:
            steps += 1
    rest.append(content[index:])
    return "".join(rest).strip(), "\n\n".join(filter(None, thoughts)), steps


def _ends(content: str) -> dict[int, tuple[int, int]]:
    """Return where the closing tag of each block that has one stands, by where the block begins."""
    ends: dict[int, tuple[int, int]] = {}
    stack: list[int] = []
    for tag in _TAG.finditer(content):
        if not tag[0].startswith("</"):
            stack.append(tag.start())
        elif stack:
            ends[stack.pop()] = tag.span()
    return ends


def _open_end(content: str, begin: int) -> tuple[int, int]:
    """Return where a block without an end is taken to end: after its summary and the quoted lines below."""
    match = _OPEN.match(content, begin)
    end = match.end() if match else begin
    return end, end
