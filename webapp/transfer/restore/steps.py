"""The steps of a restore: for each file of an export, in order, what becomes of its lines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from webapp.conversations.models import Conversation, Folder, MessageFeedback
from webapp.db.base import Base, db, now, table_of
from webapp.i18n.dates import is_time_zone
from webapp.journeys.models import ConversationReport, JourneyGuide, PointEvidence, PointMemory
from webapp.memories.models import Memory, MemoryChangeSet, MemoryEvidence, MemoryRevision
from webapp.memories.store.journal import statement_hash
from webapp.retrieval.models import ConversationChunk, PassageVerdict, TurnReceipt
from webapp.saved_prompts.models import SavedPrompt
from webapp.schedules.models import Schedule
from webapp.schedules.recurrence import next_time, rule_of
from webapp.schedules.schemas import in_range
from webapp.schedules.service import FORMER_NAMES
from webapp.transfer.restore import containers, conversations, finish
from webapp.transfer.restore.values import REFERENCES, RestoreBatch, attributes, required_instant

PASSAGES = {"memory": "memory", "chunk": "chunk", "message": "message", "document": "part"}
MAX_PDF = 15 * 1024**2

Write = Callable[[RestoreBatch, list[dict[str, Any]]], int | None]
Adapt = Callable[[RestoreBatch, dict[str, Any], dict[str, Any]], bool]


@dataclass(frozen=True)
class Step:
    """The lines of one file of an export and what is done with them; `counted` is what people call them."""

    file: str
    write: Write
    counted: str = ""
    is_memory: bool = False


@dataclass(frozen=True)
class Table:
    """The way the lines of a file become rows of one table, once their references are resolved.

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

    def write(self, batch: RestoreBatch, lines: list[dict[str, Any]]) -> int:
        """Create the rows; returns how many. Raises ValueError."""
        rows: list[tuple[Any, Any]] = []
        for line in lines:
            values = self.values(batch, line)
            if values is not None:
                rows.append((line.get(self.key), self.model(**values)))
        db.session.add_all([row for _, row in rows])
        db.session.flush()
        if self.kind:
            batch.note(self.kind, [(old, getattr(row, self.key)) for old, row in rows])
        return len(rows)

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
        fields["settled_with"] = batch.new_ids("memory", fields["settled_with"])
    values["snapshot"] = fields
    values["statement_hash"] = statement_hash(str(fields.get("content") or ""))
    return True


def _point_memory(batch: RestoreBatch, line: dict[str, Any], values: dict[str, Any]) -> bool:
    journey_id, point_id = batch.journey(line), batch.point(line)
    if journey_id is None or point_id is None:
        return False
    dismissed = batch.new_ids("memory", line.get("dismissed_memory_ids"))
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
    values.setdefault("created_at", required_instant(line.get("created_at") or now().isoformat()))
    # Its conversation may have been indexed since it came.
    db.session.get_one(Conversation, values["conversation_id"]).index_due = True
    return bool(values.get("content"))


def _schedule(_batch: RestoreBatch, _line: dict[str, Any], values: dict[str, Any]) -> bool:
    """Pause what was brought in: nothing is sent that nobody has looked at."""
    try:
        checked = rule_of("custom", values["rrule"], values["at"]) if values["rrule"] else ""
        if not is_time_zone(values["timezone"]):
            raise ValueError
        next_time(checked, in_range(values["at"]), values["timezone"], now())
    except (KeyError, ValueError):
        raise ValueError(f"{values.get('rrule') or values.get('timezone')} says no times") from None
    values |= {"rrule": checked, "is_active": False, "paused_why": None, "failures": 0, "token_id": None}
    return True


MEMORIES = Table(Memory, "memory", later=("superseded_by_id", "contradicts_id", "settled_with"), adapt=_memory)
POINT_MEMORIES = Table(
    PointMemory,
    "point_memory",
    later=("journey_id", "point_id", "dismissed_memory_ids", "settled_conflicts"),
    adapt=_point_memory,
)
POINT_EVIDENCE = Table(
    PointEvidence,
    "point_evidence",
    adapt=lambda _batch, _line, values: values["message_id"] is not None or values["memory_id"] is not None,
)
CHANGE_SETS = Table(MemoryChangeSet, "change_set", later=("undoes_id", "changes"), fixed={"changes": []})
FEEDBACK = Table(MessageFeedback, fixed={"may_read": False})
"""Permission to read it was given to the admins there, not to those here."""

STEPS: tuple[Step, ...] = (
    Step("manifest.json", containers.settings),
    Step("folders.jsonl", Table(Folder, "folder").write, "folders"),
    Step("journeys.jsonl", containers.journeys, "journeys"),
    Step("files.jsonl", lambda *_: None, "files"),  # taken in before, in transactions of their own
    Step("spaces.jsonl", containers.spaces, "spaces"),
    Step("prompts.jsonl", Table(SavedPrompt, "prompt").write, "saved prompts"),
    Step("conversations.jsonl", conversations.conversations, "conversations", is_memory=True),  # marks the forgotten
    Step("schedules.jsonl", Table(Schedule, "schedule", adapt=_schedule, former=FORMER_NAMES).write, "schedules"),
    Step("feedback.jsonl", FEEDBACK.write, "ratings of replies"),
    Step("sources.jsonl", conversations.sources),
    Step("summaries.jsonl", Table(ConversationChunk, "chunk", adapt=_chunk).write, "summaries"),
    Step("digests.jsonl", conversations.digests, "digests"),
    Step("change_sets.jsonl", CHANGE_SETS.write, is_memory=True),
    Step("memories.jsonl", MEMORIES.write, "memories", is_memory=True),
    Step("evidence.jsonl", Table(MemoryEvidence, "evidence").write, "quotes", is_memory=True),
    Step(
        "revisions.jsonl",
        Table(MemoryRevision, "revision", adapt=_revision).write,
        "earlier states of memories",
        is_memory=True,
    ),
    Step("memories.jsonl", finish.memory_links, is_memory=True),
    Step("change_sets.jsonl", finish.change_links, is_memory=True),
    Step("tombstone_keys.jsonl", finish.tombstone_keys),
    Step("tombstones.jsonl", finish.tombstones, "things forgotten", is_memory=True),
    Step("point_memories.jsonl", POINT_MEMORIES.write, "answers in journeys"),
    Step("point_evidence.jsonl", POINT_EVIDENCE.write),
    Step("point_memories.jsonl", finish.point_links),
    Step("guides.jsonl", Table(JourneyGuide, later=("point_id",), adapt=_guide).write),
    Step("reports.jsonl", Table(ConversationReport, "report", adapt=_report).write, "summaries of journeys"),
    Step("reports.jsonl", finish.report_evidence),
    Step("receipts.jsonl", Table(TurnReceipt, adapt=_passage).write, "receipts"),
    Step("verdicts.jsonl", Table(PassageVerdict, adapt=_passage).write),
    Step("memories.jsonl", finish.repeat_forgetting, is_memory=True),
)
"""Rows come before those that refer to them; references among rows of one kind are completed by a second step."""
