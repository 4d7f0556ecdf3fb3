"""The result of an extraction."""

from __future__ import annotations

from dataclasses import dataclass, field

COUNTS = ("added", "updated", "superseded", "retracted", "merged", "in_review", "overruled", "rejected", "malformed")


@dataclass(frozen=True)
class Result:
    """The result of a run; `read` tells whether it did anything at all, `has_more` whether messages still wait.

    `unreadable`: messages that were skipped because no answer about them was ever complete.
    """

    change_set_id: int | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    reasons: dict[str, int] = field(default_factory=dict)
    title: str | None = None
    read: bool = False
    has_more: bool = False
    last_id: int = 0
    calls: int = 0
    summary_due: bool = False  # a guided conversation has covered its points
    unreadable: int = 0

    def plus(self, later: Result) -> Result:
        """Both together; the change set is the last one."""
        return Result(
            later.change_set_id or self.change_set_id,
            {name: self.counts.get(name, 0) + later.counts.get(name, 0) for name in self.counts | later.counts},
            {name: self.reasons.get(name, 0) + later.reasons.get(name, 0) for name in self.reasons | later.reasons},
            later.title or self.title,
            self.read or later.read,
            later.has_more,
            max(self.last_id, later.last_id),
            self.calls + later.calls,
            self.summary_due or later.summary_due,
            self.unreadable + later.unreadable,
        )
