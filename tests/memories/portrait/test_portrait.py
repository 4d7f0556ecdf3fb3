"""The portrait: what may stand in it, how it is made, and how it follows the memories."""

import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, Person, csrf_token
from tests.support.queries import scalars
from webapp.background.queues import enqueue
from webapp.db.base import db, now
from webapp.llm.errors import ModelError
from webapp.memories.portrait import generation, service, subjects
from webapp.memories.portrait.generation import WrittenPortrait, sentences_of
from webapp.memories.portrait.models import Portrait
from webapp.memories.schemas import KnownItem
from webapp.transfer.account_tables import PARTS

CASES = json.loads(Path(__file__).with_name("sentences.json").read_text(encoding="utf-8"))

DAUGHTER, BOAT, WORK = "I have a daughter, Ada", "I own a boat called Kestrel", "I work as a nurse in Leeds since 2019"
ADA, KESTREL = "You have a daughter, Ada.", "You own a boat, Kestrel."
PLACE = "/api/memories/portrait"


def known_items(*contents: str) -> list[KnownItem]:
    return [KnownItem(number, content, 1, "fact", 0.5) for number, content in enumerate(contents, 11)]


def portrait_answer(*sentences: tuple[str, list[int]]) -> dict[str, Any]:
    return {"sentences": [{"text": text, "notes": notes} for text, notes in sentences]}


def add(client: ApiClient, content: str) -> int:
    answer = client.post("/api/memories", json={"memory_type": "fact", "content": content})
    assert answer.status_code == 201, answer.text
    return answer.json["memory_id"]


def answers(model: ServerHandle, *sentences: tuple[str, list[int]], **more: Any) -> None:
    model.script(match="portrait", structured=portrait_answer(*sentences), **more)


NONE = {"sentences": [], "gone": [], "made_at": None, "is_current": False, "is_coming": False, "problem": None}


def read(client: ApiClient, place: str = PLACE) -> dict[str, Any]:
    """Return the portrait; NONE while there is none."""
    answer = client.get(place)
    return dict(NONE) if answer.status_code == 204 else answer.json


def texts(client: ApiClient) -> list[str]:
    return [sentence["text"] for sentence in read(client)["sentences"]]


def numbers(client: ApiClient, *contents: str) -> list[int]:
    """The numbers under which the model is shown memories: pinned, keyed and recent ones, the newest first."""
    rows = client.get("/api/memories").json["memories"]
    order = [row["content"] for row in sorted(rows, key=lambda row: row["memory_id"], reverse=True)]
    return [order.index(content) + 1 for content in contents]


@pytest.mark.parametrize(("text", "notes", "stands"), CASES["a sentence stands"])
def test_a_sentence_stands_if_its_notes_say_it(text, notes, stands):
    answer = WrittenPortrait.model_validate(portrait_answer((text, notes)))
    assert bool(sentences_of(answer, known_items(DAUGHTER, BOAT, WORK))) is stands


@pytest.mark.parametrize(
    ("text", "notes", "memories"),
    [
        ("You have a daughter, Ada.", [2], [11]),  # a model that counts badly
        ("You have a daughter, Ada, and own a boat, Kestrel.", [2, 3], [11, 12]),
        ("You have a daughter, Ada, and own a boat, Kestrel.", [3], []),  # it named one, and no note says all of it
        ("You have a daughter, Ada.", [1, 2, 3], [11]),  # one that names them all
    ],
)
def test_a_sentence_rests_on_the_notes_that_have_its_words(text, notes, memories):
    answer = WrittenPortrait.model_validate(portrait_answer((text, notes)))
    found = sentences_of(answer, known_items(DAUGHTER, BOAT, WORK))
    assert [number for item in found for number, _ in item["memories"]] == memories


@pytest.mark.parametrize(
    ("note", "text", "wording"), CASES["test_a_model_that_is_not_trusted_changes_no_more_than_short_words"]
)
def test_a_model_that_is_not_trusted_changes_no_more_than_short_words(note, text, wording):
    answer = WrittenPortrait.model_validate(portrait_answer((text, [1])))
    found = sentences_of(answer, known_items(note), is_trusted=False)
    assert found == [{"text": wording, "memories": [[11, 1]]}]


@pytest.mark.usefixtures("untrusted_model")
def test_the_grade_of_the_model_decides_at_night_too(app, client, model, run_jobs, make_user):
    make_user()
    add(client, "My mother lives in Leeds")
    answers(model, ("You live in Leeds.", [1]))
    with app.app_context():
        enqueue("tidying")
    run_jobs()
    assert texts(client) == ["“My mother lives in Leeds”"], "whoever has changed gets one"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (
            [("You own a boat, Kestrel. Bert is dead. Ada is your daughter.", [1])],
            [("You own a boat, Kestrel.", [[12, 1]]), ("Ada is your daughter.", [[11, 1]])],
        ),
        ([("You own a boat.", [2, 2, 9]), (" You own a  boat.", [1])], [("You own a boat.", [[12, 1]])]),
    ],
    ids=["several in one", "one said twice"],
)
def test_each_sentence_is_there_once_with_its_memories_and_their_revisions(said, found):
    answer = WrittenPortrait.model_validate(portrait_answer(*said))
    expected = [{"text": text, "memories": memories} for text, memories in found]
    assert sentences_of(answer, known_items(DAUGHTER, BOAT, WORK)) == expected


