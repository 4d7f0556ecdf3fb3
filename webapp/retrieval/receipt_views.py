"""Views of receipts and search: lines with their reason, quote and age, in words."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape
from sqlalchemy import Select, bindparam, case, func, or_, select

from webapp.conversations.lists import find_conversations
from webapp.conversations.messages import order_by_index
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, ngettext
from webapp.markdown.rendering import strip_markdown
from webapp.memories.history import revisions
from webapp.memories.history.revisions import QuotedEvidence
from webapp.rendering import highlight
from webapp.retrieval import receipts, service
from webapp.retrieval.excerpt import excerpt
from webapp.retrieval.models import TurnReceipt
from webapp.retrieval.passages import FoundPassage
from webapp.retrieval.schemas import ReceiptLine
from webapp.spaces.models import DocumentChunk
from webapp.spaces.service import find_spaces

DONE = N_(
    {
        "wrong": "Set aside as wrong",
        "outdated": "Marked as no longer true",
        "not_relevant": "Noted: it will count less for questions like this one",
        "forget": "Forgotten for good",
    }
)

KINDS = N_({"memory": "Memory", "message": "Past message", "chunk": "Conversation summary", "document": "Document"})

_REASONS = N_(
    {
        "profile": "Your profile",
        "pinned": "Pinned by you",
        "fact": "Important fact",
        "instruction": "Standing instruction",
        "space": "Fact of this space",
        "recent": "Learned recently",
        "earlier part of this conversation": "An earlier part of this conversation",
        "words": "Has the same words",
        "words nearby": "Next to a match",
        "meaning": "Similar in meaning",
        "words and meaning": "Same words, similar meaning",
        "words nearby and meaning": "Similar in meaning, next to a match",
    }
)
_WORDLESS = ("meaning", "words nearby", "words nearby and meaning")


@dataclass(frozen=True, slots=True)
class UsedCounts:
    """Counts of what a reply saw: what was found for the question, documents, and what every reply sees."""

    relevant: int = 0
    documents: int = 0
    always: int = 0

    @property
    def label(self) -> str:
        """Return the line under the reply: what was found, else what every reply sees; empty when it saw nothing."""
        parts = [_("%(n)s relevant", n=self.relevant)] if self.relevant else []
        if self.documents:
            parts.append(ngettext("%(num)s document", "%(num)s documents", self.documents))
        return " · ".join(parts) or (_("%(n)s always on", n=self.always) if self.always else "")


@dataclass(frozen=True, slots=True)
class ShownItem:
    """A line of a receipt with the quotes of its memory."""

    line: ReceiptLine
    evidence: Sequence[QuotedEvidence] = ()

    @property
    def reason(self) -> str:
        """Return why the item was in the prompt, as a sentence."""
        return _REASONS.get(self.line.reason) or self.line.reason[:1].upper() + self.line.reason[1:]

    @property
    def kind(self) -> str:
        """Return the kind of item, in words."""
        return KINDS[self.line.kind]

    @property
    def is_found(self) -> bool:
        """Return whether the item was found for the question, not only what every reply sees."""
        return self.line.stage == receipts.FOUND or self.line.reason in receipts.FOUND_BY


@dataclass(frozen=True, slots=True)
class ShownReceipt:
    """The receipt of a reply, in the groups of UsedCounts, and what was considered and left out."""

    relevant: list[ShownItem] = field(default_factory=list)
    documents: list[ShownItem] = field(default_factory=list)
    always: list[ShownItem] = field(default_factory=list)
    passed_over: list[ShownItem] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.relevant or self.documents or self.always or self.passed_over)


def receipt(user_id: int, lines: Iterable[ReceiptLine]) -> ShownReceipt:
    """Return lines in their groups, each thing once."""
    lines = list({(line.kind, line.id): line for line in reversed(list(lines))}.values())[::-1]
    ids = [line.id for line in lines if line.kind == "memory"]
    quotes = revisions.evidence_of(user_id, ids) if ids else {}
    view = ShownReceipt()
    for line in lines:
        item = ShownItem(line, quotes.get(line.id, ()) if line.kind == "memory" else ())
        if not line.injected:
            view.passed_over.append(item)
        elif line.kind == "document":
            view.documents.append(item)
        else:
            (view.relevant if item.is_found else view.always).append(item)
    return view


def newest_receipt(user_id: int, conversation: Conversation | None) -> tuple[int | None, ShownReceipt]:
    """Return the newest reply of a conversation that used something, with its receipt."""
    if conversation is None:
        return None, ShownReceipt()
    message_id = db.session.scalar(
        order_by_index(select(Message.message_id))
        .where(
            Message.conversation_id == conversation.conversation_id,
            Message.role == "assistant",
            Message.superseded_by_id.is_(None),
            Message.status != "streaming",
        )
        .order_by(Message.message_id.desc())
        .limit(1)
    )
    if message_id is None:
        return None, ShownReceipt()
    return message_id, receipt(user_id, receipts.receipt_of(user_id, message_id))


def used_counts(message_ids: Collection[int]) -> dict[int, UsedCounts]:
    """Return how much each of some replies used; the caller has checked whose they are."""
    rows = db.session.execute(_used_counts(), {"ids": list(message_ids)})
    counts: dict[int, UsedCounts] = {}
    for message_id, kind, found, rest, documents in rows:
        seen = counts.get(message_id, UsedCounts())
        relevant, always = (0, 0) if kind == "document" else (found, rest)
        counts[message_id] = UsedCounts(seen.relevant + relevant, seen.documents + documents, seen.always + always)
    return counts


@cache
def _used_counts() -> Select[*tuple[Any, ...]]:
    # A memory that every reply sees has one line, which says so even if it was found as well.
    relevant = or_(TurnReceipt.stage == receipts.FOUND, TurnReceipt.reason.in_(receipts.FOUND_BY))
    numbers = (case((condition, TurnReceipt.passage_id)) for condition in (relevant, ~relevant))
    of_document = (TurnReceipt.kind == "document") & (DocumentChunk.document_chunk_id == TurnReceipt.passage_id)
    counts = (func.count(number.distinct()) for number in (*numbers, DocumentChunk.document_id))
    return (
        select(TurnReceipt.message_id, TurnReceipt.kind, *counts)
        .outerjoin(DocumentChunk, of_document)
        .where(TurnReceipt.message_id.in_(bindparam("ids", expanding=True)), TurnReceipt.injected)
        .group_by(TurnReceipt.message_id, TurnReceipt.kind)
    )


def mark_spans(text: str, spans: Iterable[tuple[int, int]]) -> Markup:
    html, position = Markup(""), 0
    for start, end in spans:
        html += escape(text[position:start]) + Markup("<mark>{}</mark>").format(text[start:end])
        position = end
    return html + escape(text[position:])


FILTERS = N_(
    {
        "": "Everything",
        "conversation": "Conversations",
        "space": "Spaces",
        "message": "Messages",
        "memory": "Memories",
        "chunk": "Summaries",
        "document": "Documents",
    }
)
SPEAKERS = N_({"": "Anyone", "user": "You", "assistant": "Assistant"})
MAX_RESULTS = 24
EXCERPT = 160
TITLES = 4
CLOSE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A search result, which opens what it names, else its conversation, at a message if there is one."""

    kind: str
    title: Markup | str
    excerpt: Markup | None
    at: datetime
    conversation_id: int | None = None
    message_id: int | None = None
    memory_id: int | None = None
    space_id: int | None = None
    document_id: int | None = None
    passage: str = ""
    reason: str = ""
    """Why it was found, where its excerpt does not show the words."""

    @property
    def fragment(self) -> str:
        """Takes a browser to the words in a long message: a text fragment, for after the `#`."""
        words = self.passage.split()
        return ":~:text=" + quote(" ".join(words[:8]), safe="").replace("-", "%2D") if words else ""


