"""The kinds of memory: the one place that lists them, with what each is called and how important it is."""

from enum import StrEnum
from typing import Self

from webapp.i18n.marks import N_


class MemoryType(StrEnum):
    """The kind of a memory. An instruction says how the user wants to be answered, and always applies within its
    scope.

    `label` is what people read; `importance` (0..1) is that of a statement learned; `is_offered` says whether a model
    chooses it: the others follow from whom a statement is about.
    """

    label: str
    importance: float
    is_offered: bool

    FACT = "fact", N_("fact"), 0.6
    PREFERENCE = "preference", N_("preference"), 0.6
    ENTITY = "entity", N_("person or thing"), 0.6, False
    PROJECT = "project", N_("project"), 0.7
    DECISION = "decision", N_("decision"), 0.7
    INSTRUCTION = "instruction", N_("instruction"), 0.8, False

    def __new__(cls, value: str, label: str, importance: float, is_offered: bool = True) -> Self:  # noqa: FBT001, FBT002
        """Return a member with its properties."""
        member = str.__new__(cls, value)
        member._value_, member.label, member.importance, member.is_offered = value, label, importance, is_offered
        return member


MEMORY_TYPES = tuple(kind.value for kind in MemoryType)
