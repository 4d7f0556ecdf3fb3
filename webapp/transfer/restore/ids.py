"""The ids of an export and of the rows they became, stored with the import: later lines refer to earlier ones."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlalchemy import insert, or_, select

from webapp.db.base import db
from webapp.http.validation import MAX_ID
from webapp.journeys.models import ConversationPoint, Journey
from webapp.spaces.originals import Original
from webapp.transfer.models import RestoredRow
from webapp.transfer.sources import Upload

MANY = 500


@dataclass
class RestoreBatch:
    """A restore while it writes a batch: whose it is, the file it reads, and which row became which."""

    import_id: int
    user_id: int
    upload: Upload
    originals: Mapping[int, Original] = field(default_factory=dict)
    """Of documents, by their ids in the export."""
    _ids: dict[str, dict[int, int | None]] = field(default_factory=dict)

    def look_up(self, kind: str, old: Iterable[Any]) -> None:
        """Read the ids that rows of an export have here, a few hundred at a time, for later calls of `new`."""
        ids = self._ids.setdefault(kind, {})
        missing = sorted({number for number in old if is_id(number)} - ids.keys())
        for start in range(0, len(missing), MANY):
            chunk = missing[start : start + MANY]
            rows = select(RestoredRow.old_id, RestoredRow.new_id).where(
                RestoredRow.import_id == self.import_id, RestoredRow.kind == kind, RestoredRow.old_id.in_(chunk)
            )
            ids.update(dict.fromkeys(chunk))
            ids.update(dict(db.session.execute(rows).all()))

    def new(self, kind: str, old: Any) -> int | None:
        """Return the id here of a row of the export; None if it was not restored."""
        if not is_id(old):
            return None
        if old not in self._ids.get(kind, {}):
            self.look_up(kind, [old])
        return self._ids[kind][old]

    def note(self, kind: str, pairs: Iterable[tuple[Any, int]]) -> None:
        """Store which rows became which."""
        rows = [(old, new) for old, new in pairs if is_id(old)]
        if not rows:
            return
        db.session.execute(
            insert(RestoredRow),
            [{"import_id": self.import_id, "kind": kind, "old_id": old, "new_id": new} for old, new in rows],
        )
        self._ids.setdefault(kind, {}).update(rows)

    def snapshot(self) -> dict[str, dict[int, int | None]]:
        """Return what is known now, for `back_to` if a savepoint is rolled back."""
        return {kind: dict(ids) for kind, ids in self._ids.items()}

    def back_to(self, ids: dict[str, dict[int, int | None]]) -> None:
        """Return to an earlier snapshot."""
        self._ids = ids

    @cached_property
    def _journeys(self) -> dict[str, int]:
        """The ids of the journeys that the user may see here, by slug."""
        rows = select(Journey.slug, Journey.journey_id).where(
            or_(Journey.owner_id.is_(None), Journey.owner_id == self.user_id)
        )
        return dict(db.session.execute(rows).all())

    @cached_property
    def _points(self) -> dict[tuple[int, str], int]:
        rows = select(ConversationPoint.journey_id, ConversationPoint.slug, ConversationPoint.point_id)
        return {(journey_id, slug): point_id for journey_id, slug, point_id in db.session.execute(rows)}

    def journey(self, line: dict[str, Any]) -> int | None:
        """Return the journey of a line: a restored one, or else the one with that slug here."""
        new_id = self.new("journey", line.get("journey_id"))
        return new_id or self._journeys.get(line.get("journey") or "")

    def point(self, line: dict[str, Any]) -> int | None:
        """Return the point of a line, found in the same way."""
        new_id = self.new("point", line.get("point_id"))
        journey_id = self._journeys.get(line.get("journey") or "")
        return new_id or (self._points.get((journey_id, line.get("point") or "")) if journey_id else None)


def is_id(value: Any) -> bool:
    """Return whether a value can be the id of a row."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_ID
