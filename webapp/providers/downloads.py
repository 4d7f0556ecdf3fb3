"""Lets Ollama fetch a model, and resume; Redis knows how far it has got, so that every process can stop it."""

import json
import logging
import os
import platform
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal

from redis import Redis
from redis.exceptions import RedisError

from webapp.errors import Conflict, Invalid, NotFound, require
from webapp.extensions import redis
from webapp.i18n.marks import N_
from webapp.providers.connection_check import root_of

log = logging.getLogger(__name__)

ALIVE_SECONDS = 75
"""A pull that has reported nothing for so long has died with its process."""
SILENT_SECONDS = 60.0
REPORT_SECONDS = 0.5
RETENTION_SECONDS = 86_400
MAX_LINE_BYTES = 1_000_000
PROBLEMS = N_(
    {
        "unknown_model": "Ollama’s library has no model of this name.",
        "disk_full": "The disk is full. Make room, then resume: what has been fetched is kept.",
        "interrupted": "The download broke off. Resume to continue where it stopped.",
        "refused": "Ollama could not fetch this model.",
    }
)


@dataclass(frozen=True, slots=True)
class Pull:
    """A model being fetched: bytes so far and altogether, and, once it has failed, one of PROBLEMS."""

    model: str
    state: Literal["running", "done", "failed", "cancelled"]
    completed: int = 0
    total: int = 0
    problem: str = ""


def get_pull(name: str) -> Pull:
    """Return the last pull on a server. Raises NotFound before any."""
    return require(find_pull(name), "No model has been asked for.")


def find_pull(name: str) -> Pull | None:
    """Return the last pull on a server, if any; one whose process has died is interrupted."""
    stored, alive = redis().mget(_key(name), _key(name, ":alive"))  # at one moment: it may just be ending
    if not isinstance(stored, bytes):
        return None
    pull = Pull(**json.loads(stored))
    if pull.state == "running" and not alive:
        return replace(pull, state="failed", problem="interrupted")
    return pull


def start_pull(places: Mapping[str, str], name: str, model: str) -> Pull:
    """Fetch a model in a thread, if not fetched yet. Raises NotFound for another server, Conflict during another."""
    if name not in places:
        raise NotFound("There is no such server.")
    if not model or len(model) > 200 or not model.isprintable():
        raise Invalid.field("model", "is not the name of a model")
    client, previous = redis(), find_pull(name)
    if not client.set(_key(name, ":alive"), model, nx=True, ex=ALIVE_SECONDS):
        if previous is not None and previous.model == model:
            client.delete(_key(name, ":stop"))  # cancelled, and not stopped yet: it goes on
            return replace(previous, state="running", problem="")
        raise Conflict("Another model is being fetched. Wait for it, or cancel it.")
    resumed = previous if previous is not None and previous.model == model else Pull(model, "running")
    pull = replace(resumed, state="running", problem="")
    client.delete(_key(name, ":stop"))
    _store(client, name, pull)
    threading.Thread(target=_run, args=(client, name, places[name], pull), name="pull", daemon=True).start()
    return pull


def cancel_pull(name: str) -> None:
    """Stop fetching, with what Ollama says next; it keeps what has been fetched. Raises NotFound before any pull."""
    client, pull = redis(), get_pull(name)
    if pull.state in ("running", "failed"):
        client.set(_key(name, ":stop"), 1, ex=RETENTION_SECONDS)
        _store(client, name, replace(pull, state="cancelled", problem=""))


def _run(client: Redis, name: str, url: str, pull: Pull) -> None:
    try:
        pull = _follow(client, name, pull, lambda: _lines(url, pull.model))
        _store(client, name, pull)
    except RedisError as error:
        log.warning("pull is not reported", extra={"error": type(error).__name__})
    finally:
        client.delete(_key(name, ":alive"), _key(name, ":stop"))


