"""A patient of thirty turns against a model that knows nothing but its prompt.

The model opens what the guide calls the current point and asks for what the guide calls missing; without a guide it
has nothing to go by and says so. The extraction understands a fixed list of sentences, and finds points by the titles
in its prompt. Whether the journey ends well is thus up to what the application puts into the prompts.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from tests.journeys.rows import begin, extraction, load, points, say
from tests.memories.worlds import read_sections

pytestmark = pytest.mark.once  # about how a guide asks, not about how it is kept

PAIN, DAYS, TRIED = "Describe your pain", "What it does to your days", "What you have tried"
VALUES, OPTIONS, STEPS = "Clarify your values and preferences", "Look at the options", "Support and next steps"

# What the patient says, and what it means: (point, statement, values, criteria that it settles).
TALK: list[tuple[str, list[tuple[str, str, dict[str, str], list[int]]]]] = [
    ("Hello, I'm here because of my back.", []),
    ("It is my lower back.", [(PAIN, "Pain in the lower back", {"place": "lower back"}, [1])]),
    ("What does MRI stand for, by the way?", []),
    ("Since May.", [(PAIN, "Since May", {"since": "May"}, [2])]),
    ("Actually it is not my lower back, it is my neck.", [(PAIN, "Pain in the neck", {"place": "neck"}, [1])]),
    ("7", [(PAIN, "7 of 10 on a usual day", {"pain score": "7"}, [])]),
    ("Sitting makes it worse.", [(PAIN, "Sitting makes it worse", {}, [3])]),
    ("Thank you, that is clear.", []),
    ("I cannot lift my children any more.", [(DAYS, "Cannot lift the children", {}, [1])]),
    ("Is coffee bad for the back?", []),
    ("Sleep is fine.", [(DAYS, "Sleeps well", {"sleep": "fine"}, [])]),
    ("I want to garden again.", [(DAYS, "Wants to garden again", {}, [2])]),
    ("Oh, and my mood is low in the evening.", [(DAYS, "Mood is low in the evening", {}, [])]),
    ("I took ibuprofen and it helped a lot.", [(TRIED, "Ibuprofen helped a lot", {"ibuprofen": "helped"}, [1])]),
    (
        "I lied, ibuprofen never helped, it did not help at all.",
        [(TRIED, "Ibuprofen did not help", {"ibuprofen": "no effect"}, [1])],
    ),
    ("What is the capital of Peru?", []),
    ("No", []),
    ("Let me think about something else for a moment.", []),
    ("It matters most to me that I stay independent.", [(VALUES, "Staying independent matters most", {}, [1])]),
    ("And I would rather avoid surgery.", [(VALUES, "Would rather avoid surgery", {}, [2])]),
    ("Tell me a joke, please.", []),
    ("Skip this.", []),
    ("Fine, what else is there?", []),
    ("I will make an appointment next week.", [(STEPS, "Makes an appointment next week", {}, [1])]),
    ("Do you think it will rain?", []),
    ("None", [(STEPS, "Has no question for the clinician", {}, [2])]),
    ("My daughter will drive me, that is support.", [(STEPS, "The daughter drives", {}, [])]),
    ("Is that all?", []),
    ("By the way, my neck hurts in the cold, too.", [(PAIN, "The cold makes it worse", {}, [])]),
    ("Good, thank you.", []),
]
SAID = dict(TALK)


@pytest.mark.slow  # every turn of it is a rule of its own in test_guiding, test_turns and test_merging
def test_a_patient_of_thirty_turns(
    app: Flask, client: ApiClient, model: ServerHandle, run_jobs: Callable, tmp_path: Path
) -> None:
    load(app)
    model.script(match="memory_operations|<guide>", respond=_answer)
    model.script(fault={"strict_roles": True})
    conversation_id = begin(client, "backpain")
    assert len(TALK) == 30
    for words, _ in TALK:
        assert say(client, conversation_id, words)["reply"]["status"] == "complete", words
        run_jobs()

    chats = [call["messages"] for call in model.calls() if call["model"] == "test-chat"]
    assert len(chats) == 30
    assert all(messages[-1]["content"].count("<guide>") == 1 for messages in chats), "the guide is told at every turn"
    heads = {messages[0]["content"].partition("<summaries>")[0].strip() for messages in chats}
    assert len(heads) == 1, "the beginning of the prompt changes with summaries alone"
    assert all("nothing to go by" not in message["content"] for messages in chats for message in messages[1:])
    background = [call for call in model.calls() if call["model"] == "test-background"]
    assert len(background) <= 30, "at most one call in the background for each turn"

    found = points(client, conversation_id)
    assert (found["all_addressed"], found["next_point"], found["progress"]["addressed"]) == (True, None, 5)
    by = {item["title"]: item for item in found["points"]}
    assert by[OPTIONS]["set_aside"] == "skip"
    pain = by[PAIN]
    assert pain["structured_data"] == {"place": "neck", "since": "May", "pain score": "7"}
    assert "Pain in the lower back" not in pain["extracted_points"]
    assert any("lower back" in item["quote"] for item in pain["history"])
    assert "The cold makes it worse" in pain["extracted_points"], "a settled point takes additions"
    short = next(item for item in pain["evidence"] if item["quote"] == "7")
    assert short["question"].endswith("?")
    assert "Mood is low in the evening" in by[DAYS]["extracted_points"]
    assert by[TRIED]["extracted_points"] == ["Ibuprofen did not help"]
    none = next(item for item in by[STEPS]["evidence"] if item["quote"] == "None")
    assert none["question"].endswith("?")
    for item in found["points"]:
        for piece in item["evidence"]:
            assert any(piece["quote"] in words for words in SAID), piece

    status = client.get(f"/memory/conversation/{conversation_id}/summary/status/").json
    assert status["status"] == "ready"
    path = tmp_path / "summary.pdf"
    path.write_bytes(client.get(status["download_url"]).data)
    done = subprocess.run(["pdftotext", "-layout", str(path), "-"], capture_output=True, text=True, check=True)
    printed = re.sub(r"\s+", " ", done.stdout)
    for words in (
        "Pain in the neck",
        "Since May",
        "Would rather avoid surgery",
        "Set aside, as you asked.",
        "For your clinician",
    ):
        assert words in printed, words
    for words in ("Pain in the lower back", "“It is my lower back", "helped a lot"):
        assert words not in printed, words


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    asked = body["messages"][-1]["content"]
    if "# Conversation" in asked:
        return {"structured": _extracted(asked)}
    guide = re.search(r"<guide>(.*?)</guide>", asked, re.DOTALL)
    if guide is None:
        return {"reply": "I have nothing to go by."}
    current = re.search(r"^Current point: (.*)$", guide[1], re.MULTILINE)
    missing = re.search(r"^Still missing:\n· (.*)$", guide[1], re.MULTILINE)
    if current is None:
        return {"reply": "All right."}
    wanted = missing[1].rstrip(".") if missing else "anything else"
    return {"reply": f"I see. About “{current[1]}”: what of this, {wanted}?"}


def _extracted(prompt: str) -> dict[str, Any]:
    """What the sentences in the prompt mean for the points in it; criteria that were met before are not seen again."""
    sections = read_sections(prompt)
    numbers = {row["title"]: row for row in sections["# Open points"]}
    found: dict[str, dict[str, Any]] = {}
    for line in sections["# Conversation"]:
        for title, statement, values, met in SAID.get(line.get("text", ""), []) if "message" in line else []:
            row = numbers.get(title)
            if row is None:
                continue
            criteria = len(row["complete_when"])
            item = found.setdefault(
                title,
                {
                    "point_number": row["point"],
                    "is_addressed": True,
                    "confidence_score": 0.9,
                    "extracted_points": [],
                    "relevant_quotes": [],
                    "structured_data": [],
                    "criteria_met": [],
                    "corrects": [],
                },
            )
            item["extracted_points"].append(statement)
            item["relevant_quotes"].append(line["text"])
            item["structured_data"] += [{"name": name, "value": value} for name, value in values.items()]
            item["criteria_met"] += [number for number in met if number <= criteria]
    for item in found.values():
        item["is_addressed"] = bool(item["criteria_met"])
    return extraction(*found.values())