def test_it_is_written_read_and_written_anew_with_what_differs(client, api, make_user, model, run_jobs):
    assert client.get(PLACE).status_code == 204
    assert client.post(PLACE).status_code == 409, "nothing is known yet"
    ada, boat = add(client, DAUGHTER), add(client, BOAT)
    first, second = numbers(client, DAUGHTER, BOAT)
    answers(model, (ADA, [first]), (KESTREL, [second]), ("You fly.", [first]))
    asked = client.post(PLACE)
    assert asked.status_code == 202 and asked.json["is_coming"]
    run_jobs()
    found = read(client)
    assert [(item["text"], item["memory_ids"], item["is_new"]) for item in found["sentences"]] == [
        (ADA, [ada], False),
        (KESTREL, [boat], False),
    ]
    for other in (make_user(), make_user(is_admin=True)):
        assert read(api(other))["sentences"] == []
    assert found["is_current"] and not found["is_coming"] and found["made_at"]
    call = next(call for call in model.calls() if call["schema"] == "portrait")
    assert f"{first}. {DAUGHTER}" in call["messages"][-1]["content"]
    add(client, WORK)
    assert not read(client)["is_current"]
    first, work = numbers(client, DAUGHTER, WORK)
    answers(model, (ADA, [first]), ("You are a nurse in Leeds.", [work]))
    client.post(PLACE)
    run_jobs()
    found = read(client)
    shown = [(item["text"], item["is_new"]) for item in found["sentences"]]
    assert shown == [(ADA, False), ("You are a nurse in Leeds.", True)]
    assert [item["text"] for item in found["gone"]] == [KESTREL]


CHANGES = {
    "Ada": {"content": "I have a daughter, Eve"},
    "Bert": {"is_archived": True},
    "Cleo": {"valid_to": "2020-01-01T00:00:00Z"},
    "Dora": None,  # is forgotten
}


def stored_text(app: Flask, user: Person) -> str:
    (row,) = scalars(app, db.select(Portrait).filter_by(user_id=user.user_id))
    return str([row.sentences, row.before])


def export_text(app: Flask, user: Person) -> str:
    with app.app_context():
        return str(list(PARTS["portrait.jsonl"].read(user.user_id)))


def test_what_held_until_yesterday_is_told_no_more(client, user, model, run_jobs, monkeypatch):
    today = f"{now():%Y-%m-%d}"
    for content, until in ((BOAT, None), ("I am in Bern this week", today)):
        client.post("/api/memories", json={"memory_type": "fact", "content": content, "until": until})
    boat, bern = numbers(client, BOAT, "I am in Bern this week")
    answers(model, (KESTREL, [boat]), ("You are in Bern this week.", [bern]))
    client.post(PLACE)
    run_jobs()
    assert texts(client) == [KESTREL, "You are in Bern this week."]
    monkeypatch.setattr(service, "now", lambda: now() + timedelta(days=2))
    assert texts(client) == [KESTREL]


def test_with_its_memory_a_sentence_goes_at_once(app, client, user, model, run_jobs):
    boat, sister = add(client, BOAT), "I have a sister, {}"
    ids = {name: add(client, sister.format(name)) for name in CHANGES}
    places = dict(zip(CHANGES, numbers(client, *map(sister.format, CHANGES)), strict=True))
    (place,) = numbers(client, BOAT)
    alone = [(f"You have a sister, {name}.", [number]) for name, number in places.items()]
    answers(model, (KESTREL, [place]), *alone, ("You own a boat and have a sister.", [place, *places.values()]))
    client.post(PLACE)
    run_jobs()
    left = [KESTREL, *(text for text, _ in alone), "You own a boat and have a sister."]
    assert texts(client) == left
    for name, change in CHANGES.items():
        left = [text for text in left if name not in text and text != "You own a boat and have a sister."]
        assert name in export_text(app, user)
        path = f"/api/memories/{ids[name]}"
        done = client.put(path, json=change) if change else client.delete(path)
        assert done.status_code == 200 and texts(client) == left, name
        assert name not in export_text(app, user) and KESTREL in export_text(app, user), name
        assert change or name not in stored_text(app, user)
    for memory in client.get("/api/memories").json["memories"]:
        client.put(f"/api/memories/{memory['memory_id']}", json={"is_archived": True})
    with app.app_context():
        assert generation.make_portrait(subjects.Person(user.user_id)) is None
    assert boat and stored_text(app, user) == "[[], []]", "where nothing is known any more no sentence stays"


