"""Learning from an import: priced, capped, paused, stopped; oldest first, into review, and nothing twice."""

import pytest

from testkit.exports import chatgpt_conversation, pack
from testkit.people import post_form
from tests.memories.conversing import answers, memories_of, operation
from tests.support.interleaving import killed_at
from tests.support.queries import change_row, count_queries, scalars
from tests.transfer.moving import bring
from webapp.db.base import db, now, write_transaction
from webapp.errors import Conflict
from webapp.memories.learning import past_conversations
from webapp.memories.models import Memory, MemoryEvidence
from webapp.providers.catalogue import catalogue
from webapp.transfer import import_learning, pages, service
from webapp.transfer.models import Import
from webapp.transfer.schemas import LearnFields


def talk(number: int, said: str) -> dict:
    """A conversation of its own day; the lower the number, the older."""
    made = chatgpt_conversation(number, create_time=1_600_000_000.0 + 86_400 * number)
    message = made["mapping"]["q1"]["message"]
    message["content"]["parts"] = [said]
    message["create_time"] = 1_600_000_000.0 + 86_400 * number
    return made


@pytest.fixture
def import_id(client, run_jobs) -> int:
    """An import of three conversations, the newest first in its file; its id."""
    rows = [talk(3, "I live in Lisbon now"), talk(1, "I live in Porto"), talk(2, "I keep bees at home")]
    return bring(client, run_jobs, pack({"conversations.json": rows}), take=["conversations"])["import_id"]


def _place(import_id: int) -> str:
    return f"/api/imports/{import_id}/learning"


def _begin(app, user, import_id: int) -> None:
    with app.app_context(), write_transaction():
        import_learning.begin(user.user_id, import_id, LearnFields())


def _extraction_calls(model) -> list[str]:
    return [str(call) for call in model.calls() if "memory_operations" in str(call)]


def test_it_is_priced_before_anything_is_asked(client, model, import_id):
    found = client.get(_place(import_id)).get_json()
    assert (found["status"], found["conversations"], found["calls"]) == (None, 3, 3)
    assert found["input_tokens"] > 3 * 2_000 and found["output_tokens"] > 0
    assert _extraction_calls(model) == []


def test_the_oldest_is_read_first_and_all_of_it_lands_in_review(app, client, user, model, run_jobs, import_id):
    answers(model, operation("I live in Lisbon now", "Lives in Lisbon."))
    answers(model, operation("I keep bees at home", "Keeps bees at home."))
    answers(model, operation("I live in Porto", "Lives in Porto."))
    assert client.post(_place(import_id), json={}).status_code == 202
    run_jobs()
    found = client.get(_place(import_id)).get_json()
    assert found["status"] == "done" and found["progress"]["read"] == 3 and found["progress"]["calls"] == 3
    order = [next(word for word in ("Porto", "bees", "Lisbon") if f"live in {word}" in c or f"keep {word}" in c)
             for c in _extraction_calls(model)]  # fmt: skip
    assert order == ["Porto", "bees", "Lisbon"]
    rows = memories_of(app, user.user_id)
    assert rows and all(row.needs_review and row.origin == "import" for row in rows)
    assert found["progress"]["proposed"] == len(rows)
    assert len(scalars(app, db.select(MemoryEvidence))) >= 2, "with the words they rest on"
    assert client.post(_place(import_id), json={}).status_code == 409


def test_what_is_in_use_is_not_touched_and_what_was_forgotten_does_not_come_back(
    app, client, user, model, run_jobs, import_id
):
    berlin = {"content": "Lives in Berlin", "fact_key": "identity/location", "fact_value": "Berlin"}
    client.post("/api/memories", json={"memory_type": "fact", **berlin})
    gone = client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees at home."}).get_json()
    client.delete(f"/api/memories/{gone['memory_id']}")
    answers(
        model, operation("I live in Lisbon now", "Lives in Lisbon.", fact_key="identity/location", fact_value="Lisbon")
    )
    answers(model, operation("I keep bees at home", "Keeps bees at home."))
    answers(model, operation("I live in Porto", "Lives in Porto.", fact_key="identity/location", fact_value="Porto"))
    client.post(_place(import_id), json={})
    run_jobs()
    with app.app_context():
        used = db.session.query(Memory).filter_by(user_id=user.user_id, needs_review=False, valid_to=None).all()
        assert [row.content for row in used] == ["Lives in Berlin"]
        assert db.session.query(Memory).filter(Memory.content.contains("bees")).count() == 0


