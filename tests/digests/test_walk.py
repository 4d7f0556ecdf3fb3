"""The walk in docs/digests.md, run as it is written, against the live server; and changes seen by every process."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

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
