"""Lets Ollama fetch a model, and resume; Redis knows how far it has got, so that every process can stop it."""

import json
import logging
import os
import platform
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from webapp.errors import Conflict, Invalid, NotFound, require
from webapp.extensions import redis
from webapp.i18n.marks import N_
from webapp.providers.connection_check import root_of
from webapp.providers.schemas import PullOut

log = logging.getLogger(__name__)

ALIVE_SECONDS = 75
"""A pull that has reported nothing for so long has died with its process."""
SILENT_SECONDS = 60.0
REPORT_SECONDS = 0.5
RETENTION_SECONDS = 86_400
PROBLEMS = N_(
    {
        "unknown_model": "Ollama’s library has no model of this name.",
        "disk_full": "The disk is full. Make room, then resume: what has been fetched is kept.",
        "interrupted": "The download broke off. Resume to continue where it stopped.",
        "refused": "Ollama could not fetch this model.",
    }
)


def get_pull(name: str) -> PullOut:
    """Return the last pull on a server. Raises NotFound before any."""
    return require(find_pull(name), "No model has been asked for.")


def find_pull(name: str) -> PullOut | None:
    """Return the last pull on a server, if any; one whose process has died is interrupted."""
    stored, alive = redis().mget(_key(name), _key(name, ":alive"))  # at one moment: it may just be ending
    if not isinstance(stored, bytes):
        return None
    pull = PullOut.model_validate_json(stored)
    return _failed(pull, "interrupted") if pull.state == "running" and not alive else pull


def start_pull(places: Mapping[str, str], name: str, model: str) -> PullOut:
    """Fetch a model in a thread, if not fetched yet. Raises NotFound for another server, Conflict during another."""
    if name not in places:
        raise NotFound("There is no such server.")
    if not model or len(model) > 200 or not model.isprintable():
        raise Invalid.field("model", "is not the name of a model")
    client, previous = redis(), find_pull(name)
    is_resumed = previous is not None and previous.model == model
    done, total = (previous.completed, previous.total) if previous is not None and is_resumed else (0, 0)
    pull = PullOut(model=model, state="running", completed=done, total=total, problem="")
    is_new = client.set(_key(name, ":alive"), model, nx=True, ex=ALIVE_SECONDS)
    if not is_new and not is_resumed:
        raise Conflict("Another model is being fetched. Wait for it, or cancel it.")
    client.delete(_key(name, ":stop"))  # cancelled, and not stopped yet: it goes on
    if not is_new:
        return pull
    _store(client, name, pull)
    threading.Thread(target=_run, args=(client, name, places[name], pull), name="pull", daemon=True).start()
    return pull


def cancel_pull(name: str) -> None:
    """Stop fetching, with what Ollama says next; it keeps what has been fetched. Raises NotFound before any pull."""
    client, pull = redis(), get_pull(name)
    if pull.state in ("running", "failed"):
        client.set(_key(name, ":stop"), 1, ex=RETENTION_SECONDS)
        _store(client, name, pull.model_copy(update={"state": "cancelled", "problem": ""}))


def _run(client: Redis, name: str, url: str, pull: PullOut) -> None:
    try:
        pull = _follow(client, name, pull, _lines(url, pull.model))
        _store(client, name, pull)
    except RedisError as error:
        log.warning("pull is not reported", extra={"error": type(error).__name__})
    finally:
        client.delete(_key(name, ":alive"), _key(name, ":stop"))


def _follow(client: Redis, name: str, pull: PullOut, lines: Iterator[dict[str, Any]]) -> PullOut:
    """Report what Ollama says until it is done; returns how that ended."""
    import httpx2  # noqa: PLC0415 - for an installation that fetches models

    layers: dict[str, tuple[int, int]] = {}
    reported = 0.0
    try:
        for line in lines:
            if "error" in line:
                return _failed(pull, _problem(str(line["error"])))
            if line.get("status") == "success":
                return pull.model_copy(update={"state": "done", "completed": pull.total})
            if isinstance(line.get("total"), int):
                layers[str(line.get("digest"))] = (int(line.get("completed") or 0), line["total"])
                done, total = (sum(column) for column in zip(*layers.values(), strict=True))
                reported = reported if total == pull.total else 0.0  # a new layer is told at once
                pull = pull.model_copy(update={"completed": done, "total": total})
            if time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                if client.exists(_key(name, ":stop")):
                    return pull.model_copy(update={"state": "cancelled"})
                client.expire(_key(name, ":alive"), ALIVE_SECONDS)
                _store(client, name, pull)
    except (httpx2.HTTPError, ValueError) as error:
        log.info("pull broke off", extra={"error": type(error).__name__})
    return _failed(pull, "interrupted")


def _failed(pull: PullOut, problem: str) -> PullOut:
    return pull.model_copy(update={"state": "failed", "problem": problem})


def _lines(url: str, model: str) -> Iterator[dict[str, Any]]:
    """Yield what Ollama says while it fetches a model; a refusal is an answer, too."""
    import httpx2  # noqa: PLC0415 - as above

    body = {"model": model, "stream": True}
    # No proxy from the environment: this is about this machine.
    options: dict[str, Any] = {"json": body, "timeout": SILENT_SECONDS, "trust_env": False}
    with httpx2.stream("POST", f"{root_of(url)}/api/pull", **options) as answer:
        for line in map(json.loads, answer.iter_lines()):
            if isinstance(line, dict):
                yield line


def _problem(text: str) -> str:
    """Return what Ollama's error means: its texts are the operating system's and the library's."""
    if "no space left" in text:
        return "disk_full"
    if "file does not exist" in text or "not found" in text or "invalid model name" in text:
        return "unknown_model"
    return "refused"


def _store(client: Redis, name: str, pull: PullOut) -> None:
    client.set(_key(name), pull.model_dump_json(), ex=RETENTION_SECONDS)


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
