"""Copies of what memories say, outside the memory tables: recorded tool calls, replies that quote, stored answers."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from blinker import Signal
from sqlalchemy import and_, false, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, aliased, load_only
from sqlalchemy.orm.attributes import flag_modified

from webapp.accounts.idempotency import encrypt_answer, open_answer
from webapp.accounts.models import IdempotencyKey
from webapp.conversations.current_messages import messages_of
from webapp.conversations.models import Conversation, Message, MessageReasoning
from webapp.db.base import db, get_or_raise
from webapp.db.index_hints import batches_to_change, stream_rows
from webapp.memories.models import MemoryEvidence
from webapp.memories.rules.evidence import find_quote
from webapp.memories.rules.paraphrases import ForgottenStatements, without_repeats
from webapp.memories.rules.tombstones import has_statements
from webapp.text.canonical import canonical_statement
from webapp.text.provenance import FORGOTTEN, forgotten_in
from webapp.text.quotes import merge_spans, places_of

FORGOTTEN_MARK = "[forgotten]"

replies_stripped = Signal()
"""Sent inside the transaction with `user_id` and `message_ids`: replies from which a forgotten text was removed."""


statements_withdrawn = Signal()
"""Sent inside the transaction with `user_id`, `conversation_ids` and `statements` (what somebody else forgot or no
longer shares): nothing that was made from these conversations of the user may tell it."""


def strip_calls_and_offers(reply: Message, memory_ids: Collection[int], texts: Collection[str]) -> bool:
    """Remove the texts from a reply's tool calls and offers; returns whether there were any."""
    forms = _forms(texts)
    is_changed = False
    for name in ("suggested_values", "suggested_actions"):
        offers = getattr(reply, name) or []
        rest = [item for item in offers if _remove_mentions(item, memory_ids, forms) == item]
        if len(rest) != len(offers):
            setattr(reply, name, rest or None)
            is_changed = True
    stripped = _remove_mentions(reply.tool_calls, memory_ids, forms)
    if stripped != reply.tool_calls:
        reply.tool_calls = stripped
        flag_modified(reply, "tool_calls")
        is_changed = True
    return is_changed


def strip_replies(user_id: int, memory_ids: Collection[int], texts: Collection[str]) -> list[int]:
    """Remove the texts from the user's replies; return the changed ids.

    Long ones word for word, from text and reasoning; from calls and offers also what is about these memories.
    """
    significant = sorted({text for text in texts if has_statements(text)}, key=len, reverse=True)
    forms = _forms(texts)
    # A model's server may quote what it was sent in the reason why it refused.
    searches = [_Search(column, significant) for column in (Message.content, Message.error_detail)]
    reply_ids: list[int] = []
    rewritten: list[int] = []
    for portion in messages_of(user_id, "assistant"):
        for message_id in _with_calls_or_offers(portion, memory_ids, forms):
            strip_calls_and_offers(get_or_raise(Message, message_id), memory_ids, texts)
            reply_ids.append(message_id)
        for search in searches if significant else ():
            rewritten += _strip_column(portion, search)
        db.session.flush()
    thought = _strip_reasoning(user_id, significant) if significant else []
    if rewritten:
        replies_stripped.send(None, user_id=user_id, message_ids=rewritten)
    return list(dict.fromkeys([*reply_ids, *rewritten, *thought]))


def _with_calls_or_offers(portion: Sequence[int], memory_ids: Collection[int], forms: Sequence[str]) -> list[int]:
    """Return which replies have calls or offers with a text in one of the forms, or about these memories."""
    filled = (Message.tool_calls, Message.suggested_values, Message.suggested_actions)
    statement = select(Message.message_id, *filled).where(
        Message.message_id.in_(portion), or_(*(column.is_not(None) for column in filled))
    )
    return [
        message_id
        for message_id, *values in stream_rows(statement)
        if any(_remove_mentions(value, memory_ids, forms) != value for value in values)
    ]


