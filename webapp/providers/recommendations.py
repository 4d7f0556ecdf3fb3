"""Models that Ollama can fetch, and the commands that start a server on this machine, as `recommendations.json` lists
them."""

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path

_DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
OFFERED = 3


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of Ollama's library: what there is to fetch, the memory the machine should have, both in gigabytes, and
    the languages it speaks well."""

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
    """Return the largest models that fit into this memory, the largest first, those that speak the language before
    others; the smallest model if none fits."""
    able = [model for model in MODELS if model.memory <= memory] or [min(MODELS, key=lambda model: model.memory)]
    able.sort(key=lambda model: (language not in model.languages, -model.memory))
    return sorted(able[:OFFERED], key=lambda model: -model.memory)


def programs(system: str = "") -> list[Program]:
    """Return how each program is started on a system, this one by default."""
    system = system or platform.system()
    return [
        Program(row["name"], row["site"], row["commands"].get(system, row["commands"]["Linux"]))
        for row in _DATA["programs"]
    ]