def test_a_cap_pauses_and_more_goes_on_where_it_was(app, client, model, run_jobs, import_id, login, user):
    model.script(match="memory_operations", structured={"statements": []})
    assert client.post(_place(import_id), json={"most_tokens": 1}).status_code == 422
    client.post(_place(import_id), json={"most_tokens": 1_000})
    with app.app_context(), write_transaction():
        row = db.session.get(Import, import_id)
        row.learning = row.learning | {"most_tokens": 1}
    run_jobs()
    found = client.get(_place(import_id)).get_json()
    assert found["status"] == "paused" and "used up" in found["progress"]["reason"]
    assert found["progress"]["calls"] == len(_extraction_calls(model)) == 1
    page = login(user).get(f"/imports/{import_id}", headers={"Accept-Language": "de"}).text
    assert "Die Tokens, die du erlaubt hast, sind verbraucht." in page
    client.post(_place(import_id), json={})
    run_jobs()
    assert client.get(_place(import_id)).get_json()["status"] == "done"
    assert len(_extraction_calls(model)) == 3


def test_without_a_model_nothing_is_offered_that_takes_one(user, login, import_id, monkeypatch):
    monkeypatch.setattr(pages, "has_background_model", lambda: False)
    page = login(user).get(f"/imports/{import_id}").text
    assert "No language model is connected." in page and "Learn from them" not in page


def test_dollars_are_capped_too(app, client, model, run_jobs, import_id, monkeypatch):
    monkeypatch.setattr(import_learning, "cost", lambda *_: 0.5)
    assert client.get(_place(import_id)).get_json()["dollars"] == 0.5
    model.script(match="memory_operations", structured={"statements": []})
    client.post(_place(import_id), json={"most_dollars": 0.4})
    run_jobs()
    assert client.get(_place(import_id)).get_json()["progress"]["reason"] == "The amount you allowed is used up."


def test_pause_resume_and_stop(client, model, run_jobs, import_id):
    model.script(match="memory_operations", structured={"statements": []})
    assert client.post(f"{_place(import_id)}/pause", json={}).status_code == 409
    client.post(_place(import_id), json={})
    assert client.post(_place(import_id), json={}).status_code == 409
    assert client.post(f"{_place(import_id)}/pause", json={}).get_json()["status"] == "paused"
    run_jobs()
    assert _extraction_calls(model) == []
    assert client.post(_place(import_id), json={}).get_json()["status"] == "running"
    assert client.post(f"{_place(import_id)}/stop", json={}).get_json()["status"] == "stopped"
    run_jobs()
    assert _extraction_calls(model) == []
    assert client.post(_place(import_id), json={}).status_code == 409


def test_run_twice_and_killed_midway_nothing_is_doubled(app, client, user, model, import_id, monkeypatch):
    answers(model, operation("I live in Porto", "Lives in Porto."), times=3)
    _begin(app, user, import_id)
    with app.app_context():
        with killed_at("INSERT INTO memories"):
            import_learning.run(import_id)
        assert db.session.query(Memory).count() == 0
        ask = past_conversations.ask_about

        def overtaken(*place):
            step = ask(*place)
            monkeypatch.setattr(past_conversations, "ask_about", ask)
            assert import_learning.run(import_id, seconds=0) == "running"
            return step

        monkeypatch.setattr(past_conversations, "ask_about", overtaken)
        assert import_learning.run(import_id, seconds=0) == "running"
        assert db.session.query(Memory).filter_by(content="Lives in Porto.").count() == 1
        assert db.session.get(Import, import_id).learning["calls"] == 1
        while import_learning.run(import_id, seconds=0) == "running":
            pass
        assert import_learning.run(import_id) == "done"