class _Search:
    """A search for messages that may repeat some texts in a column: they have the words in the same order."""

    def __init__(self, column: InstrumentedAttribute[Any], texts: Sequence[str]) -> None:
        self.column = column
        self._by_word: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for text in texts:  # by the word that is likely to be the rarest, each with all of its words
            self._by_word[next(iter(_longest_forms(text)), "")].append((_run(text).strip(), text))
        prefixes = {tuple(_longest_forms(text)[:_RARE_WORDS]) for text in texts}
        if len(prefixes) > _MAX_TEXTS:  # the database is not asked
            prefixes = {()}
        conditions = (and_(column.is_not(None), *map(column.contains, words)) for words in sorted(prefixes))
        self._may_repeat = or_(false(), *conditions)

    def find_copies(self, portion: Sequence[int]) -> Iterator[tuple[int, str, list[str]]]:
        """Yield the messages of a portion that may repeat some of the texts, each with those."""
        statement = select(Message.message_id, self.column).where(
            Message.message_id.in_(portion), Message.status != "streaming", self._may_repeat
        )
        for message_id, content in stream_rows(statement):
            run = _run(content)
            pairs = (pair for word in {"", *run.split()} for pair in self._by_word.get(word, ()))
            if texts := [text for words, text in pairs if words in run]:
                yield message_id, content, texts


def _strip_column(portion: Sequence[int], search: _Search) -> list[int]:
    contents: dict[int, str] = {}
    for message_id, content, texts in search.find_copies(portion):
        if (stripped := replace_copies(content, sorted(texts, key=len, reverse=True))) != content:
            contents[message_id] = stripped
    if contents:
        rows = [{"message_id": message_id, search.column.key: content} for message_id, content in contents.items()]
        db.session.execute(update(Message), rows)
    return list(contents)


