"""The memories that every prompt contains: read along indexes, then kept up to date change by change."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Row, Select, false, or_, select

from webapp.conversations.models import Conversation
from webapp.db.base import db, now
from webapp.db.index_hints import use_index
from webapp.i18n.dates import last_time_zone_day
from webapp.memories.models import Memory
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.memories.prompt.profile import KEYS, profile_values
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.policy import at_least
from webapp.memories.schemas import KnownItem
from webapp.memories.service import readable, shared_in, visible
from webapp.prompts.values import source_of
from webapp.spaces.members import names_of

MAX_LASTING = 200
"""The most pinned memories, keyed facts, and instructions considered for one prompt."""
MAX_NEW = 20
"""How many memories that changed since a prompt's beginning was fixed are added after it."""
FADES_AFTER = timedelta(days=365)
"""After this long without a mention, one without a key or space is in a prompt only if the question calls for it."""
NEW = "new"
"""The group of what changed recently."""
INSTRUCTION = MemoryType.INSTRUCTION.value
KNOWN_IMPORTANCE = 0.5
"""Keyed facts of at least this importance are in every prompt."""
RECENT = 10
"""How many of the other memories are, the latest."""
SPARE_ROWS = 40
"""The number of each that is read beyond that: as many may change before they have to be read again."""
TOLERANCE = 1e-6
"""The precision an importance loses in a FLOAT column."""
COLUMNS = (
    Memory.memory_id,
    Memory.content,
    Memory.revision,
    Memory.importance,
    Memory.fact_key,
    Memory.is_pinned,
    Memory.created_at,
    Memory.updated_at,
    Memory.until,
    Memory.memory_type,
    Memory.space_id,
    Memory.only_conversation_id,
    Memory.known_rank,
)
"""The columns that are read of a memory; not entities, which would load each vector as well."""

_PROFILE = frozenset(KEYS.values())
_Memories = Sequence[Row[Any]]
_Query = Select[*tuple[Any, ...]]


class _Kind(NamedTuple):
    """Memories that prompts contain by a rule: of those that `has` accepts, the `limit` with the greatest `column`.
    `where` and `index_name` say the same to the database."""

    has: Callable[[Row[Any]], bool]
    column: str
    limit: int
    where: tuple[Any, ...]
    index_name: str


def _is_fact(row: Row[Any]) -> bool:
    return row.known_rank is not None and at_least(row.known_rank, KNOWN_IMPORTANCE)


KNOWN_KINDS = {
    "pinned": _Kind(lambda row: row.is_pinned, "updated_at", MAX_LASTING, (Memory.is_pinned,), "pinned"),
    "fact": _Kind(_is_fact, "known_rank", MAX_LASTING, (Memory.known_rank >= KNOWN_IMPORTANCE - TOLERANCE,), "known"),
    "recent": _Kind(
        lambda row: not (row.is_pinned or _is_fact(row)),
        "created_at",
        RECENT,
        (
            Memory.is_pinned == false(),
            or_(Memory.known_rank.is_(None), Memory.known_rank < KNOWN_IMPORTANCE - TOLERANCE),
        ),
        "recent",
    ),
    NEW: _Kind(lambda _row: True, "updated_at", MAX_NEW, (), "listing"),
    INSTRUCTION: _Kind(lambda _row: True, "updated_at", MAX_LASTING, (), "type"),
}
_RANKS = {name: attrgetter(kind.column, "memory_id") for name, kind in KNOWN_KINDS.items()}


