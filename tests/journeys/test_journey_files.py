"""Fixtures of journeys: their errors by file and path, loading twice, changing and archiving."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tests.journeys.rows import SMALL, ask, assessment, begin, extraction, load, points, say, write_fixture
from tests.support.queries import scalar, scalars
from webapp.journeys.journey_files import FIXTURES, FixtureError, read_fixtures
from webapp.journeys.models import ConversationPoint, Journey

CHANGES: dict[str, tuple[Any, str]] = {
    "not json": ('{"slug": ', "garden.json: line 1, column 10: Expecting value"),
    "not an object": ("[]", "garden.json: the file: Input should be"),
    "bad slug": ({**SMALL, "slug": "A Garden"}, "garden.json: slug: String should match pattern"),
    "no points": ({**SMALL, "points": []}, "garden.json: points: List should have at least 1 item"),
    "unknown name": ({**SMALL, "titel": "x"}, "garden.json: titel: Extra inputs are not permitted"),
    "twice": (
        {**SMALL, "points": SMALL["points"][:1] * 2},
        "garden.json: points: more than one point has the slug place",
    ),
    "empty goal": (
        {**SMALL, "points": [{**SMALL["points"][0], "elicitation_goals": ["ok", " "]}]},
        "garden.json: points[0].elicitation_goals[1]: is empty",
    ),
    "threshold": (
        {**SMALL, "points": [SMALL["points"][0], {**SMALL["points"][1], "confidence_threshold": 1.5}]},
        "garden.json: points[1].confidence_threshold: Input should be less than or equal to 1",
    ),
}

SHIPPED = ["backpain", "doctor-visit", "job-search", "learning-coach", "learning-plan", "life-story", "weekly-review"]


@pytest.mark.parametrize("name", CHANGES)
def test_errors_name_file_and_path(tmp_path, name):
    data, said = CHANGES[name]
    with pytest.raises(FixtureError) as caught:
        read_fixtures(write_fixture(tmp_path, data))
    assert caught.value.problems[0].startswith(said)


def test_every_broken_file_is_named(tmp_path):
    write_fixture(tmp_path, "{", "a.json")
    write_fixture(tmp_path, {**SMALL, "title": ""}, "b.json")
    write_fixture(tmp_path, SMALL, "c.json")
    write_fixture(tmp_path, SMALL, "d.json")
    with pytest.raises(FixtureError) as caught:
        read_fixtures(tmp_path)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["a.json", "b.json", "d.json"]
    assert "the slug of c.json too" in caught.value.problems[-1]


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(FixtureError, match="there is no JSON file"):
        read_fixtures(tmp_path)


def test_shipped_journeys_are_complete():
    fixtures = [fixture for fixture, _ in read_fixtures(FIXTURES)]
    assert [fixture.slug for fixture in fixtures] == SHIPPED
    for fixture in fixtures:
        assert len(fixture.points) >= 4
        for point in fixture.points:
            assert point.elicitation_goals
            assert len(point.example_questions) >= 2
            assert 1 <= len(point.suggested_questions) <= 4
            assert point.completion_criteria
            assert len(point.semantic_keywords) >= 4
            assert all(question.endswith(("?", ".")) for question in point.example_questions)


def test_loading_twice_changes_nothing(app):
    assert load(app).created == SHIPPED
    again = load(app)
    assert (again.created, again.unchanged) == ([], SHIPPED)
    assert load(app, force=True).updated == []


def test_changes_need_force_and_removed_points_are_archived(app, tmp_path):
    load(app, write_fixture(tmp_path))
    data = copy.deepcopy(SMALL)
    data["title"] = "Another garden"
    data["points"] = [{**SMALL["points"][0], "slug": "soil"}, SMALL["points"][1]]
    write_fixture(tmp_path, data)
    assert load(app, tmp_path).differing == ["garden"]
    done = load(app, tmp_path, force=True)
    assert (done.updated, done.archived) == (["garden"], ["garden/place"])
    rows = {row.slug: row for row in scalars(app, select(ConversationPoint))}
    assert {slug: row.is_archived for slug, row in rows.items()} == {"place": True, "wishes": False, "soil": False}
    assert (rows["soil"].position, rows["wishes"].position) == (0, 1)
    assert scalar(app, select(Journey.title)) == "Another garden"
    write_fixture(tmp_path)
    assert load(app, tmp_path, force=True).archived == ["garden/soil"]


def test_a_journey_without_a_file_is_archived_by_force_only(app, tmp_path):
    load(app)
    folder = write_fixture(tmp_path)
    assert load(app, folder).archived == []
    assert load(app, folder, force=True).archived == SHIPPED


def test_a_broken_file_leaves_everything_as_it_was(app, tmp_path):
    load(app, write_fixture(tmp_path))
    write_fixture(tmp_path, {**SMALL, "slug": "other", "points": []}, "other.json")
    with pytest.raises(FixtureError):
        load(app, tmp_path, force=True)
    assert scalars(app, select(Journey.slug)) == ["garden"]


def test_the_command_says_what_it_did(app, tmp_path):
    runner = app.test_cli_runner()
    assert runner.invoke(args=["journeys", "load"]).output == "".join(f"new: {slug}\n" for slug in SHIPPED)
    assert runner.invoke(args=["journeys", "load"]).output == f"unchanged: {', '.join(SHIPPED)}\n"
    broken = runner.invoke(args=["journeys", "load", "--folder", str(write_fixture(tmp_path, "{"))])
    assert broken.exit_code == 1
    assert "nothing was loaded" in broken.output
    assert "garden.json: line 1" in broken.output


# About the journeys that come along, not about how they are kept; each step is a rule of its own in test_turns.
pytestmark = [pytest.mark.once, pytest.mark.slow]

Answers = list[tuple[str, str, str]]
"""Point, what the person says, what is understood."""

PEOPLE: dict[str, Answers] = json.loads(Path(__file__).with_name("people.json").read_text())


@pytest.mark.parametrize("journey", PEOPLE)
def test_it_can_be_played_through(app, client, model, run_jobs, journey):
    load(app)
    model.script(fault={"strict_roles": True})
    conversation_id = begin(client, journey)
    answers = PEOPLE[journey]
    for number, (point, words, understood) in enumerate(answers, 1):
        assert points(client, conversation_id)["next_point"] == point
        task = ask(client, conversation_id, point)
        assert task["status"] == "complete"
        found = extraction(assessment(1, words, says=understood))
        model.script(match="memory_operations", structured=found, times=1)
        say(client, conversation_id, words)
        run_jobs()
        assert points(client, conversation_id)["progress"]["addressed"] == number
    told = client.get(f"/memory/conversation/{conversation_id}/summary/download/?format=json").json
    for item, (_, words, understood) in zip(told["points"], answers, strict=True):
        (quote,) = item["quotes"]
        assert quote["text"].rstrip(".") == words.rstrip(".")
        assert item["statements"] == [] if understood == words.rstrip(".") else [understood]
    assert client.get(f"/memory/conversation/{conversation_id}/summary/status/").json["status"] == "ready"
