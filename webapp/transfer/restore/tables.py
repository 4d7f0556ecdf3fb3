"""The lines of an export that become rows directly once their references are resolved: memory, journeys, receipts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from webapp.conversations.models import Conversation, Folder, MessageFeedback
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
from webapp.transfer.restore.values import REFERENCES, RestoreBatch, attributes, moment

PASSAGES = {"memory": "memory", "chunk": "chunk", "message": "message", "document": "part"}
MAX_PDF = 15 * 1024**2

Adapt = Callable[[RestoreBatch, dict[str, Any], dict[str, Any]], bool]


@dataclass(frozen=True)
class Table:
    """The way the lines of a file become rows.

    `kind` names references to the rows; `later` are columns written by `adapt`, or once all lines are in; `fixed` the
    values of every row. `adapt` completes a row and returns whether to create it; `former` has the columns that older
    exports name otherwise.
    """

    model: type[Base]
    kind: str = ""
    later: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    adapt: Adapt | None = None
    former: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Return the name of the column that others refer to."""
        return table_of(self.model).primary_key.columns[0].name

    @cached_property
    def refs(self) -> dict[str, str]:
        """Return the columns that refer to rows of another kind, with that kind."""
        kinds = {column.name: REFERENCES.get(column.name, ()) for column in table_of(self.model).columns}
        return {
            name: kind[0]
            for name, kind in kinds.items()
            if len(kind) == 1 and kind[0] != self.kind and name not in self.later
        }

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


def _revision(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    fields = dict(values["snapshot"])
    for name in ("space_id", "only_conversation_id", "superseded_by_id", "contradicts_id"):
        if fields.get(name) is not None:
            fields[name] = batch.new(REFERENCES[name][0], fields[name])
    if fields.get("settled_with"):
        fields["settled_with"] = [new for old in fields["settled_with"] if (new := batch.new("memory", old))]
    values["snapshot"] = fields
    values["statement_hash"] = statement_hash(str(fields.get("content") or ""))
    return True


def _point_memory(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    journey_id, point_id = batch.journey(line), batch.point(line)
    if journey_id is None or point_id is None:
        return False
    dismissed = [new for old in line.get("dismissed_memory_ids") or () if (new := batch.new("memory", old))]
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
    "folders.jsonl": Table(Folder, "folder"),
    "feedback.jsonl": Table(  # permission to read it was given to the admins there, not to those here
        MessageFeedback, fixed={"may_read": False}
    ),
    "prompts.jsonl": Table(SavedPrompt, "prompt"),
    "schedules.jsonl": Table(Schedule, "schedule", adapt=_schedule, former=FORMER_NAMES),
    "summaries.jsonl": Table(ConversationChunk, "chunk", adapt=_chunk),
    "change_sets.jsonl": Table(MemoryChangeSet, "change_set", later=("undoes_id", "changes"), fixed={"changes": []}),
    "memories.jsonl": Table(
        Memory, "memory", later=("superseded_by_id", "contradicts_id", "settled_with"), adapt=_memory
    ),
    "evidence.jsonl": Table(MemoryEvidence, "evidence"),
    "revisions.jsonl": Table(MemoryRevision, "revision", adapt=_revision),
    "point_memories.jsonl": Table(
        PointMemory,
        "point_memory",
        later=("journey_id", "point_id", "dismissed_memory_ids", "settled_conflicts"),
        adapt=_point_memory,
    ),
    "point_evidence.jsonl": Table(
        PointEvidence,
        "point_evidence",
        adapt=lambda _batch, _line, values: values["message_id"] is not None or values["memory_id"] is not None,
    ),
    "guides.jsonl": Table(JourneyGuide, later=("point_id",), adapt=_guide),
    "reports.jsonl": Table(ConversationReport, "report", adapt=_report),
    "receipts.jsonl": Table(TurnReceipt, adapt=_passage),
    "verdicts.jsonl": Table(PassageVerdict, adapt=_passage),
}
"""By file of an export. What becomes more than rows of one table is in containers, conversations and finish."""