class AlwaysUsed:
    """The memories in use that every prompt draws on, at a `version` of their user's memory; it never changes. Of each
    kind it has all there are, or the first of them. Empty, it is that of somebody who has no memories."""

    def __init__(
        self,
        version: int = 0,
        kinds: dict[str, tuple[_Memories, bool]] | None = None,
        place: tuple[int, int | None] = (0, None),
    ) -> None:
        """`kinds` holds the memories of each, the greatest rank first, and whether these are all; `place` is the user
        and the space."""
        self.version, self._place = version, place
        self._kinds = kinds or dict.fromkeys(KNOWN_KINDS, ((), True))
        self._items: tuple[tuple[date, datetime | None] | None, list[KnownItem]] = None, []

    @classmethod
    def read(cls, user_id: int, version: int = 0, space_id: int | None = None) -> "AlwaysUsed":
        """Read what a user's personal conversations always use, and the instructions; or what a space's use."""
        found = {name: db.session.execute(query).all() for name, query in _queries(user_id, space_id).items()}
        kinds = {name: (rows, len(rows) < _most(name)) for name, rows in found.items()}
        return cls(version, kinds, (user_id, space_id))

    def after(self, version: int, changed_ids: Collection[int], rows: _Memories) -> "AlwaysUsed | None":
        """Return what is always used once some of the user's memories have changed, of which `rows` are in use; None
        if the others have to be read again to tell."""
        kinds = dict(self._kinds)
        for name, (before, is_all) in self._kinds.items():
            rank, limit = _RANKS[name], KNOWN_KINDS[name].limit
            found = [row for row in rows if _is_of(name, row) and (is_all or rank(row) >= rank(before[-1]))]
            left = [row for row in before if row.memory_id not in changed_ids]
            if not found and len(left) == len(before):
                continue
            left = sorted([*left, *found], key=rank, reverse=True)
            is_all = is_all and len(left) < _most(name)
            if not is_all and len(left) < limit:
                return None
            kinds[name] = left[: _most(name)], is_all
        return AlwaysUsed(version, kinds, self._place)

    def items(self, since: datetime | None = None) -> list[KnownItem]:
        """Return the memories in every prompt, before any budget: profile, pinned, keyed facts of importance 0.5 and
        more, and the most recent others. With `since`, later changes come last, as NEW, so that a prompt's beginning
        stays the same; where too few from before it are held, they are read."""
        latest = self._kinds[NEW][0]
        key = last_time_zone_day(now()), since if latest and since and latest[0].updated_at > since else None
        stored = self._items
        if stored[0] != key:  # what held until yesterday is over
            self._items = stored = key, self._list(key[1])
        return stored[1]

    def _list(self, since: datetime | None) -> list[KnownItem]:
        moment = now()

        def usable(name: str) -> _Memories:
            rows, is_all = self._kinds[name]
            if since is not None:
                rows = [row for row in rows if (row.updated_at > since) is (name == NEW)]
                if name != NEW and not is_all and len(rows) < KNOWN_KINDS[name].limit:
                    unchanged = _queries(*self._place)[name].where(Memory.updated_at <= since)
                    rows = db.session.execute(unchanged).all()
            return list(islice((row for row in rows if not is_over(row, moment)), KNOWN_KINDS[name].limit))

        pinned = sorted(usable("pinned"), key=lambda row: row.memory_id)
        facts = sorted(
            (row for row in usable("fact") if not row.is_pinned),
            key=lambda row: (-max(row.importance, KNOWN_IMPORTANCE), row.fact_key, row.memory_id),
        )
        items = _items(pinned, "pinned") + _items(facts, "fact") + _items(usable("recent"), "recent")
        return items if since is None else items + _items(usable(NEW), NEW)

    def instructions(
        self, conversation_id: int, space_id: int | None = None, *, everywhere: bool = True
    ) -> list[KnownItem]:
        """Return the user's standing instructions that apply today in a conversation, which may be of a space, in
        order; if not `everywhere`, only those for that space or conversation."""
        today = last_time_zone_day(now())
        rows = [
            row
            for row in self._kinds[INSTRUCTION][0][:MAX_LASTING]
            if (row.until is None or row.until >= today)
            and (
                row.only_conversation_id == conversation_id
                if row.only_conversation_id is not None
                else row.space_id == space_id
                if row.space_id is not None
                else everywhere
            )
        ]
        return _items(sorted(rows, key=lambda row: row.memory_id), INSTRUCTION)


def context_memories(user_id: int, space_id: int | None = None, *, since: datetime | None = None) -> list[KnownItem]:
    """Return the memories in every prompt of the user's personal conversations, or of a space's, as `items` does."""
    items = AlwaysUsed.read(user_id, space_id=space_id).items(since)
    return items if space_id is None else _add_author_names(user_id, items)


