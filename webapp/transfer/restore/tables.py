"""The lines of an export that become rows directly once their references are resolved: memory, journeys, receipts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from webapp.conversations.models import Conversation, MessageFeedback
from webapp.db.base import Base, db, now, table_of
from webapp.journeys.models import ConversationReport, JourneyGuide, PointEvidence, PointMemory
from webapp.memories.models import Memory, MemoryChangeSet, MemoryEvidence, MemoryRevision
from webapp.memories.store.journal import statement_hash
from webapp.retrieval.models import ConversationChunk, PassageVerdict, TurnReceipt
from webapp.saved_prompts.models import SavedPrompt
from webapp.schedules.models import Schedule
from webapp.schedules.recurrence import next_time, rule_of
from webapp.schedules.schemas import in_range
from webapp.schedules.service import FORMER_NAMES
from webapp.transfer.restore.values import RestoreBatch, attributes, moment

PASSAGES = {"memory": "memory", "chunk": "chunk", "message": "message", "document": "part"}
SNAPSHOT = {
    "space_id": "space",
    "only_conversation_id": "conversation",
    "superseded_by_id": "memory",
    "contradicts_id": "memory",
}
MAX_PDF = 15 * 1024**2

Adapt = Callable[[RestoreBatch, dict[str, Any], dict[str, Any]], bool]


@dataclass(frozen=True)
class Table:
    """The way the lines of a file become rows.

    `kind` names references to the rows; `refs` are columns that refer to other kinds; `later` those written once all
    lines are in; `fixed` the values of every row. `adapt` completes a row and returns whether to create it; `asks`
    names its look-ups; `former` has the columns that older exports name otherwise.
    """

    model: type[Base]
    kind: str = ""
    refs: dict[str, str] = field(default_factory=dict)
    later: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    adapt: Adapt | None = None
    former: Mapping[str, str] = field(default_factory=dict)
    asks: Callable[[dict[str, Any]], Iterable[tuple[str, Any]]] | None = None

    @property
    def key(self) -> str:
        """Return the name of the column that others refer to."""
        return table_of(self.model).primary_key.columns[0].name

    def look_up(self, batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
        """Read the ids here of everything that lines refer to."""
        ids: dict[str, list[Any]] = {}
        for line in lines:
            pairs = [(kind, line.get(column)) for column, kind in self.refs.items()]
            for kind, old in (*pairs, *(self.asks(line) if self.asks else ())):
                ids.setdefault(kind, []).append(old)
        for kind, numbers in ids.items():
            batch.look_up(kind, numbers)

    def values(self, batch: RestoreBatch, line: dict[str, Any]) -> dict[str, Any] | None:
        """Return the attributes of a row; None if what it belongs to was not restored. Raises ValueError."""
        line = {self.former.get(name, name): value for name, value in line.items()}
        values = attributes(self.model, line, {self.key, *self.refs, *self.later})
        columns = table_of(self.model).columns
        for column, kind in self.refs.items():
            new = batch.new(kind, line.get(column))
            if new is None and not columns[column].nullable:
                return None
            values[column] = new
        if "user_id" in columns:
            values["user_id"] = batch.user_id
        values |= self.fixed
        if self.adapt is not None and not self.adapt(batch, line, values):
            return None
        return values


def _memory(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    if line.get("only_conversation_id") is not None and values["only_conversation_id"] is None:
        return False
    if line.get("space_id") is not None and values["space_id"] is None:
        # As when somebody leaves a space: its memories are archived among the personal ones.
        values |= {"visibility": "private", "is_archived": True, "is_pinned": False}
    values["statement_hash"] = statement_hash(str(values.get("content") or ""))
    return bool(values.get("content"))


def _in_snapshot(line: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    fields = line["snapshot"]
    yield from ((kind, fields.get(name)) for name, kind in SNAPSHOT.items())
    yield from (("memory", old) for old in fields.get("settled_with") or ())


def _revision(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    fields = dict(values["snapshot"])
    for name, kind in SNAPSHOT.items():
        if fields.get(name) is not None:
            fields[name] = batch.new(kind, fields[name])
    if fields.get("settled_with"):
        fields["settled_with"] = [new for old in fields["settled_with"] if (new := batch.new("memory", old))]
    values["snapshot"] = fields
    values["statement_hash"] = statement_hash(str(fields.get("content") or ""))
    return True


def _point_memory(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    journey_id, point_id = batch.journey(line), batch.point(line)
    if journey_id is None or point_id is None:
        return False
    dismissed = [new for old in values.get("dismissed_memory_ids") or () if (new := batch.new("memory", old))]
    values |= {"journey_id": journey_id, "point_id": point_id, "dismissed_memory_ids": dismissed or None}
    return True


def _guide(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    values["point_id"] = batch.point(line)
    return True


def _report(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    name = line.get("file")
    if not isinstance(name, str) or name not in batch.upload.names:
        return False
    with batch.upload.open(name) as file:
        pdf = file.read(MAX_PDF + 1)
    if len(pdf) > MAX_PDF or not pdf.startswith(b"%PDF-"):
        raise ValueError(f"“{name}” is no PDF")
    values["pdf"] = pdf
    return True


def _of_point(line: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from (("journey", line.get("journey_id")), ("point", line.get("point_id")))
    yield from (("memory", old) for old in line.get("dismissed_memory_ids") or ())


def _of_passage(line: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if (kind := PASSAGES.get(line["kind"])) is not None:
        yield kind, line["passage_id"]


def _passage(batch: RestoreBatch, _line: dict[str, Any], values: dict[str, Any]) -> bool:
    new = batch.new(PASSAGES[values["kind"]], values["passage_id"])
    values["passage_id"] = new
    return new is not None


def _chunk(_batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    values.setdefault("created_at", moment(line.get("created_at") or now().isoformat()))
    # Its conversation may have been indexed since it came.
    db.session.get_one(Conversation, values["conversation_id"]).index_due = True
    return bool(values.get("content"))


def _schedule(_batch: RestoreBatch, _line: dict[str, Any], values: dict[str, Any]) -> bool:
    """Pause what was brought in: nothing is sent that nobody has looked at."""
    try:
        checked = rule_of("custom", values["rrule"], values["at"]) if values["rrule"] else ""
        next_time(checked, in_range(values["at"]), values["timezone"], now())
    except (KeyError, ValueError, ZoneInfoNotFoundError):
        raise ValueError(f"{values.get('rrule') or values.get('timezone')} says no times") from None
    values |= {"rrule": checked, "is_active": False, "paused_why": None, "failures": 0, "token_id": None}
    return True


TABLES: dict[str, Table] = {
    "feedback.jsonl": Table(  # permission to read it was given to the admins there, not to those here
        MessageFeedback, refs={"message_id": "message"}, fixed={"may_read": False}
    ),
    "prompts.jsonl": Table(SavedPrompt, "prompt", {"space_id": "space"}),
    "schedules.jsonl": Table(
        Schedule, "schedule", {"conversation_id": "conversation"}, adapt=_schedule, former=FORMER_NAMES
    ),
    "summaries.jsonl": Table(
        ConversationChunk,
        "chunk",
        {
            "conversation_id": "conversation",
            "space_id": "space",
            "message_range_start": "message",
            "message_range_end": "message",
        },
        adapt=_chunk,
    ),
    "change_sets.jsonl": Table(
        MemoryChangeSet,
        "change_set",
        {"conversation_id": "conversation", "through_message_id": "message"},
        later=("undoes_id", "changes"),
        fixed={"changes": []},
    ),
    "memories.jsonl": Table(
        Memory,
        "memory",
        {
            "source_conversation_id": "conversation",
            "source_message_id": "message",
            "only_conversation_id": "conversation",
            "space_id": "space",
        },
        later=("superseded_by_id", "contradicts_id", "settled_with"),
        adapt=_memory,
    ),
    "evidence.jsonl": Table(
        MemoryEvidence, "evidence", {"memory_id": "memory", "message_id": "message", "change_set_id": "change_set"}
    ),
    "revisions.jsonl": Table(
        MemoryRevision,
        "revision",
        {"memory_id": "memory", "change_set_id": "change_set"},
        adapt=_revision,
        asks=_in_snapshot,
    ),
    "point_memories.jsonl": Table(
        PointMemory,
        "point_memory",
        later=("journey_id", "point_id", "settled_conflicts"),
        adapt=_point_memory,
        asks=_of_point,
    ),
    "point_evidence.jsonl": Table(
        PointEvidence,
        "point_evidence",
        {"point_memory_id": "point_memory", "message_id": "message", "memory_id": "memory"},
        adapt=lambda _batch, _line, values: values["message_id"] is not None or values["memory_id"] is not None,
    ),
    "guides.jsonl": Table(
        JourneyGuide, refs={"conversation_id": "conversation"}, later=("point_id",), adapt=_guide, asks=_of_point
    ),
    "reports.jsonl": Table(ConversationReport, "report", {"conversation_id": "conversation"}, adapt=_report),
    "receipts.jsonl": Table(TurnReceipt, refs={"message_id": "message"}, adapt=_passage, asks=_of_passage),
    "verdicts.jsonl": Table(PassageVerdict, refs={"message_id": "message"}, adapt=_passage, asks=_of_passage),
}
"""By file of an export. What becomes more than rows of one table is in containers, conversations and finish."""