def _follow(client: Redis, name: str, pull: Pull, lines: Callable[[], Iterator[dict[str, Any]]]) -> Pull:
    """Report what Ollama says until it is done; returns how that ended."""
    layers: dict[str, tuple[int, int]] = {}
    reported = 0.0
    try:
        for line in lines():
            if "error" in line:
                return replace(pull, state="failed", problem=_problem(str(line["error"])))
            if line.get("status") == "success":
                return replace(pull, state="done", completed=pull.total)
            if isinstance(line.get("total"), int):
                layers[str(line.get("digest"))] = (int(line.get("completed") or 0), line["total"])
                done, total = (sum(column) for column in zip(*layers.values(), strict=True))
                reported = reported if total == pull.total else 0.0  # a new layer is told at once
                pull = replace(pull, completed=done, total=total)
            if time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                if client.exists(_key(name, ":stop")):
                    return replace(pull, state="cancelled")
                client.expire(_key(name, ":alive"), ALIVE_SECONDS)
                _store(client, name, pull)
    except (OSError, ValueError, HTTPException) as error:
        log.info("pull broke off", extra={"error": type(error).__name__})
    return replace(pull, state="failed", problem="interrupted")


def _lines(url: str, model: str) -> Iterator[dict[str, Any]]:
    body = json.dumps({"model": model, "stream": True}).encode()
    request = urllib.request.Request(  # noqa: S310 - a URL of the settings
        f"{root_of(url)}/api/pull", data=body, headers={"Content-Type": "application/json"}
    )
    # No proxy from the environment: this is about this machine. A refusal is an answer, too.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Refusals)
    with closing(opener.open(request, timeout=SILENT_SECONDS)) as answer:
        while line := answer.readline(MAX_LINE_BYTES):
            data = json.loads(line)
            if isinstance(data, dict):
                yield data


class _Refusals(urllib.request.HTTPErrorProcessor):
    def http_response(self, request: urllib.request.Request, response: Any) -> Any:  # noqa: ARG002
        """Return the answer whatever its status."""
        return response


def _problem(text: str) -> str:
    """Return what Ollama's error means: its texts are the operating system's and the library's."""
    if "no space left" in text:
        return "disk_full"
    if "file does not exist" in text or "not found" in text or "invalid model name" in text:
        return "unknown_model"
    return "refused"


def _store(client: Redis, name: str, pull: Pull) -> None:
    client.set(_key(name), json.dumps(asdict(pull)), ex=RETENTION_SECONDS)


def _key(name: str, part: str = "") -> str:
    return f"pull:{name}{part}"


_DATA = json.loads(Path(__file__).with_name("recommendations.json").read_text(encoding="utf-8"))
OFFER_COUNT = 3


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of Ollama's library: gigabytes to fetch and of memory to have, and the languages it speaks well."""

    name: str
    gigabytes: float
    memory: float
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A program that serves models: how it is installed or started on this system, and where it is explained."""

    name: str
    site: str
    command: str


MODELS = [LocalModel(**{**row, "languages": tuple(row["languages"])}) for row in _DATA["models"]]


def memory_of_machine() -> float:
    """Return the gigabytes of memory this machine has; 8 where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    except (ValueError, OSError, AttributeError):
        return 8.0


def fitting_models(memory: float, language: str) -> list[LocalModel]:
    """Return the largest models that fit into this memory, those that speak the language first; or the smallest."""
    able = [model for model in MODELS if model.memory <= memory] or [min(MODELS, key=lambda model: model.memory)]
    able.sort(key=lambda model: (language not in model.languages, -model.memory))
    return sorted(able[:OFFER_COUNT], key=lambda model: -model.memory)


def programs(system: str = "") -> list[Program]:
    """Return how each program is started on a system, this one by default."""
    system = system or platform.system()
    return [
        Program(row["name"], row["site"], row["commands"].get(system, row["commands"]["Linux"]))
        for row in _DATA["programs"]
    ]