def test_what_cannot_be_read_is_passed_over(app, client, user, model, import_id):
    _begin(app, user, import_id)
    with app.app_context():
        model.script(match="memory_operations", reply="no JSON at all")
        while import_learning.run(import_id) == "running":
            pass
        known = db.session.get(Import, import_id).learning
        assert known["read"] == known["failed"] == 3 and known["proposed"] == 0


def test_the_sweep_finds_what_stands_still(app, client, user, import_id):
    _begin(app, user, import_id)
    with app.app_context():
        assert not any(service.stalled_jobs().values())
        with write_transaction():
            db.session.get(Import, import_id).updated_at = now() - 2 * service.LEARNING_STALLED_FOR
        assert service.stalled_jobs()["learn"] == [import_id]


def test_it_can_be_wished_with_the_import_and_goes_with_its_undo(app, client, user, model, run_jobs):
    hidden = pack({"conversations.json": [talk(2, "I live in Porto") | {"is_do_not_remember": True}]})
    done = bring(client, run_jobs, hidden, take=["conversations"])
    assert client.get(_place(done["import_id"])).get_json()["conversations"] == 0, "it is not to be remembered"
    assert client.post(_place(done["import_id"]), json={}).status_code == 409
    answers(model, operation("I live in Porto", "Lives in Porto."))
    export = pack({"conversations.json": [talk(1, "I live in Porto")]})
    done = bring(client, run_jobs, export, take=["conversations"], learn=True)
    assert done["learn_status"] == "done"
    assert [row.content for row in memories_of(app, user.user_id)] == ["Lives in Porto."]
    client.post(f"/api/imports/{done['import_id']}/undo", json={})
    assert memories_of(app, user.user_id) == []
    assert client.post(_place(done["import_id"]), json={}).status_code == 409


def test_the_page_leads_through_it(app, model, run_jobs, import_id, monkeypatch, browser):
    model.script(match="memory_operations", structured={"statements": []})
    page = f"/imports/{import_id}"
    for status in ("ready", "undone", "done"):  # before it is taken in and after it was undone there is nothing
        change_row(app, Import, import_id, status=status)
        assert browser.get(f"{page}/learning").status_code == (200 if status == "done" else 404), status
    with monkeypatch.context() as patch:
        patch.setattr(import_learning, "cost", lambda *_: 1.5)
        for language, sum_of_money in (("de", "1,50\u00a0$"), ("en", "around $1.50.")):
            post_form(browser, "/language", page="/settings", language=language)
            assert sum_of_money in browser.get(page).text, language
    assert "Learn from these conversations" in browser.get(page).text and "3 calls" in browser.get(page).text
    assert post_form(browser, f"{page}/learning/start", page=page).status_code == 303
    with app.app_context(), count_queries() as statements:
        assert "0 of 3 conversations read" in browser.get(f"{page}/learning").text
    assert statements and not any("sum(" in statement for statement in statements), "priced before, not at every look"
    assert "Pause" in browser.get(f"{page}/learning").text
    assert post_form(browser, f"{page}/learning/pause", page=page).status_code == 303
    assert "Continue" in browser.get(page).text
    assert post_form(browser, f"{page}/learning/start", page=page).status_code == 303
    run_jobs()
    assert "Everything has been read." in browser.get(page).text
    assert post_form(browser, f"{page}/learning/nonsense", page=page).status_code == 404


def test_without_a_model_nothing_is_begun_and_nothing_is_counted_as_read(
    app, client, model, run_jobs, import_id, monkeypatch
):
    no_model = {"http_status": 503, "body": {"error": {"message": "none", "code": "no_model"}}}
    model.script(match="memory_operations", fault=no_model)
    assert client.post(_place(import_id), json={}).status_code in (200, 202)
    assert run_jobs()
    with app.app_context():
        assert db.session.get(Import, import_id).learning["failed"] == 0
        settings = app.extensions["settings"].model_copy(update={"offline_model": True})
        monkeypatch.setitem(app.extensions, "settings", settings)
        catalogue.forget()
        import_learning.stop(client.person.user_id, import_id, for_good=False)
        with pytest.raises(Conflict, match="No language model is connected"):
            import_learning.begin(client.person.user_id, import_id, LearnFields())
