"""The indexes of the users a process serves: bounded, built once, updated on every use."""

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait as wait_for
from dataclasses import dataclass, field

import numpy as np
from flask import Flask

from webapp.extensions import Part
from webapp.memories.prompt.always_used import AlwaysUsed
from webapp.retrieval import changes
from webapp.retrieval.changes import Change, MissedChanges, Position
from webapp.retrieval.facts import FactKeys, read_keys
from webapp.retrieval.index import UserIndex
from webapp.retrieval.passage_rows import (
    CHUNKS_ONLY,
    block_of,
    changed_memories,
    load_changed,
    load_space,
    load_user,
    load_verdicts,
)
from webapp.retrieval.passages import Key, Scope
from webapp.retrieval.vectors import Block

log = logging.getLogger(__name__)

BUILDERS = 2
REBUILD_THRESHOLD = 500
"""Number of memories changed at once from which the index is rebuilt instead of updated."""


@dataclass(slots=True)
class Entry:
    """A user's index, what else turns need of their memory, and the position that has reached. Its lock is held while
    it is brought up to date."""

    index: UserIndex
    position: Position
    always_used: AlwaysUsed = field(default_factory=AlwaysUsed)
    fact_keys: FactKeys = field(default_factory=FactKeys)
    verdicts: dict[Key, list[frozenset[str]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    size: int = 0

    def scope(self, user_id: int, space_id: int | None) -> Scope:
        """Return the scope as the index knows it, for choosing candidates; the tables decide what is shown."""
        return Scope(user_id, self.position.space_ids, space_id)


class IndexCache:
    """At most `max_bytes` of indexes, the least recently used dropped first; a single larger one is kept.

    What it returns may lag behind the tables by a rebuild, so callers load what was found from the tables by id. It is
    thread-safe, and nothing is created before it is used, so that a forked process has its own threads.
    """

    def __init__(self, app: Flask, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._building: dict[int, Future[Entry]] = {}
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def get(self, user_id: int, wait: float, position: Position | None = None) -> Entry | None:
        """Return the user's index, up to `position` if known; None if it is not built within `wait` seconds."""
        with self._lock:
            entry = self._entries.get(user_id)
            if entry is not None:
                self._entries.move_to_end(user_id)
        if entry is None and position == Position():  # every change is counted: there is nothing to read
            return self._keep(user_id, Entry(UserIndex(), position))
        if entry is None:
            entry = self._build_once(user_id, wait, position)
        if entry is not None and not self._refresh(user_id, entry, position, wait):
            return self._build_once(user_id, wait, position) or entry
        return entry

    def peek(self, user_id: int) -> Entry | None:
        """Return the user's index as it is, if this process has one."""
        with self._lock:
            return self._entries.get(user_id)

    def users_with_index_in(self, space_ids: Collection[int]) -> list[int]:
        """Return the users of whom this process has an index, and who were in one of these spaces when it was read."""
        with self._lock:
            entries = list(self._entries.items())
        return [user_id for user_id, entry in entries if not entry.position.space_ids.isdisjoint(space_ids)]

    def catch_up(self, user_id: int) -> None:
        """Update the user's index, if this process has one and need not rebuild it for that."""
        if (entry := self.peek(user_id)) is not None:
            self._refresh(user_id, entry, None, 0)

    def drop(self, user_id: int | None = None) -> None:
        """Forget one user's index, or all."""
        with self._lock:
            if user_id is None:
                self._entries.clear()
            else:
                self._entries.pop(user_id, None)

    @property
    def is_empty(self) -> bool:
        return not self._entries

    @property
    def nbytes(self) -> int:
        """Approximate bytes held."""
        with self._lock:
            return sum(entry.size for entry in self._entries.values())

    def _build_once(self, user_id: int, wait: float, position: Position | None) -> Entry | None:
        """Build an index in a separate thread, once however many ask, and wait a while for it."""
        with self._lock:
            future = self._building.get(user_id)
            if future is None:
                if self._pool is None or self._pool[0] != os.getpid():
                    self._building.clear()
                    self._pool = (os.getpid(), ThreadPoolExecutor(BUILDERS, thread_name_prefix="index"))
                future = self._building[user_id] = self._pool[1].submit(self._build, user_id, position)
                future.add_done_callback(lambda finished_future: self._forget_future(user_id, finished_future))
        wait_for([future], timeout=wait)
        if not future.done():
            return None
        if (error := future.exception()) is not None:
            log.warning("index not built", extra={"user_id": user_id, "error": type(error).__name__})
            return None
        return future.result()

    def _forget_future(self, user_id: int, future: Future[Entry]) -> None:
        with self._lock:
            if self._building.get(user_id) is future:
                del self._building[user_id]

    def _build(self, user_id: int, position: Position | None) -> Entry:
        start = time.perf_counter()
        with self._app.app_context():  # its end gives the connection back
            # The position first: what is committed in the meantime is applied again, which does no harm.
            position = position or changes.position(user_id)
            always_used = AlwaysUsed.read(user_id, position.memory_version)
            entry = Entry(UserIndex(), position, always_used, read_keys(user_id), load_verdicts(user_id))
            for block in load_user(user_id):
                _put(entry.index, block)
            for space_id, _ in entry.position.spaces:
                for block in load_space(user_id, space_id):
                    _put(entry.index, block)
        entry.index.compact()  # words are found faster once all are sorted
        elapsed = round((time.perf_counter() - start) * 1000)
        log.info("index built", extra={"user_id": user_id, "passages": len(entry.index), "ms": elapsed})
        return self._keep(user_id, entry)

    def _keep(self, user_id: int, entry: Entry) -> Entry:
        with self._lock:
            self._entries[user_id] = entry
            self._entries.move_to_end(user_id)
        self._evict(entry)
        return entry

    def _refresh(self, user_id: int, entry: Entry, position: Position | None, wait: float) -> bool:
        """Apply changes to an index; False if it must be rebuilt. Waits at most `wait` for another thread doing so."""
        if not entry.lock.acquire(timeout=max(wait, 0.01)):
            return True
        try:
            # The previous holder of the lock may have brought it further than the caller knows.
            current = changes.position(user_id) if position is None or entry.position.is_past(position) else position
            news = changes.news(user_id, entry.position, current)
            if news is None:
                return True
            is_large = len(news.memory_ids) > REBUILD_THRESHOLD or Change("memories") in news.changes
            if not news.complete or is_large:
                return False
            _apply(user_id, entry, news)
        finally:
            entry.lock.release()
        self._evict(entry)
        return True

    def _evict(self, entry: Entry) -> None:
        entry.size = entry.index.nbytes
        with self._lock:
            total = sum(user_entry.size for user_entry in self._entries.values())
            while total > self._max_bytes and len(self._entries) > 1:
                _, oldest = self._entries.popitem(last=False)
                total -= oldest.size


def _apply(user_id: int, entry: Entry, news: MissedChanges) -> None:
    index = entry.index
    memory_ids = set(news.memory_ids) | {item.ref_id for item in news.changes if item.kind == "memories"}
    memories = changed_memories(user_id, memory_ids) if memory_ids else ()
    if memory_ids:
        before = {("memory", memory_id) for memory_id in memory_ids if ("memory", memory_id) in index}
        index.remove(before)
        _put(index, block_of(memories))
        if any(key not in index for key in before):
            index.compact()  # what was forgotten must leave this process's memory too
        entry.fact_keys.replace(memory_ids, ((row.memory_id, row.fact_key) for row in memories))
    version = news.position.memory_version
    always_used = entry.always_used.after(version, memory_ids, memories)
    entry.always_used = always_used or AlwaysUsed.read(user_id, version)
    _apply_conversations(user_id, index, [item for item in news.changes if item.kind == "conversation"])
    if any(item.kind == "verdicts" for item in news.changes):
        entry.verdicts = load_verdicts(user_id)
    for space_id in entry.position.stale_spaces(news.position):
        # What is no longer shared, or was deleted, must leave this process's memory too.
        index.remove(index.keys_shared_in(space_id, user_id))
        if space_id in dict(news.position.spaces):
            for block in load_space(user_id, space_id):
                _put(index, block)
        index.compact()
    entry.position = news.position


def _apply_conversations(user_id: int, index: UserIndex, changes: Sequence[Change]) -> None:
    tails: dict[int, int] = {}
    for item in changes:
        tails[item.ref_id] = min(tails.get(item.ref_id, item.from_id), item.from_id)
    # A new chunk is noted as a change, one that is shown again is in a change of the whole conversation, and one that
    # is removed is in the index: most turns have none of these.
    with_chunks = {item.ref_id for item in changes if item.from_id in (0, CHUNKS_ONLY)}
    for conversation_id, from_id in tails.items():
        if chunks := index.keys_of("chunk", conversation_id):
            with_chunks.add(conversation_id)
            index.remove(chunks)
        index.remove(index.keys_of("message", conversation_id, from_id))
    for block in load_changed(user_id, tails, with_chunks):
        _put(index, block)


def _put(index: UserIndex, block: Block) -> None:
    index.add(block.passages)
    for name, pairs in block.vectors.items():
        index.put_vectors(name, [key for key, _ in pairs], np.stack([vector for _, vector in pairs]))


index_cache: Part[IndexCache] = Part("index_cache")
