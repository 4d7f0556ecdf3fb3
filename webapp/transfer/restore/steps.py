"""The order of a restore, and writing some of its lines: together or, if that fails, one by one."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy.exc import DBAPIError

from webapp.db.base import database_is_away, db
from webapp.memories.store import versions
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.transfer.restore import containers, conversations, finish
from webapp.transfer.restore.ids import RestoreBatch
from webapp.transfer.restore.tables import TABLES, Table

log = logging.getLogger(__name__)

Write = Callable[[RestoreBatch, list[dict[str, Any]]], int | None]


@dataclass(frozen=True)
class Step:
    """The lines of one file of an export and what is done with them; `counted` is what people call them."""

    file: str
    write: Write
    counted: str = ""
    is_memory: bool = False


def _rows(table: Table, batch: RestoreBatch, lines: list[dict[str, Any]]) -> int:
    table.look_up(batch, lines)
    rows: list[tuple[Any, Any]] = []
    for line in lines:
        values = table.values(batch, line)
        if values is not None:
            rows.append((line.get(table.key), table.model(**values)))
    db.session.add_all([row for _, row in rows])
    db.session.flush()
    if table.kind:
        batch.note(table.kind, [(old, getattr(row, table.key)) for old, row in rows])
    return len(rows)


def _table(file: str, counted: str = "", *, is_memory: bool = False) -> Step:
    return Step(file, partial(_rows, TABLES[file]), counted, is_memory)


def _do_nothing(_batch: RestoreBatch, _lines: list[dict[str, Any]]) -> None:
    """Do nothing: files have been taken in before, in transactions of their own."""


STEPS: tuple[Step, ...] = (
    Step("manifest.json", containers.settings),
    Step("folders.jsonl", containers.folders, "folders"),
    Step("journeys.jsonl", containers.journeys, "journeys"),
    Step("files.jsonl", _do_nothing, "files"),
    Step("spaces.jsonl", containers.spaces, "spaces"),
    _table("prompts.jsonl", "saved prompts"),
    Step("conversations.jsonl", conversations.conversations, "conversations"),
    _table("schedules.jsonl", "schedules"),
    _table("feedback.jsonl", "ratings of replies"),
    Step("sources.jsonl", conversations.sources),
    _table("summaries.jsonl", "summaries"),
    Step("digests.jsonl", conversations.digests, "digests"),
    _table("change_sets.jsonl", is_memory=True),
    _table("memories.jsonl", "memories", is_memory=True),
    _table("evidence.jsonl", "quotes", is_memory=True),
    _table("revisions.jsonl", "earlier states of memories", is_memory=True),
    Step("memories.jsonl", finish.memory_links, is_memory=True),
    Step("change_sets.jsonl", finish.change_links, is_memory=True),
    Step("tombstone_keys.jsonl", finish.tombstone_keys),
    Step("tombstones.jsonl", finish.tombstones, "things forgotten", is_memory=True),
    _table("point_memories.jsonl", "answers in journeys"),
    _table("point_evidence.jsonl"),
    Step("point_memories.jsonl", finish.point_links),
    _table("guides.jsonl"),
    _table("reports.jsonl", "summaries of journeys"),
    Step("reports.jsonl", finish.report_evidence),
    _table("receipts.jsonl", "receipts"),
    _table("verdicts.jsonl"),
    Step("memories.jsonl", finish.forget_again, is_memory=True),
)
"""Rows come before those that refer to them; references among rows of one kind are completed by a second step."""


def write(batch: RestoreBatch, step: Step, lines: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """Write some lines of a step; returns how many were restored, and why others were not."""
    if step.is_memory:
        versions.hold(batch.user_id)
        changes.note(batch.user_id, Change("memories"))
    written_count, reason = _write_all(batch, step, lines)
    if not reason:
        return written_count, []
    if len(lines) == 1:
        return 0, [reason]
    count, reasons = 0, []
    for line in lines:
        written_count, reason = _write_all(batch, step, [line])
        count += written_count
        reasons += [reason] if reason else []
    return count, reasons


def _write_all(batch: RestoreBatch, step: Step, lines: list[dict[str, Any]]) -> tuple[int, str]:
    snapshot = batch.snapshot()
    try:
        with db.session.begin_nested():
            count = step.write(batch, lines)
            db.session.flush()
        return len(lines) if count is None else count, ""
    except DBAPIError as error:
        if database_is_away(error):
            raise
        log.warning("part of a restore not written", exc_info=True)
        reason = "It does not go together with something that is there."
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # whatever a file may hold
        log.info("part of a restore not readable", exc_info=True)
        why = str(error) if type(error) is ValueError else "it is not as Commonplace writes it"
        reason = why[:1].upper() + why[1:] + "."
    batch.back_to(snapshot)
    return 0, reason
