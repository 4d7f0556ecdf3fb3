"""Every shipped journey is played through by a scripted person, from the first question to the summary."""

from collections.abc import Callable

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from tests.journeys.rows import ask, assessment, begin, extraction, load, points, say

# About the journeys that come along, not about how they are kept; each step is a rule of its own in test_turns.
pytestmark = [pytest.mark.once, pytest.mark.slow]

Answers = list[tuple[str, str, str]]
"""Point, what the person says, what is understood."""

PEOPLE: dict[str, Answers] = {
    "weekly-review": [
        ("went-well", "The talk on Thursday went well, I had slept before it.", "The talk on Thursday went well"),
        ("was-hard", "Nothing, really.", "Nothing was hard"),
        ("take-along", "I should sleep before anything important.", "Sleep before anything important"),
        ("next-week", "The tax papers. I begin on Monday after lunch.", "Tax papers, beginning on Monday after lunch"),
    ],
    "life-story": [
        ("beginnings", "She was born in Tarnów in 1931, the third daughter of Rosa.", "Born in Tarnów in 1931 to Rosa"),
        ("turning-points", "In 1956 she left with one suitcase. After that she never spoke Polish.", "Left in 1956"),
        ("people", "Without her sister Hanna there would be no story. Hanna paid the ticket.", "Her sister Hanna paid"),
        ("handed-on", "She always said: bread first, then worry.", "Bread first, then worry"),
    ],
    "job-search": [
        ("looking-for", "Bookkeeping, three days a week, never on weekends.", "Bookkeeping, three days, no weekends"),
        ("strengths", "I brought our closing from ten days down to four.", "Closing down from ten days to four"),
        ("market", "The hospital, and I could ask Petra who works there.", "The hospital; ask Petra"),
        ("next-steps", "I call Petra on Tuesday.", "Calls Petra on Tuesday"),
    ],
    "doctor-visit": [
        ("reason", "My knee. I see Dr Osei on the third.", "The knee; Dr Osei on the third"),
        ("course", "Since the summer, a six on bad days.", "Since the summer, 6 on bad days"),
        ("background", "None, and no allergies.", "No medicines, no allergies"),
        ("questions", "Whether I can still hike in spring.", "Can they still hike in spring?"),
    ],
    "learning-plan": [
        ("topic", "Bread. In four weeks I bake a rye loaf for my neighbours.", "Bake a rye loaf for the neighbours"),
        ("start", "I tried once, it was a stone.", "Tried once, it was a stone"),
        ("time", "Saturday mornings.", "Saturday mornings"),
        ("check", "The starter tomorrow, and a photo every week for Jo.", "Starter tomorrow, a photo a week for Jo"),
    ],
}


@pytest.mark.parametrize("journey", PEOPLE)
def test_it_can_be_played_through(
    app: Flask, client: ApiClient, model: ServerHandle, run_jobs: Callable, journey: str
) -> None:
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