@dataclass(frozen=True, slots=True)
class Results:
    """Groups in the order of `FILTERS`; whether only words were searched for, and whether an index is being built."""

    groups: list[tuple[str, list[ShownResult]]] = field(default_factory=list)
    words_only: bool = False
    is_preparing: bool = False

    def __bool__(self) -> bool:
        return bool(self.groups)


def search(user_id: int, q: str, kind: str = "", **narrowed: Any) -> Results:
    """Return what a person searches for: conversations by title or words, spaces by name, then messages, memories,
    summaries, documents; `narrowed` as in `service.search`, only what has a day, a speaker or is in the conversation.
    """
    if not q:
        return Results()
    results: dict[str, list[ShownResult]] = {name: [] for name in FILTERS if name}
    if not any(narrowed.values()):
        most = MAX_RESULTS if kind else TITLES
        if kind in ("", "conversation"):
            results["conversation"] += [
                ShownResult("conversation", hit.title, hit.excerpt, hit.at, hit.conversation_id, hit.message_id)
                for hit in find_conversations(user_id, q, most)
            ]
        if kind in ("", "space"):
            results["space"] += [
                ShownResult("space", highlight(row.name, q), None, row.updated_at, space_id=row.space_id)
                for row in find_spaces(user_id, q, most)
            ]
    words_only = is_preparing = False
    if kind not in ("conversation", "space"):
        kinds = (kind,) if kind else ("memory", "message", "chunk", "document")
        passages = service.search(user_id, q, kinds=kinds, limit=MAX_RESULTS, **narrowed)
        is_preparing = not passages.indexed
        words_only = passages.indexed and not passages.with_meaning
        best = max((item.score for item in passages.items), default=0.0)
        message_ids = {result.message_id for result in results["conversation"]}
        for item in passages.items:
            texts = (item.content,) if item.kind == "memory" else (strip_markdown(item.content), item.content)
            # The words may be in the markup alone, as in the URL of a link.
            part = max((excerpt(text, q, EXCERPT) for text in texts), key=lambda part: bool(part.spans))
            # A result without the words is shown only if it is nearly as good: a list to choose from is not a prompt.
            is_close = bool(part.spans) or item.score >= CLOSE_SHARE * best
            if is_close and (item.message_id not in message_ids or item.kind != "message"):
                reason = _REASONS[item.reason] if item.reason in _WORDLESS and not part.spans else ""
                results[item.kind].append(_result(item, mark_spans(part.text, part.spans), reason))
    return Results([(FILTERS[name], items) for name, items in results.items() if items], words_only, is_preparing)


def _result(item: FoundPassage, text: Markup, reason: str) -> ShownResult:
    if item.kind == "memory":
        return ShownResult("memory", text, None, item.at, memory_id=item.id, reason=reason)
    title = item.title or (_("Document") if item.kind == "document" else _("New conversation"))
    # For what is longer than a page: the piece that was found, so that the browser can scroll to it.
    passage = item.content if item.start or item.kind == "document" else ""
    ids = item.conversation_id, item.message_id, None, item.extra.get("space_id"), item.extra.get("document_id")
    return ShownResult(item.kind, title, text, item.at, *ids, passage, reason)
