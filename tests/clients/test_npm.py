"""The clients that npm has, against the live app: OpenAI's, and the official ones of MCP in both ages of the protocol.

They are installed here, on the first slow run, by their lock file: 58 MB that nobody else needs.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.test_completions import talks
from tests.mcp_server.test_tools import token
from tests.memories.conversing import add_memory
from webapp.mcp_server.tools import SCHEDULE_TOOLS, TOOLS

HERE = Path(__file__).parent
SECONDS = 120
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def clients() -> Path:
    """The folder with the clients, installed as the lock file has them."""
    lock = HERE / "package-lock.json"
    mark = HERE / "node_modules" / ".installed"
    if not mark.exists() or mark.read_text() != lock.read_text():
        subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, check=True, timeout=SECONDS
        )
        mark.write_text(lock.read_text())
    return HERE


def run(clients: Path, script: str, **environment: str) -> Any:
    """What a script says it saw."""
    done = subprocess.run(
        ["node", script],
        cwd=clients,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_openai(app, user, live_server, model, clients):
    model.script(match="tides", reply="Ebb and flow 🌊")
    model.script(match="moon", reply="It pulls. " * 20, token_delay=0.005)
    model.script(match="weather", reply="It is sunny.")
    model.script(match="weather", tool_calls=[{"name": "get_weather", "arguments": {"city": "Porto"}}], times=1)
    seen = run(clients, "chat.js", BASE=f"{live_server.url}/v1", TOKEN=user.token)
    assert seen["models"][:2] == ["default", "default:temporary"]
    assert seen["whole"] == ["Ebb and flow 🌊", "stop", True]
    assert [seen["streamed"][0].strip(), seen["streamed"][1]] == [("It pulls. " * 20).strip(), True]
    assert seen["called"] == ["tool_calls", "get_weather", {"city": "Porto"}]
    assert seen["answered"] == ["It is sunny.", "stop"]
    assert seen["error"] == ["NotFoundError", 404, "not_found_error"]
    assert sorted(count for _, count in talks(app)) == [3, 4]


def test_openai_responses(app, user, live_server, model, clients):
    model.script(match="slowly", reply="one " * 2_000, token_delay=0.02)
    model.script(match="tides", reply="Ebb and flow 🌊")
    model.script(match="moon", reply="It pulls. " * 20, token_delay=0.005)
    model.script(match="Where to", reply='{"city": "Porto"}')
    model.script(match="weather", reply="It is sunny.")
    model.script(match="weather", tool_calls=[{"name": "get_weather", "arguments": {"city": "Porto"}}], times=1)
    seen = run(clients, "responses.js", BASE=f"{live_server.url}/v1", TOKEN=user.token)
    assert (seen["whole"], seen["again"]) == (["Ebb and flow 🌊", "completed", True, "7"], "Ebb and flow 🌊")
    assert [seen["streamed"][0].strip(), *seen["streamed"][1:]] == [("It pulls. " * 20).strip(), True, True]
    assert seen["formed"] == {"city": "Porto"}
    assert seen["called"] == ["get_weather", {"city": "Porto"}]
    assert seen["answered"] == ["It is sunny.", "completed"]
    assert seen["background"] == ["in_progress", "cancelled"]
    assert seen["error"] == ["BadRequestError", 400, "conversation"]
    assert sorted(count for _, count in talks(app)) == [2, 2, 3, 4]


@pytest.mark.parametrize("age", ["old", "legacy", "auto", "2026-07-28"])
def test_mcp(app, user, live_server, clients, age):
    add_memory(app, user, "Keeps bees on the roof")
    seen = run(clients, "mcp.js", ADDRESS=f"{live_server.url}/mcp", TOKEN=token(app, user, "mcp"), AGE=age)
    assert seen["tools"] == [name for name in TOOLS if name not in SCHEDULE_TOOLS]
    assert [item["title"] for item in seen["found"]] == ["Keeps bees on the roof"]
    assert (seen["written"], seen["wrong"], seen["spaces"]) == ("proposed", True, [])
    if age in ("auto", "2026-07-28"):
        assert seen["version"] == "2026-07-28"
