"""Conversations as trees of messages: which of them was shown last; pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sized
from datetime import datetime
from itertools import accumulate, islice
from typing import Any

from webapp.transfer.content import Omission


def by_id(items: Iterable[Any], field: str) -> dict[str, dict[str, Any]]:
    """Return the objects among some items by their id, or by their place for want of one of their own."""
    rows: dict[str, dict[str, Any]] = {}
    for place, item in enumerate(items):
        if isinstance(item, dict):
            key = str(item.get(field) or place)
            rows[f"{key}-{place}" if key in rows else key] = item
    return rows


def branch(parents: dict[str, str | None], leaf: str | None) -> list[str]:
    """Return the ids from the root to a leaf, oldest first; a circle ends the walk."""
    path: list[str] = []
    seen: set[str] = set()
    while leaf is not None and leaf in parents and leaf not in seen:
        seen.add(leaf)
        path.append(leaf)
        leaf = parents[leaf]
    return path[::-1]


def newest_leaf(parents: dict[str, str | None], times: dict[str, float]) -> str | None:
    """Return the leaf that was written last; the last one listed if times do not tell."""
    inner = {parent for parent in parents.values() if parent is not None}
    leaves = [node for node in parents if node not in inner] or list(parents)
    order = {node: position for position, node in enumerate(parents)}
    return max(leaves, key=lambda node: (times.get(node, 0.0), order[node]), default=None)


def count_omissions(rows: Sized, path: Sized, shown_count: int) -> Counter[str]:
    """Count what a conversation of `rows` leaves out if `shown_count` messages of the branch `path` are shown."""
    return +Counter({Omission.OTHER_VERSIONS: len(rows) - len(path), Omission.HIDDEN: len(path) - shown_count})


def parent_links(
    rows: Mapping[str, Mapping[str, Any]], field: str, times: Mapping[str, float]
) -> dict[str, str | None]:
    """Return the parent of each row, as its `field` names it. One that the export lacks stood below the row before the
    first that names it, in order of time; a row without a time has that of the one listed above it."""
    latest = accumulate(rows, lambda at, key: times.get(key, at), initial=0.0)
    order = dict(zip(rows, islice(latest, 1, None), strict=True))
    links: dict[str, str | None] = {}
    gaps: dict[str, str | None] = {}
    before = None
    for key in sorted(order, key=order.__getitem__):
        name = rows[key].get(field)
        parent = None if name in (None, "") else str(name)
        links[key] = parent if parent is None or parent in rows else gaps.setdefault(parent, before)
        before = key
    return {key: links[key] for key in rows}


def current_branch(
    rows: Mapping[str, dict[str, Any]], parent: str, leaf: object, get_time: Callable[[dict[str, Any]], datetime | None]
) -> list[str]:
    """Return the ids of the branch that was shown last, oldest first: the one that ends in `leaf`, else in the newest
    message; all of them, by their times if all have one, if no row names another in its field `parent`.
    """
    times = {key: moment.timestamp() for key, row in rows.items() if (moment := get_time(row))}
    parents = parent_links(rows, parent, times)
    if all(parent_key is None for parent_key in parents.values()):
        return sorted(rows, key=times.__getitem__) if len(times) == len(rows) else list(rows)
    return branch(parents, str(leaf) if str(leaf) in rows else newest_leaf(parents, times))
