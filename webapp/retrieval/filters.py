"""The rows of an index that a search may return."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webapp.retrieval.passages import KINDS, SPEAKERS, Filter
from webapp.retrieval.scope import visible_rows

_IN_CONVERSATION = frozenset({"message", "chunk"})


COLUMNS = {
    "kind": np.int8,
    "id": np.int64,
    "owner": np.int64,
    "space": np.int64,
    "group": np.int64,
    "shared": np.bool_,
    "archived": np.bool_,
    "quality": np.float32,
    "time": np.int64,
    "alive": np.bool_,
    "asking": np.bool_,
    "piece": np.int32,
    "start": np.int32,
    "end": np.int32,
    "speaker": np.int8,
}
"""What an index knows about each row, with the column's type; `asking`: it is a message that ends with a
question."""


def allowed_rows(columns: Mapping[str, NDArray[Any]], where: Filter) -> NDArray[np.bool_]:
    """Return which rows of an index pass a filter (n); `columns` are those of `index`, n values each."""
    mask = columns["alive"] & visible_rows(where.scope, columns["owner"], columns["space"], columns["shared"])
    if not where.archived:
        mask &= ~columns["archived"]
    if len(where.kinds) < len(KINDS):
        mask &= _of_kinds(columns["kind"], where.kinds)
    if where.exclude_conversation is not None:
        conversational = _of_kinds(columns["kind"], _IN_CONVERSATION)
        mask &= ~(conversational & (columns["group"] == where.exclude_conversation))
    if where.only_conversation is not None:
        elsewhere = _of_kinds(columns["kind"], _IN_CONVERSATION)
        mask &= ~(elsewhere & (columns["group"] != where.only_conversation))
    if where.verbatim is not None:
        conversation_id, first_id = where.verbatim
        shown = (columns["kind"] == KINDS.index("message")) & (columns["group"] == conversation_id)
        mask &= ~(shown & (columns["id"] >= first_id))
    if where.since is not None:
        mask &= columns["time"] >= seconds(where.since)
    if where.speaker:
        mask &= columns["speaker"] == SPEAKERS.index(where.speaker)
    if where.until is not None:
        mask &= columns["time"] < seconds(where.until)
    return mask


def _of_kinds(kinds: NDArray[Any], wanted: Collection[str]) -> NDArray[np.bool_]:
    """Return which rows are of one of the wanted kinds; `kinds` holds the rows' kind numbers."""
    return np.asarray(np.array([kind in wanted for kind in KINDS])[kinds], np.bool_)


def seconds(when: datetime) -> int:
    """Return seconds since 1970; a time without a zone is UTC."""
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
