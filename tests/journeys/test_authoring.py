"""Journeys written in the application: drafts, versions, roll back, whose they are, files in and out."""

import copy
import html
import json
import re
from typing import Any

import pytest
import yaml

from testkit.people import ApiClient, csrf_token, page_token, post_form
from tests.conversations.test_api import assert_problem
from tests.journeys.rows import SMALL, begin, load, points
from webapp.accounts.service import delete_user
from webapp.db.base import write_transaction
from webapp.journeys import authoring

SHORT = {
    "title": "My week",
    "description": "A look back.",
    "system_prompt": "You help somebody to look back.",
    "points": [
        {"title": "What went well", "elicitation_goals": ["One thing"], "completion_criteria": ["One is named"]}
    ],
}


def make(client: ApiClient, body: dict[str, Any] = SHORT, status: int = 201, query: str = "") -> Any:
    answer = client.post(f"/api/journeys{query}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json


def slugs(client: ApiClient) -> list[str]:
    return [item["slug"] for item in client.get("/api/journeys").json["journeys"]]


def test_a_draft_is_published_changed_and_rolled_back(admin, client):
    draft = make(admin)
    assert (draft["slug"], draft["status"], draft["is_private"]) == ("my-week", "draft", False)
    assert draft["points"][0]["slug"] == "what-went-well"
    assert slugs(admin) == [] and client.get("/api/journeys/my-week").status_code == 404
    assert admin.get("/api/journeys/my-week").json["points"] == draft["points"]
    assert_problem(client.post("/api/conversations", json={"journey": "my-week"}), 404)
    first = admin.post("/api/journeys/my-week/publish").json
    assert (first["status"], first["published_version"], first["has_draft"]) == ("published", 1, False)
    conversation = begin(client, "my-week")
    changed = copy.deepcopy(SHORT)
    changed["points"].append({**SHORT["points"][0], "title": "What was hard"})
    saved = admin.put("/api/journeys/my-week", json=changed).json
    assert (saved["has_draft"], len(saved["points"]), len(points(client, conversation)["points"])) == (True, 2, 1)
    assert admin.post("/api/journeys/my-week/publish", json={}).json["published_version"] == 2
    assert points(client, conversation)["progress"]["total"] == 2
    back = admin.post("/api/journeys/my-week/publish", json={"version": 1}).json
    assert [(item["number"], item["is_published"]) for item in back["versions"]] == [(2, False), (1, True)]
    assert points(client, conversation)["progress"]["total"] == 1
    assert_problem(admin.post("/api/journeys/my-week/publish", json={"version": 9}), 404)
    assert admin.delete("/api/journeys/my-week").status_code == 204
    assert slugs(client) == [] and points(client, conversation)["progress"]["total"] == 1
    assert_problem(admin.get("/api/journeys/my-week"), 404)
    assert admin.post("/api/journeys/my-week/publish", json={}).json["status"] == "published"


def test_ones_own_journey_is_nobody_elses(app, client, admin, user):
    assert make(client)["is_private"] is True
    client.post("/api/journeys/my-week/publish", json={})
    assert slugs(client) == ["my-week"] and slugs(admin) == []
    begin(client, "my-week")
    assert_problem(admin.post("/api/conversations", json={"journey": "my-week"}), 404)
    assert make(admin)["slug"] == "my-week-2", "that the name is taken is not to be learned"
    with app.app_context(), write_transaction():
        delete_user(user.user_id)
    assert make(admin, {**SHORT, "slug": "my-week"})["slug"] == "my-week"


def test_everyones_journeys_are_the_administrators(garden, client, admin):
    for answer in (
        client.put("/api/journeys/garden", json=SHORT),
        client.delete("/api/journeys/garden"),
        client.post("/api/journeys/garden/publish", json={}),
    ):
        assert_problem(answer, 403)
    copied = client.post("/api/journeys/garden/duplicate").json
    assert (copied["slug"], copied["title"], copied["is_private"]) == ("a-garden-copy", "A garden (copy)", True)
    assert_problem(admin.put("/api/journeys/garden", json=SHORT), 409)
    assert_problem(make(client, {**SHORT, "slug": "garden"}, 409) and client.get("/api/journeys/nowhere"), 404)


def test_mistakes_name_the_field(client):
    for change, loc in (
        ({"title": ""}, "title"),
        ({"points": []}, "points"),
        ({"points": [{**SHORT["points"][0], "elicitation_goals": []}]}, "elicitation_goals"),
        ({"points": [{**SHORT["points"][0], "colour": "red"}]}, "colour"),
        ({"points": [{**SHORT["points"][0], "slug": "well"}] * 2}, "points"),
    ):
        found = make(client, {**SHORT, **change}, 422)
        assert loc in str(found["errors"][0]["loc"]), found


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_out_and_in_again_is_the_same(admin, form):
    make(admin, SMALL)
    text = admin.get(f"/api/journeys/garden/export?format={form}").text
    assert (json.loads if form == "json" else yaml.safe_load)(text) == SMALL
    admin.delete("/api/journeys/garden")
    again = admin.post("/api/journeys/import", json={"text": text}).json
    assert (again["slug"], again["points"]) == ("garden", SMALL["points"])
    broken = admin.post("/api/journeys/import", json={"text": text.replace("A garden", "")})
    assert_problem(broken, 422)
    assert "title" in broken.text
    for costly in ("a: &a {b: 1}\nc: {<<: [*a, *a]}", "a: 1" + ":1" * 100):  # a few levels more take all memory
        assert "text: cannot be read" in admin.post("/api/journeys/import", json={"text": costly}).json["detail"]


def test_loading_files_never_touches_what_was_written_here(app, garden, admin):
    make(admin)
    admin.post("/api/journeys/my-week/publish", json={})
    (garden / "week.yaml").write_text(yaml.safe_dump({**SMALL, "slug": "my-week"}))
    done = load(app, garden, force=True)
    assert (done.archived, done.differing, done.unchanged) == ([], ["my-week"], ["garden"])
    assert admin.get("/api/journeys/my-week").json["title"] == "My week"


def test_the_editor_says_in_its_own_words_what_is_wrong(browser):
    point = {"p0.title": "x" * 300, "p0.suggested_questions": "\n".join("abcdefghijkl"), "p0.confidence_threshold": "2"}
    for language in ("en", "de"):
        headers = {"Accept-Language": language}
        page = browser.post(
            "/journeys/new",
            data={"csrf_token": page_token(browser), "count": "1", "do": "save", **point},
            headers=headers,
        )
        assert page.status_code == 422
        marked = re.findall(r'id="([\w-]+)"[^>]*aria-invalid="true"', page.text)
        said = dict(re.findall(r'<p class="field-error" id="([\w-]+)-error">.*?<span>(.*?)</span>', page.text))
        assert marked == list(said) and {"title", "p0-title", "p0-elicitation_goals", "p0-suggested_questions"} <= set(
            said
        )
        assert "p0-confidence_threshold" in said
        assert not [text for text in said.values() if "_" in text or "points" in text]
    assert said["title"] == "„Titel“ fehlt."


def test_a_draft_that_is_refused_is_still_in_the_form(browser, monkeypatch):
    monkeypatch.setattr(authoring, "MAX_OWN", 0)
    point = {"p0.title": "Sleep", "p0.elicitation_goals": "One", "p0.completion_criteria": "Two"}
    draft = {"title": "My week", "description": "d", "system_prompt": "s", "count": "1", "private": "1", **point}
    for page, fields in (("/journeys/new", draft), ("/journeys/mine", {"text": json.dumps(SHORT)})):
        refused = post_form(browser, page, page, **fields)
        assert (refused.status_code, "up to 0 journeys" in refused.text) == (409, True), page
        assert all(part in html.unescape(refused.text) for part in fields.values()), page


def test_topics_of_the_same_title_are_two_topics(user, client):
    point = {"title": "Goals", "elicitation_goals": ["One"], "completion_criteria": ["Named"]}
    made = client.post(
        "/api/journeys", json={"title": "Twice", "description": "d", "system_prompt": "s", "points": [point, point]}
    )
    assert [item["slug"] for item in made.get_json()["points"]] == ["goals", "goals-2"]


def test_the_editor(garden, admin, login, model):
    browser = login(admin.person)
    token = csrf_token(browser.get("/journeys/new").text)
    fields = {"csrf_token": token, "count": "1", "title": "My week", "description": "d", "system_prompt": "s"}
    point = {"p0.title": "Well", "p0.elicitation_goals": "One\n\nTwo", "p0.completion_criteria": "Named"}
    wrong = browser.post("/journeys/new", data={**fields, **point, "p0.completion_criteria": "", "do": "save"})
    assert wrong.status_code == 422 and 'value="My week"' in wrong.text
    assert 'href="#p0-completion_criteria"' in wrong.text and "“When it is done” is missing." in wrong.text
    more = browser.post("/journeys/new", data={**fields, **point, "do": "add"}).text
    assert '/journeys/new#p1">Add a topic' in wrong.text and 'id="p1"' in more and "One\nTwo" in more
    assert browser.post("/journeys/new", data={**fields, **point, "do": "save"}).status_code == 303
    model.script(match="Conversation Point: Well", reply="What went well?", times=1)
    tried = browser.post("/journeys/my-week/edit", data={**fields, **point, "do": "try"}).text
    assert "What went well?" in tried and "## Your Goals for This Discussion" in tried
    assert browser.post("/journeys/my-week/edit", data={**fields, **point, "do": "publish"}).status_code == 303
    assert "published" in browser.get("/journeys/mine").text and "My week" in browser.get("/journeys").text
    later = {**fields, **point, "p0.title": "Better", "do": "publish"}
    assert browser.post("/journeys/my-week/edit", data=later).status_code == 303
    assert browser.post("/journeys/my-week/versions/1", data={"csrf_token": token}).status_code == 303
    assert admin.get("/api/journeys/my-week").json["points"][0]["title"] == "Well"
    assert browser.post("/journeys/garden/duplicate", data={"csrf_token": token}).status_code == 303
    assert "A garden (copy)" in browser.get("/journeys/mine").text
    pasted = browser.post("/journeys/mine", data={"csrf_token": token, "text": "title: [1"})
    assert pasted.status_code == 422 and "The file cannot be read" in pasted.text
    browser.set_cookie("language", "de")
    for text, words in (
        ("title: [1", "Die Datei lässt sich nicht lesen"),
        ("- 1", "Die Datei ist keine Reise"),
        ('{"title": "A", "points": [{"title": " "}]}', "„description“ fehlt."),
        ('{"title": "A", "points": [{"title": " "}]}', "„points[0].elicitation_goals“ fehlt."),
        ('{"title": "A", "points": [{"keeps": "ever"}]}', "„points[0].keeps“ muss eines davon sein: &#39;days&#39;"),
        ('{"title": "A", "points": [3], "x": 1}', "„points[0]“ hat die falsche Form."),
    ):
        pasted = browser.post("/journeys/mine", data={"csrf_token": token, "text": text})
        assert pasted.status_code == 422 and words in pasted.text, words