def mark_words(user_id: int, evidence: Iterable[MemoryEvidence]) -> None:
    """Mark the words behind forgotten memories in their messages, in copies of these that branches and imports hold,
    and wherever else the user said them: nothing rests on them under another quote, and no search tells them."""
    said: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in evidence:
        said[row.message_id].append((row.start, row.end))
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    original = aliased(Message)
    is_copy = (original.created_at == Message.created_at) & (original.content == Message.content)
    rows = (
        select(Message.message_id, original.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .join(original, is_copy)
        .where(Conversation.user_id == user_id, Message.role == "user", Message.status == "complete")
        .where(original.message_id.in_(said))
    )
    for message_id, original_id in db.session.execute(rows):
        found[message_id] += said[original_id]
    _mark(found)
    quotes = sorted({row.quote for row in evidence if has_statements(row.quote)})
    search = _Search(Message.content, quotes)
    for portion in messages_of(user_id, "user") if quotes else ():
        places = {
            message_id: [place for text in texts for place in places_of(canonical_statement(text), content)]
            for message_id, content, texts in search.find_copies(portion)
        }
        _mark(places)


def _mark(places: Mapping[int, Iterable[tuple[int, int]]]) -> None:
    """Mark what is forgotten in messages, by their ids, once however often it is."""
    messages = select(Message).where(Message.message_id.in_(places)).options(load_only(Message.spans))
    for message in db.session.scalars(messages) if places else ():
        forgotten = merge_spans([*forgotten_in(message.provenance), *places[message.message_id]])
        others = [span for span in message.provenance if span[2] != FORGOTTEN]
        message.spans = [*others, *((start, end, FORGOTTEN) for start, end in forgotten)] or None
    db.session.flush()


def _strip_reasoning(user_id: int, texts: Sequence[str]) -> list[int]:
    """Remove the texts, also where retold, from the reasoning for the user's replies; returns the ids of those."""
    statement = (
        select(MessageReasoning)
        .join(Message, Message.message_id == MessageReasoning.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(Conversation.user_id == user_id)
    )
    statements, updates = ForgottenStatements(texts), []
    for rows in batches_to_change(statement, MessageReasoning.message_id):
        updates += strip_thoughts(rows, texts, statements)
        db.session.flush()
    return updates


def strip_thoughts(
    rows: Iterable[MessageReasoning], texts: Sequence[str], statements: ForgottenStatements, mark: str = FORGOTTEN_MARK
) -> list[int]:
    """Remove the texts, and what retells them, from reasoning; returns the ids of the replies that changed."""
    updates = []
    for row in rows:
        stripped = without_repeats(replace_copies(row.content, texts, mark), statements, mark)
        if stripped != row.content:
            row.content = stripped
            updates.append(row.message_id)
    return updates


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", unicodedata.normalize("NFKC", text).lower())


def _longest_forms(text: str) -> list[str]:
    """Return the words of a text, the longest first: they are likely to be rare."""
    return sorted(set(_words(text)), key=lambda word: (-len(word), word))


def _run(text: str) -> str:
    return f" {' '.join(_words(text))} "


def replace_copies(text: str, wordings: Sequence[str], mark: str = FORGOTTEN_MARK) -> str:
    """Return a text with the mark in place of everything that repeats one of these, ignoring white space and case."""
    for words in wordings:
        result = ""
        while span := find_quote(words, text):
            result, text = f"{result}{text[: span.start]}{mark}", text[span.end :]
        text = result + text
    return text


def strip_answers(user_id: int, memory_ids: Collection[int], texts: Collection[str]) -> int:
    """Remove the texts from responses stored for repeated requests; returns how many were changed."""
    forms = _forms(texts)
    stored = select(IdempotencyKey.key, IdempotencyKey.body).where(IdempotencyKey.user_id == user_id)
    updates = {}
    for key, sealed in stream_rows(stored):
        body = open_answer(sealed)
        # A response about a message repeats the user's own words, as the message itself does.
        if not isinstance(body, dict) or "memory_id" not in body:
            continue
        stripped = _remove_mentions(body, memory_ids, forms)
        if stripped != body:
            updates[key] = encrypt_answer(stripped)
    for key, body in updates.items():
        get_or_raise(IdempotencyKey, (user_id, key)).body = body
    db.session.flush()
    return len(updates)


def redact_value(value: Any, memory_ids: Collection[int], texts: Collection[str]) -> Any:
    """Return a JSON value with FORGOTTEN_MARK for what is of these memories, and for repeats of one of the texts."""
    return _remove_mentions(value, memory_ids, _forms(texts))


def _forms(texts: Collection[str]) -> list[str]:
    return [form for text in texts if (form := canonical_statement(text))]


def _remove_mentions(value: Any, memory_ids: Collection[int], forms: Sequence[str]) -> Any:
    def strip(part: Any, is_related: bool) -> Any:
        if isinstance(part, dict):
            output = part.get("output")  # of a tool call, whose input is in the model's words
            records = (part, output) if isinstance(output, dict) else (part,)
            is_related = is_related or any(record.get("memory_id") in memory_ids for record in records)
            return {name: strip(item, is_related and name not in _NAMES) for name, item in part.items()}
        if isinstance(part, list):
            return [strip(item, is_related) for item in part]
        if isinstance(part, str) and part != FORGOTTEN_MARK:
            canonical = canonical_statement(part)
            if is_related or any(
                form == canonical or (len(form) >= _MIN_COPY_LETTERS and form in canonical) for form in forms
            ):
                return FORGOTTEN_MARK
        return part

    return strip(value, False)


_MAX_TEXTS = 20
_RARE_WORDS = 2  # so many words of a text the database looks for: one alone may be in every reply
_MIN_COPY_LETTERS = 8  # from this many letters on, a text inside another is a copy, not a coincidence
_NAMES = frozenset({"tool_name", "memory_type", "status", "visibility", "origin", "created_at", "updated_at"})
