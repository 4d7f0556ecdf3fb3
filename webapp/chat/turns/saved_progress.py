"""Stores running replies as far as they are written, many per statement, so that a lost machine loses only seconds."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from sqlalchemy import select, text

from webapp.chat.turns.finish import fit_column
from webapp.conversations.models import Message
from webapp.db.base import db, rows_changed

LOSS_SECONDS = 2.0
"""At most the text that was seen so recently is lost if web and Redis die together, as docs/reliability.md says."""
BATCH = 200
"""How many turns one statement writes, and how many bytes of text: it has to fit into `max_allowed_packet`."""
BATCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FinishedElsewhere:
    """Replies that need no more writing: others have ended them, or their rows are gone."""

    ended: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)


def save_texts(texts: Mapping[int, str]) -> FinishedElsewhere:
    """Store the text so far of replies, by id; returns those that are no longer being written. The caller commits."""
    left = FinishedElsewhere()
    for batch in _batches(texts):
        # As text: building such a statement from parts costs ten times as much as sending it.
        numbers = range(len(batch))
        whens = " ".join(f"WHEN :i{n} THEN :t{n}" for n in numbers)
        ids = ", ".join(f":i{n}" for n in numbers)
        statement = (
            f"UPDATE messages SET content = CASE message_id {whens} ELSE content END"
            f" WHERE message_id IN ({ids}) AND status = 'streaming'"
        )
        values: dict[str, int | str] = {}
        for number, (turn_id, content) in enumerate(batch):
            values[f"i{number}"], values[f"t{number}"] = turn_id, content
        if rows_changed(text(statement), values) < len(batch):
            turn_ids = {turn_id for turn_id, _ in batch}
            statuses = dict(
                db.session.execute(
                    select(Message.message_id, Message.status).where(Message.message_id.in_(turn_ids))
                ).all()
            )
            left.ended.update(turn_id for turn_id, status in statuses.items() if status != "streaming")
            left.gone.update(turn_ids - statuses.keys())
    return left


def streaming_replies(turn_ids: Collection[int]) -> set[int]:
    """Return which of some replies are still being written."""
    return set(
        db.session.scalars(
            select(Message.message_id).where(Message.message_id.in_(list(turn_ids)), Message.status == "streaming")
        )
    )


def _batches(texts: Mapping[int, str]) -> Iterator[list[tuple[int, str]]]:
    """Yield the texts ordered by id, as everyone who locks several rows does, in batches that fit a statement."""
    batch: list[tuple[int, str]] = []
    size = 0
    for turn_id in sorted(texts):
        content = fit_column(texts[turn_id])
        if batch and (len(batch) == BATCH or size + len(content) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((turn_id, content))
        size += len(content)
    if batch:
        yield batch