def shared_memories(space_id: int, limit: int) -> list[tuple[int, KnownItem]]:
    """Return memories shared in a space with owners: pinned first, then by importance, newest first."""
    usable: _Query = (
        select(Memory)
        .where(shared_in([space_id]), Memory.memory_type != INSTRUCTION)
        .order_by(Memory.is_pinned.desc(), Memory.importance.desc(), Memory.memory_id.desc())
        .limit(limit)
        .with_only_columns(*COLUMNS, Memory.user_id)
    )
    moment = now()
    rows = [row for row in db.session.execute(usable) if not is_over(row, moment)]
    names = names_of({row.user_id for row in rows})
    return [
        (row.user_id, replace(item, author=names.get(row.user_id, "")))
        for row, item in zip(rows, _items(rows, "fact"), strict=True)
    ]


def _most(name: str) -> int:
    return KNOWN_KINDS[name].limit + SPARE_ROWS


def _is_of(name: str, row: Row[Any]) -> bool:
    """Return whether a memory of the user's is of a kind."""
    if INSTRUCTION in (name, row.memory_type):
        return {name, row.memory_type} == {INSTRUCTION}
    return row.space_id is None and KNOWN_KINDS[name].has(row)


@lru_cache(maxsize=256)
def _queries(user_id: int, space_id: int | None) -> dict[str, _Query]:
    """Return the statements that read each kind of memory; of a space, what the user may read there."""
    queries = {}
    for name, kind in KNOWN_KINDS.items():
        scope = visible(user_id).where(Memory.space_slot == 0, Memory.memory_type != INSTRUCTION)
        if name == INSTRUCTION:
            if space_id is not None:
                continue
            scope = visible(user_id).where(Memory.memory_type == INSTRUCTION)
        elif space_id is not None:
            scope = readable(user_id).where(Memory.space_id == space_id, Memory.memory_type != INSTRUCTION)
        scope = scope.where(
            Memory.is_archived == false(), Memory.is_closed == false(), Memory.needs_review == false(), *kind.where
        )
        query = (
            scope.order_by(getattr(Memory, kind.column).desc(), Memory.memory_id.desc())
            .limit(_most(name))
            .with_only_columns(*COLUMNS)
        )
        # Left alone, databases walk through all memories of the user; those of a space are found by the space.
        queries[name] = query if space_id is not None else use_index(query, Memory, f"ix_memories_{kind.index_name}")
    return queries


def is_over(row: Row[Any] | Memory, moment: datetime) -> bool:
    """Return whether a memory is over or has faded from every prompt; pinned ones and the profile never do."""
    if row.is_pinned or row.fact_key in _PROFILE:
        return False
    has_faded = row.fact_key is None and row.space_id is None and moment - row.updated_at > FADES_AFTER
    return has_faded or (row.until is not None and row.until < last_time_zone_day(moment))


def _add_author_names(user_id: int, items: list[KnownItem]) -> list[KnownItem]:
    """Return the items with the name of each memory's owner, if that is another member."""
    ids = [item.id for item in items]
    statement = select(Memory.memory_id, Memory.user_id).where(Memory.memory_id.in_(ids), Memory.user_id != user_id)
    author = dict(db.session.execute(statement).all())
    names = names_of(set(author.values())) if author else {}
    return [replace(item, author=names.get(author.get(item.id, 0), "")) for item in items]


def _items(rows: Iterable[Row[Any]], group: str) -> list[KnownItem]:
    return [
        KnownItem(
            row.memory_id,
            row.content,
            row.revision,
            "profile" if group not in (NEW, INSTRUCTION) and row.fact_key in _PROFILE else group,
            round(row.importance, 4),
            learned_at=row.created_at if group == "recent" else None,
        )
        for row in rows
    ]


@source_of("MEMORIES")
def memory_lines(conversation: Conversation) -> list[str]:
    """Return the lines of memories for every prompt, the profile first; none if memory is off."""
    if not memory_is_on(conversation):
        return []
    return [
        f"{item.content} (said by {' '.join(item.author.split())})" if item.author else item.content
        for item in context_memories(conversation.user_id, conversation.space_id)
    ]


@source_of("USER_PROFILE")
def profile_lines(conversation: Conversation) -> list[str]:
    """Return the profile, one line per field; none if memory is off, or in a space, which has memories of its own."""
    if not memory_is_on(conversation) or conversation.space_id is not None:
        return []
    return [f"{name.replace('_', ' ')}: {value}" for name, value in profile_values(conversation.user_id).items()]
