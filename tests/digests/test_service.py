"""Digests in the tables: writing, history, staleness, and which conversations need one."""

import json
import os
import re
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from tests.conversations.rows import add_conversation, add_messages
from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.db.base import db, now, write_transaction
from webapp.digests import service
from webapp.digests.schemas import ConversationMemoryData
from webapp.errors import NotFound

HOUR = timedelta(hours=1)
DATA = ConversationMemoryData(main_topics=["tides"], action=["look them up"], typical_observation="Asks why.")


def quiet(app, user, *, hours=2.0, messages=2, **fields):
    """A conversation of two messages that has been quiet for some hours."""
    conversation_id = add_conversation(app, user.user_id, at=now() - HOUR * hours, **fields)
    if messages:
        add_messages(app, conversation_id, messages)
    return conversation_id


def due_ids(user=None, **filters):
    """What needs a digest after an hour."""
    return service.conversations_to_digest(user and user.user_id, idle=HOUR, **filters)


def test_writing_keeps_every_version_and_is_no_activity(app, user, app_context):
    conversation_id = quiet(app, user)
    before = db.session.get(Conversation, conversation_id).updated_at
    with write_transaction():
        first = service.upsert_digest(user.user_id, conversation_id, DATA)
        assert (first.version, first.memory_data) == (1, DATA.model_dump())
    with write_transaction():
        assert service.upsert_digest(user.user_id, conversation_id, DATA).version == 1, "the same again is no version"
    with write_transaction():
        changed = DATA.model_copy(update={"main_topics": ["ebb"]})
        assert service.upsert_digest(None, conversation_id, changed, source="service").version == 2
    with write_transaction():
        back = service.restore_digest(user.user_id, conversation_id, 1)
        assert (back.version, back.memory_data["main_topics"]) == (3, ["tides"])
    assert [(row.version, row.source) for row in service.history(conversation_id)] == [
        (3, "user"),
        (2, "service"),
        (1, "user"),
    ]
    assert db.session.get(Conversation, conversation_id, populate_existing=True).updated_at == before
    with pytest.raises(NotFound), write_transaction():
        service.restore_digest(user.user_id, conversation_id, 9)
    with write_transaction():
        db.session.delete(db.session.get(Conversation, conversation_id))
    assert service.find_digest(conversation_id) is None
    assert service.history(conversation_id) == []


def test_absent_then_fresh_then_stale(app, user, app_context):
    conversation_id = quiet(app, user)
    assert due_ids() == due_ids(user) == [conversation_id]
    with write_transaction():
        service.upsert_digest(user.user_id, conversation_id, DATA)
    assert due_ids() == due_ids(user) == []
    with write_transaction():
        digest = service.get_digest(conversation_id)
        digest.as_of = now() - HOUR * 3
    assert due_ids() == due_ids(user) == [conversation_id]
    assert service.is_stale(service.get_digest(conversation_id), db.session.get(Conversation, conversation_id))


def test_only_idle_ones_of_ones_own_with_something_said_or_all(app, user, make_user, app_context):
    other = make_user()
    talking, empty = quiet(app, user, hours=0.5), quiet(app, user, hours=5, messages=0)
    said, theirs = quiet(app, user, hours=6), quiet(app, other)
    assert due_ids(user, include_empty=True) == [said, empty], "the longest quiet comes first"
    assert (due_ids(user), due_ids(other), due_ids()) == ([said], [theirs], [said, theirs])
    with write_transaction():
        service.upsert_digest(user.user_id, said, DATA)
    assert due_ids(user, only_needing=False) == [said, talking]


def test_where_there_is_to_be_no_memory_there_is_no_digest(app, user, make_user, app_context):
    quiet(app, user, is_temporary=True)
    quiet(app, user, uses_memory=False)
    quiet(app, user, deleted_at=now())
    without, away = make_user(), make_user()
    quiet(app, without)
    quiet(app, away)
    with write_transaction():
        off = update(User).where(User.user_id == without.user_id)
        db.session.execute(off.values(settings={"memory_enabled": False}))
        db.session.execute(update(User).where(User.user_id == away.user_id).values(is_active=False))
    wanted = quiet(app, user)
    assert due_ids() == [wanted]
    assert due_ids(user, only_needing=False, include_empty=True) == [wanted]
    assert due_ids(without, only_needing=False) == []


pytestmark = pytest.mark.once  # about processes, not about the database

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "digests.md"
DIGEST = {"main_topics": ["photosynthesis"], "action": ["try growing seeds"], "typical_observation": 'Is "curious"'}


def test_the_walk_of_the_document(live_server, model, make_user, tmp_path):
    admin, service = make_user(is_admin=True), make_user(is_service=True)
    model.script(match="conversation_digest", structured=DIGEST)
    (block,) = re.findall(r"```bash\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    environment = {**os.environ, "BACKEND": live_server.url, "TOKEN": admin.token, "SERVICE_TOKEN": service.token}
    done = subprocess.run(
        ["bash", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made, read, version, *snippet, restored = done.stdout.strip().splitlines()
    assert json.loads(made) == json.loads(read) == DIGEST
    assert (version, restored) == ("2", "1")
    assert snippet == ["These are some details of the conversation till now"]
    steps = json.loads((tmp_path / "steps.json").read_text())["pipeline_steps"]
    sent = next(step["prompt"] for step in steps if step["name"] == "context")
    assert sent[0]["content"].startswith(
        "You are a curiosity coach. Context: These are some details of the conversation till now. "
        '`main_topics` is "photosynthesis", `action` is "try growing seeds", '
        '`typical_observation` is "Is \\"curious\\"".'
    )


@pytest.mark.slow  # no process holds a prompt: tests/digests/test_routes.py changes one, and turns look it up
@pytest.mark.parametrize("processes", [1, 2])
def test_a_change_holds_from_the_next_turn_on_in_every_process(live_server, model, make_user, api, processes):
    """A web process, or two, and a worker beside this one; Redis loses everything in between."""
    admin = make_user(is_admin=True)
    if processes > 1:
        live_server.restart_web(processes=processes)
    model.script(match="conversation_title", structured={"title": "A title"})

    def call(method, path, body=None):
        command = ["curl", "-sS", "--fail-with-body", "-X", method, "-H", f"Authorization: Bearer {admin.token}"]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        command.append(live_server.url + path)
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)

    conversation = call("POST", "/api/conversations", {})["conversation_id"]

    def versions_of_replies(count):
        found = set()
        for number in range(count):
            asked = call("POST", f"/api/conversations/{conversation}/messages", {"content": f"Question {number}"})
            found.add(call("GET", f"/api/messages/{asked['message']['id']}/response?wait=30")["prompt_version"])
        return found

    turns = 2 * processes
    assert versions_of_replies(turns) == {"chat/1"}
    mine = api(admin)
    assert mine.post("/api/prompts/chat/versions?set_active=true", json={"prompt_text": "Be brief."}).status_code == 201
    assert versions_of_replies(turns) == {"chat/2"}
    live_server.flush_redis()
    assert mine.post("/api/prompts/chat/versions/1/activate").status_code == 200
    assert versions_of_replies(turns) == {"chat/1"}
