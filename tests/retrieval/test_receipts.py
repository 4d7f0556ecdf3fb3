"""What a reply used: stored with it, shown as it was, corrected on the spot, and never somebody else's."""

import pytest
from sqlalchemy import select

from testkit.processes import wait_until
from testkit.waiting import wait_for_reply
from tests.memories.conversing import add_memory
from tests.support.queries import get_row
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.i18n import catalogs
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryChanges
from webapp.memories.service import update_memory
from webapp.memories.store import forgetting
from webapp.retrieval.lookup import Question, retrieve
from webapp.retrieval.receipt_views import ShownItem, UsedCounts, used_counts
from webapp.retrieval.schemas import ReceiptLine
from webapp.shell.upkeep import sweep

QUESTION = "Which instrument does my sister Clara play?"


@pytest.fixture
def memory_id(app, user) -> int:
    return add_memory(app, user, "Clara plays the cello", importance=0.4)


@pytest.fixture
def reply_id(client, model, app, user, tell, memory_id, run_jobs) -> int:
    tell(user, [("user", "My sister Clara bought an instrument, a viola."), ("assistant", "How lovely.")])
    run_jobs()
    model.script(match=QUESTION[:20], reply="The cello.")
    conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
    started = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": QUESTION})
    wait_for_reply(client, started.json["response_id"])
    return started.json["response_id"]


def lines(client, reply_id: int) -> dict[tuple[str, int], dict]:
    items = client.get(f"/api/messages/{reply_id}/receipt").json["items"]
    return {(item["kind"], item["id"]): item for item in items}


def test_the_reply_says_what_it_was_given(app, client, model, reply_id, memory_id):
    with app.app_context():
        assert not db.session.get(Memory, memory_id).access_count
        db.session.rollback()
        wait_until(lambda: sweep()["used"] == 1, "its use, noted once the reply is done")
        assert sweep()["used"] == 0
        memory = db.session.get(Memory, memory_id, populate_existing=True)
        assert memory.access_count == 1 and memory.last_accessed_at is not None
        said = db.session.scalar(select(Message.message_id).where(Message.content.contains("viola")))
    url = f"/api/messages/{reply_id}/receipt"
    body = {"kind": "memory", "id": memory_id, "verdict": "forget"}
    wrong = {"kind": "message", "id": said, "verdict": "wrong"}
    for bad, status in ((body | {"id": memory_id + 99}, 404), (wrong, 422), (body | {"verdict": "boring"}, 422)):
        assert client.post(f"{url}/feedback", json=bad).status_code == status, bad
    found = lines(client, reply_id)
    memory = found["memory", memory_id]
    assert memory["injected"] and memory["content"] == "Clara plays the cello" and memory["revision"] == 1
    assert memory["state"] == "current"
    said = next(item for (kind, _), item in found.items() if kind == "message")
    assert said["stage"] == "retrieved" and said["injected"] and said["score"] > 0 and said["reason"]
    assert said["role"] == "user" and said["title"] == "A talk"
    prompt = str(next(call for call in reversed(model.calls()) if QUESTION in str(call) and "stream" in str(call)))
    assert "a viola" in prompt and "Clara plays the cello" in prompt


def test_the_pipeline_names_its_steps_and_keeps_no_copy_of_what_was_said_elsewhere(app, client, reply_id, user):
    answer = client.get(f"/api/messages/{reply_id}/pipeline_steps").json
    names = [step["name"] for step in answer["pipeline_steps"]]
    assert names == ["retrieval", "context", "model"]
    assert answer["pipeline_steps"][0]["data"]["with_meaning"] is True
    assert {"index", "embedding", "search", "load"} <= answer["pipeline_steps"][0]["data"]["ms"].keys()
    assert "a viola" in str(answer["pipeline_steps"][1]["prompt"])
    assert [item["kind"] for item in answer["receipt"]]
    other = client.get("/api/conversations").json["conversations"][-1]["conversation_id"]
    client.delete(f"/api/conversations/{other}")
    after = client.get(f"/api/messages/{reply_id}/pipeline_steps").json
    assert "viola" not in str(after)
    assert {item["state"] for item in after["receipt"] if item["kind"] == "message"} == {"gone"}