@pytest.mark.parametrize(
    "lines",
    [
        (("Du hast eine Tochter, Ada.", [1]), ("Du besitzt ein Boot, Kestrel.", [2])),
        (("Deine Tochter ist Ada.", [1]), ("Ada ist deine Tochter.", [1])),
    ],
)
def test_a_usual_first_word_is_no_name_in_any_language(lines):
    answer = WrittenPortrait.model_validate(portrait_answer(*lines))
    notes = known_items("Ich habe eine Tochter, Ada", "Ich besitze ein Boot namens Kestrel")
    assert [item["text"] for item in sentences_of(answer, notes)] == [text for text, _ in lines]


def test_an_answer_that_does_not_end_counts_as_far_as_it_goes(client, model, run_jobs):
    add(client, DAUGHTER)
    cut = json.dumps(portrait_answer((ADA, [1]), (ADA, [1]))).removesuffix("]}") + ', {"text": 7}, {"text": "You h'
    model.script(match="portrait", reply=cut, finish_reason="length")
    client.post(PLACE)
    run_jobs()
    found = read(client)
    assert [sentence["text"] for sentence in found["sentences"]] == [ADA]
    assert found["is_current"] and not found["problem"]


def test_what_is_forgotten_while_it_is_written_is_not_in_it(client, model, monkeypatch, run_jobs):
    ada, _ = add(client, DAUGHTER), add(client, BOAT)
    first, second = numbers(client, DAUGHTER, BOAT)
    answers(model, (ADA, [first]), (KESTREL, [second]))
    judge = generation.sentences_of

    def forget_first(*given: Any) -> list[dict[str, Any]]:
        client.delete(f"/api/memories/{ada}")
        return judge(*given)

    monkeypatch.setattr(generation, "sentences_of", forget_first)
    client.post(PLACE)
    run_jobs()
    assert texts(client) == [KESTREL]
    assert not read(client)["is_current"], "the night writes it anew"


def test_a_model_that_fails_leaves_the_old_one_if_there_is_one_and_says_so(app, client, user, model, run_jobs):
    add(client, DAUGHTER)
    for sentences in ([], [ADA]):
        model.script(match="portrait", fault={"http_status": 500}, times=None)
        client.post(PLACE)
        with app.app_context(), pytest.raises(ModelError):
            generation.make_portrait(subjects.Person(user.user_id))
        found = read(client)
        assert texts(client) == sentences and found["problem"] and not found["is_coming"]
        model.reset()
        answers(model, (ADA, [1]))
        run_jobs()


def test_a_worker_killed_before_it_stores_loses_nothing_and_a_second_run_asks_nothing(
    app, client, user, model, monkeypatch
):
    add(client, DAUGHTER)
    answers(model, (ADA, [1]), times=2)
    with monkeypatch.context() as patch, app.app_context(), pytest.raises(SystemExit):
        patch.setattr(generation, "sentences_of", lambda *_: sys.exit(9))
        generation.make_portrait(subjects.Person(user.user_id))
    assert texts(client) == []
    with app.app_context():
        assert generation.make_portrait(subjects.Person(user.user_id)) == 1
        asked = len(model.calls())
        assert generation.make_portrait(subjects.Person(user.user_id)) is None
    assert texts(client) == [ADA] and len(model.calls()) == asked


def test_without_memory_or_a_model_nobody_is_asked(app, client, model, monkeypatch):
    add(client, DAUGHTER)
    with monkeypatch.context() as patch:
        patch.setattr(service, "has_background_model", lambda: False)
        refused = client.post(PLACE)
    assert refused.status_code == 409 and "No language model" in refused.json["detail"]
    assert not read(client)["is_coming"], "and nothing waits"
    client.put("/api/account", json={"settings": {"memory_enabled": False}})
    refused = client.post(PLACE)
    assert refused.status_code == 409 and "Memory is off" in refused.json["detail"]
    with app.app_context():
        assert generation.make_portrait(subjects.Person(client.get("/api/account").json["user_id"])) is None
    assert not model.calls()


def test_the_page(client, model, run_jobs, browser):
    assert re.search('known about you yet<.*"/memories/new"', browser.get("/memories/portrait").text, re.S)
    ada = add(client, DAUGHTER)
    page = browser.get("/memories/portrait").text
    assert "Not written yet" in page
    answers(model, (ADA, [1]))
    form = {"csrf_token": csrf_token(page)}
    coming = browser.post("/memories/portrait", data=form, headers={"HX-Request": "true"}).text
    assert "It is being written" in coming and 'hx-trigger="every 2s"' in coming and "<html" not in coming
    run_jobs()
    page = browser.get("/memories/portrait").text
    assert ADA in page and f'href="#memory-{ada}"' in page and f'id="memory-{ada}"' in page
    assert f"/memories/{ada}/edit" in page and "every 2s" not in page
    assert browser.post("/memories/portrait", data=form).status_code == 303
