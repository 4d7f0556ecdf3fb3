"""A change set, one line per memory, such as "Lives in Lisbon" or "Ana → Anabela". Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _

Kind = Literal["added", "review", "changed", "replaced", "ended", "kept", "confirmed", "overruled", "gone"]
Snapshots = Mapping[tuple[int, int], Mapping[str, Any]]
"""What memories said, by id and revision."""

SHORT = 64
MAX_NAMED = 3

_FLAGS = N_({"is_pinned": ("Pinned", "Unpinned"), "is_archived": ("Archived", "Unarchived")})
_LABELS: dict[tuple[str, ...], str] = N_(
    {
        ("added",): "Remembered: %(what)s",
        ("changed", "replaced"): "Changed: %(what)s",
        ("ended",): "No longer true: %(what)s",
        ("review",): "To review: %(what)s",
        ("overruled",): "Kept: %(what)s",
        ("confirmed",): "Confirmed: %(what)s",
        ("Pinned",): "Pinned: %(what)s",
        ("Unpinned",): "Unpinned: %(what)s",
        ("Archived",): "Archived: %(what)s",
        ("Unarchived",): "Unarchived: %(what)s",
    }
)


class MemoryState(NamedTuple):
    """A memory as it is now: its words, whether they are no longer true, and whether it waits for a decision."""

    content: str = ""
    is_closed: bool = False
    waits: bool = False


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """A memory's change: `text` now, `before` what was replaced or, overruled, kept and `may_use` replace."""

    memory_id: int
    kind: Kind
    text: str = ""
    before: str = ""
    note: str = ""
    may_use: bool = False

    @property
    def short(self) -> str:
        """Return a short form of the line, for a notice; empty if there is nothing to say."""
        now = shorten_statement(self.text)
        if self.kind == "overruled":
            statement = shorten_statement(self.before)
            return _("%(kept)s, did not use %(heard)s (less certain)", kept=statement, heard=now) if statement else ""
        return f"{shorten_statement(self.before)} → {now}" if self.before and now else now


def lines_of(
    changes: Sequence[Mapping[str, Any]], states: Mapping[int, MemoryState], snapshots: Snapshots
) -> list[ChangeLine]:
    """Return the lines of a change set, from the present states of its memories and their rivals."""
    lines = [_line(change, states, snapshots) for change in changes]
    by_id = {line.memory_id: line for line in lines}
    replaced_ids = set()
    for change in changes:
        after = snapshots.get((change["memory_id"], change["after"] or 0), {})
        old, new = by_id[change["memory_id"]], by_id.get(after.get("superseded_by_id") or 0)
        if old.kind == "ended" and new is not None and new.text:
            before = old.before or old.text
            by_id[new.memory_id] = replace(new, kind="replaced", before="" if before == new.text else before)
            replaced_ids.add(old.memory_id)
    return [by_id[line.memory_id] for line in lines if line.memory_id not in replaced_ids]


def _line(change: Mapping[str, Any], states: Mapping[int, MemoryState], snapshots: Snapshots) -> ChangeLine:
    memory_id, before, after = change["memory_id"], change["before"], change["after"]
    state = states.get(memory_id)
    if state is None:
        return ChangeLine(memory_id, "gone")
    text = state.content
    snapshot = snapshots.get((memory_id, after or 0), {})
    waits = state.waits and bool(snapshot.get("needs_review"))
    if before is None and snapshot.get("valid_to"):
        if after > 1:
            return ChangeLine(memory_id, "ended", text)  # something later in the same answer replaced it
        current = states.get(snapshot.get("superseded_by_id") or 0, MemoryState())
        return ChangeLine(memory_id, "overruled", text, current.content, may_use=state.is_closed)
    if before is None:
        return ChangeLine(memory_id, "review" if waits else "added", text)
    if before == after:
        return ChangeLine(memory_id, "confirmed", text)
    once = snapshots.get((memory_id, before), {})
    if snapshot.get("valid_to") and not once.get("valid_to"):
        return ChangeLine(memory_id, "ended", text)
    if bool(snapshot.get("needs_review")) != bool(once.get("needs_review")):
        return ChangeLine(memory_id, "review" if waits else "confirmed", text)
    old_text, new_text = str(once.get("content") or ""), str(snapshot.get("content") or text)
    if old_text and old_text != new_text:
        return ChangeLine(memory_id, "changed", new_text, old_text)
    for name, (on, off) in _FLAGS.items():
        if bool(once.get(name)) != bool(snapshot.get(name)):
            return ChangeLine(memory_id, "kept", text, note=on if snapshot.get(name) else off)
    if once.get("fact_value") and snapshot.get("fact_value") and once["fact_value"] != snapshot["fact_value"]:
        return ChangeLine(memory_id, "changed", str(snapshot["fact_value"]), str(once["fact_value"]))
    return ChangeLine(memory_id, "confirmed" if change.get("evidence") else "kept", text)


def label(lines: Iterable[ChangeLine]) -> str:
    """Return the line under a reply with every decision: "Remembered: lives in Lisbon · Changed: Ana → Anabela"."""
    lines = list(lines)
    phrases: list[str] = []
    for kinds, snapshots in _LABELS.items():
        names = [line.short for line in lines if (line.note or line.kind) in kinds and line.short]
        if not names or (phrases and "confirmed" in kinds):
            continue
        phrase = ", ".join(names[:MAX_NAMED])
        if len(names) > MAX_NAMED:
            phrase = _("%(names)s and %(count)s more", names=phrase, count=len(names) - MAX_NAMED)
        phrases.append(_(snapshots, what=phrase))
    return " · ".join(phrases)


def shorten_statement(statement: str) -> str:
    """Return a statement as part of a line: without a full stop, cut at a word."""
    text = " ".join(statement.split()).removesuffix(".")
    return text if len(text) <= SHORT else text[:SHORT].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