def test_a_receipt_shows_the_revision_that_was_used(app, client, user, reply_id, memory_id):
    with app.app_context(), write_transaction():
        update_memory(user.user_id, memory_id, MemoryChanges(content="Clara plays the double bass"))
    line = lines(client, reply_id)["memory", memory_id]
    assert (line["content"], line["state"]) == ("Clara plays the cello", "changed")
    with app.app_context(), write_transaction():
        forgetting.forget(user.user_id, [memory_id])
    line = lines(client, reply_id)["memory", memory_id]
    assert (line["content"], line["state"]) == (None, "gone")


@pytest.fixture
def corrections(app, user, memory_id) -> dict[str, int]:
    """Memories of which each is corrected in another way."""
    others = {"wrong": "Clara plays the harp", "outdated": "Clara plays the oboe", "forget": "Clara plays the tuba"}
    made = {verdict: add_memory(app, user, text) for verdict, text in others.items()}
    return made | {"not_relevant": memory_id}


def test_corrections_on_the_spot(app, client, user, corrections, reply_id):
    states = {"wrong": "closed", "outdated": "closed", "forget": "gone", "not_relevant": "current"}
    for verdict, memory_id in corrections.items():
        body = {"kind": "memory", "id": memory_id, "verdict": verdict}
        assert client.post(f"/api/messages/{reply_id}/receipt/feedback", json=body).status_code == 200, verdict
        line = lines(client, reply_id)["memory", memory_id]
        assert (line["state"], line["verdict"]) == (states[verdict], verdict)
        memory = get_row(app, Memory, memory_id)
        kept = memory and (memory.is_archived, memory.valid_to is not None)
        assert kept == (None if verdict == "forget" else (verdict == "wrong", verdict == "outdated")), verdict
    with app.app_context():
        again = retrieve(Question(user.user_id, QUESTION), 5)
        assert not {("memory", memory_id) for memory_id in corrections.values()} & {item.key for item in again.items}
        other = retrieve(Question(user.user_id, "Who has a cello at home?"), 5)  # not relevant to such a question only
        assert ("memory", corrections["not_relevant"]) in [item.key for item in other.items]


def test_the_line_under_a_reply_tells_what_was_relevant_from_what_is_always_on(
    app, client, user, model, memory_id, run_jobs, browser
):
    for content in ("Lives in Leeds", "Works as a nurse"):
        add_memory(app, user, content)
    run_jobs()
    labels = {}
    for asked in (QUESTION, "How long does bread rise?"):
        model.script(match=asked[:20], reply="So it is.")
        conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
        reply = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": asked}).json
        wait_for_reply(client, reply["response_id"])
        labels[asked] = presenting_of(app, reply["response_id"])
        receipt = browser.get(f"/messages/{reply['response_id']}/used", headers={"HX-Request": "true"}).text
        relevant, _, always = receipt.partition("always on")
        assert ("Clara plays the cello" in relevant) == (asked == QUESTION)
        assert "Lives in Leeds" in always and 'value="not_relevant"' not in always
    found, other = labels[QUESTION], labels["How long does bread rise?"]
    assert found.relevant >= 1 and found.label.endswith("relevant")
    assert (other.relevant, other.documents, other.always) == (0, 0, 3) and other.label == "3 always on"


def presenting_of(app, reply_id: int) -> UsedCounts:
    """What the line under a reply says."""
    with app.test_request_context():
        return used_counts([reply_id])[reply_id]


CATALOGS = [catalogs.read(code) for code in catalogs.CODES]


@pytest.mark.parametrize(
    "reason", ["words", "words nearby", "meaning", "words and meaning", "words nearby and meaning"]
)
def test_why_search_found_something_is_said_in_the_readers_language(reason):
    said = ShownItem(ReceiptLine.model_construct(kind="message", reason=reason)).reason
    assert said.lower() != reason, "not the name it is stored under"
    for catalog in CATALOGS:
        message = catalog.get(said)
        assert message is not None and message.string
