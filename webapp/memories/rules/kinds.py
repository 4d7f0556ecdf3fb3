"""The kinds of memory: the one place that lists them."""

from __future__ import annotations

from enum import StrEnum


class MemoryType(StrEnum):
    """The kind of a memory. An instruction says how the user wants to be answered, and always applies within its
    scope.
    """

    FACT = "fact"
    PREFERENCE = "preference"
    ENTITY = "entity"
    PROJECT = "project"
    DECISION = "decision"
    INSTRUCTION = "instruction"


MEMORY_TYPES = tuple(kind.value for kind in MemoryType)
