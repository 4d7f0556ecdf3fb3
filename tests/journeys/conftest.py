"""A small journey of two points, loaded."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from tests.journeys.rows import begin, extraction, load, say, write_fixture
from webapp.journeys import report_fonts

LATIN = frozenset({*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x2010, 0x2027)})


@pytest.fixture(scope="session", autouse=True)
def _fonts_cut_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Most summaries are in Latin letters: their fonts are cut to all of those once, which takes a second otherwise."""
    made: dict[report_fonts.Face, Path] = {}
    cut = report_fonts.write_subsets

    def cut_once(
        faces: Iterable[report_fonts.Face], points: set[int], folder: Path
    ) -> Iterator[tuple[report_fonts.Face, Path]]:
        if not points <= LATIN:
            yield from cut(faces, points, folder)
            return
        for face in faces:
            if face not in made:
                ((_, made[face]),) = cut([face], set(LATIN), tmp_path_factory.mktemp("font"))
            yield face, made[face]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_fonts, "write_subsets", cut_once)
        yield


@pytest.fixture
def garden(app: Flask, tmp_path: Path) -> Path:
    """The folder from which the small journey was loaded."""
    folder = write_fixture(tmp_path / "fixtures")
    load(app, folder)
    return folder


@pytest.fixture
def guided(garden: Path, client: ApiClient) -> int:
    """A conversation that follows the small journey."""
    return begin(client)


@pytest.fixture
def learn(client: ApiClient, model: ServerHandle, run_jobs: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """`learn(conversation_id, words, *found)`: somebody says this, and the extraction finds that about the points."""

    def work(conversation_id: int, words: str, *found: dict[str, Any]) -> dict[str, Any]:
        model.script(match="memory_operations", structured=extraction(*found), times=1)
        said = say(client, conversation_id, words)
        run_jobs()
        return said

    return work
