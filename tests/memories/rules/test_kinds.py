"""The kinds of memory, which stand in one place."""

from pydantic import BaseModel

from webapp.i18n import LANGUAGES, SOURCE
from webapp.i18n.catalogs import read
from webapp.memories.rules.kinds import MEMORY_TYPES, MemoryType
from webapp.memories.rules.statements import KINDS
from webapp.memories.schemas import MemoryKind
from webapp.memories.showing import texts


class Asked(BaseModel):
    kind: MemoryKind


def test_the_api_the_pages_and_the_model_take_them_from_there() -> None:
    assert Asked.model_json_schema()["properties"]["kind"]["enum"] == list(MEMORY_TYPES)
    assert dict(texts.KINDS) == {kind.value: kind.label for kind in MemoryType}
    assert {kind.value for kind in MemoryType} - {kind.value for kind in KINDS} == {"entity", "instruction"}
    assert all(0 < kind.importance <= 1 for kind in MemoryType)
    assert isinstance(Asked(kind="fact").kind, str) and f"{MemoryType.FACT}" == "fact"


def test_each_is_called_something_in_every_language() -> None:
    for code in LANGUAGES:
        if code != SOURCE:
            known = read(code)
            assert all(known.get(kind.label).string for kind in MemoryType), code
