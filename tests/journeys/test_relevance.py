"""The vectors of points: owed from the tables alone, whatever was away when a journey or the model changed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flask import Flask
from sqlalchemy import select

from tests.journeys.rows import SMALL, load, write_fixture
from tests.support.queries import scalars
from webapp.db.base import db, write_transaction
from webapp.journeys import relevance
from webapp.journeys.models import ConversationPoint, Journey, PointVectors
from webapp.llm.errors import ModelSilent
from webapp.shell import upkeep

POINTS = len(SMALL["points"])


def models(app: Flask) -> list[str]:
    return list(scalars(app, select(PointVectors.model)))


@pytest.fixture
def swept(app: Flask, run_jobs: Callable[..., list[Any]]) -> Callable[..., int]:
    """Let a minute pass, sweep, and run what is queued; how many journeys were embedded."""

    def sweep(**options: Any) -> int:
        app.extensions["redis"].flushdb()
        with app.app_context():
            upkeep.sweep()
        return len([job for job in run_jobs(**options) if job.meta["name"] == "point_vectors"])

    return sweep


def test_they_are_made_once_however_often_redis_is_emptied(app, garden, swept):
    assert swept() == 1
    assert len(models(app)) == POINTS
    assert swept() == 0


def test_they_are_made_once_the_embedder_is_back(app, garden, swept, monkeypatch):
    def away(*_given: Any) -> None:
        raise ModelSilent

    with monkeypatch.context() as patched, app.app_context():
        patched.setattr(type(relevance.embedder()), "embed_passages", away)
        assert swept(failures=True) == 1
    assert models(app) == []
    assert swept() == 1
    assert len(models(app)) == POINTS


def test_the_name_of_their_model_may_be_as_long_as_any(app, garden, swept, monkeypatch):
    name = "library/" + "m" * 192
    with app.app_context():
        monkeypatch.setattr(type(relevance.embedder()), "model", name)
    assert swept() == 1
    assert set(models(app)) == {name}


def test_another_model_or_other_words_make_them_anew(app, garden, tmp_path, swept):
    swept()
    with app.app_context(), write_transaction():
        db.session.query(PointVectors).update({"model": "another", "digest": ""})
    assert swept() == 1
    assert "another" not in models(app)
    changed = SMALL | {"points": [point | {"title": "Elsewhere"} for point in SMALL["points"]]}
    load(app, write_fixture(tmp_path / "changed", changed), force=True)
    assert models(app) == []
    assert swept() == 1


def test_a_point_written_anew_while_it_is_embedded_is_owed_again(app, garden, swept, monkeypatch):
    def change(_client: object, lines: list[str]) -> Any:
        with write_transaction():
            db.session.query(ConversationPoint).update({"title": "Elsewhere"})
        return np.zeros((len(lines), 8), dtype=np.float32)

    with app.app_context():
        journey_id = db.session.scalars(select(Journey.journey_id)).one()
        monkeypatch.setattr(type(relevance.embedder()), "embed_passages", change)
        relevance.embed_points(journey_id)
        assert list(relevance.journeys_awaiting_vectors()) == [journey_id]
