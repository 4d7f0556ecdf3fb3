"""Capabilities of a model server, discovered once per (URL, model) and remembered."""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Collection, Mapping
from typing import Any

from redis import Redis

log = logging.getLogger(__name__)

STRUCTURED_MODES = ("json_schema", "json_object", "text")
_LIFETIME = 86_400
_RECHECK = 60.0
_MAX_TOOLS = 500


class Capabilities:
    """Refused features and structured modes that work, for a day, shared through Redis (read once a minute)."""

    def __init__(self, store: Redis | None = None) -> None:
        self._store = store
        self._cache: dict[str, tuple[float, dict[str, object]]] = {}
        self._lock = threading.Lock()

    def accepts(self, base_url: str, model: str, feature: str) -> bool:
        names = self._read(base_url, model).get("refused")
        return not (isinstance(names, list) and feature in names)

    def refuse(self, base_url: str, model: str, feature: str) -> None:
        refused = self._read(base_url, model).get("refused")
        names = set(refused) if isinstance(refused, list) else set()
        self._learn(base_url, model, refused=sorted(names | {feature}))

    def tools_refused(self, base_url: str, model: str) -> frozenset[str]:
        """Return the fingerprints of the tools that the server refuses, each known for a day."""
        now = time.time()
        return frozenset(name for name, until in self._tools(base_url, model).items() if until > now)

    def refuse_tool(self, base_url: str, model: str, fingerprint: str) -> None:
        """Remember that the server refuses a tool; the rest are not affected."""
        self._store_tools(base_url, model, self._tools(base_url, model) | {fingerprint: time.time() + _LIFETIME})

    def forget_tools(self, base_url: str, model: str, fingerprints: Collection[str]) -> None:
        """Offer tools again that the server refused."""
        tools = self._tools(base_url, model)
        if not tools.keys().isdisjoint(fingerprints):
            self._store_tools(base_url, model, {name: tools[name] for name in tools.keys() - set(fingerprints)})

    def thinks(self, base_url: str, model: str) -> bool:
        """Return whether the model was seen to think before it answers."""
        return bool(self._read(base_url, model).get("thinks"))

    def note_thinking(self, base_url: str, model: str) -> None:
        """Remember that the model thinks before it answers."""
        self._learn(base_url, model, thinks=True)

    def lone_end_mark(self, base_url: str, model: str) -> str:
        """Return the mark that ends the model's thoughts if its template eats the one that begins them."""
        mark = self._read(base_url, model).get("unopened")
        return mark if isinstance(mark, str) else ""

    def remember_end_mark(self, base_url: str, model: str, mark: str) -> None:
        """Remember how the model's thoughts end; an empty mark forgets it."""
        self._learn(base_url, model, unopened=mark)

    def answers_together(self, base_url: str) -> bool:
        """Return whether the server was seen to write two replies at the same time."""
        return bool(self._read(base_url, "").get("together"))

    def note_together(self, base_url: str) -> None:
        """Remember that the server writes replies at the same time."""
        self._learn(base_url, "", together=True)

    def structured_mode(self, base_url: str, model: str) -> str | None:
        """Return the structured mode known to work, or None if it has not been discovered."""
        mode = self._read(base_url, model).get("structured")
        return mode if isinstance(mode, str) and mode in STRUCTURED_MODES else None

    def set_structured_mode(self, base_url: str, model: str, mode: str) -> None:
        self._learn(base_url, model, structured=mode)

    def embeds(self, base_url: str, model: str) -> bool | None:
        """Return whether the server makes vectors with a model, None if it has not been tried in a month."""
        serves = self._load(_embedding_key(base_url, model)).get("serves")
        return serves if isinstance(serves, bool) else None

    def note_embeddings(self, base_url: str, model: str, *, serves: bool) -> None:
        """Remember whether the server makes vectors with a model."""
        self._save(_embedding_key(base_url, model), {"serves": serves}, expires=30 * _LIFETIME)

    def _tools(self, base_url: str, model: str) -> dict[str, float]:
        # Read again every minute: another process may have tried them, or their owner taken them back.
        entries = self._load(f"{_key(base_url, model)}:tools", max_age=_RECHECK)
        return {name: until for name, until in entries.items() if isinstance(until, int | float)}

    def _store_tools(self, base_url: str, model: str, tools: Mapping[str, float]) -> None:
        latest = sorted(tools.items(), key=lambda item: item[1])[-_MAX_TOOLS:]
        self._save(f"{_key(base_url, model)}:tools", dict(latest), lifetime=_RECHECK)

    def _read(self, base_url: str, model: str) -> dict[str, object]:
        return self._load(_key(base_url, model))

    def _learn(self, base_url: str, model: str, **facts: object) -> None:
        self._save(_key(base_url, model), {**self._read(base_url, model), **facts})

    def _load(self, key: str, max_age: float = _LIFETIME) -> dict[str, object]:
        with self._lock:
            entry = self._cache.get(key)
        now = time.monotonic()
        if entry is not None and entry[0] > now:
            return entry[1]
        value: dict[str, object] = {}
        if self._store is not None:
            try:
                loaded = json.loads(self._store.get(key) or "{}")
                value = loaded if isinstance(loaded, dict) else {}
            except Exception:  # the store is a convenience: its failures must not break a model call
                log.warning("capability store could not be read", exc_info=True)
        with self._lock:
            self._cache[key] = (now + (max_age if value else _RECHECK), value)
        return value

    def _save(
        self, key: str, value: Mapping[str, object], lifetime: float = _LIFETIME, expires: int = _LIFETIME
    ) -> None:
        with self._lock:
            self._cache[key] = (time.monotonic() + (lifetime if self._store else _LIFETIME), dict(value))
        if self._store is not None:
            try:
                self._store.set(key, json.dumps(value), ex=expires)
            except Exception:  # as above
                log.warning("capability store could not be written", exc_info=True)


def _embedding_key(base_url: str, model: str) -> str:
    return f"{_key(base_url, model)}:embeddings"


def tool_fingerprint(definition: Mapping[str, Any]) -> str:
    """Return what identifies a tool as a server sees it, whatever name it has among others."""
    function = definition.get("function") or {}
    text = json.dumps([function.get("description"), function.get("parameters")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _key(base_url: str, model: str) -> str:
    """Return the Redis key of a model; the URL is hashed, because it may carry credentials."""
    return f"capability:{hashlib.sha256(base_url.encode()).hexdigest()[:16]}:{model}"
