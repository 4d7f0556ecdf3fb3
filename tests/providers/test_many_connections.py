"""A turn costs the same with one connection and with ten: statements, decryptions, look-ups."""

import re
from typing import Any

import pytest
from redis import Redis

from testkit.processes import wait_until
from tests.conversations import test_hot_pages
from tests.support.queries import count_queries
from webapp.chat.turns import turn
from webapp.chat.turns.runtime import runtime
from webapp.db import encryption
from webapp.providers import catalogue
from webapp.retrieval import lookup

lasting_caches = test_hot_pages.lasting_caches


@pytest.fixture(autouse=True)
def _by_no_clock(lasting_caches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process knows for some seconds lapses when a test says so, and no reply is stored halfway."""
    monkeypatch.setattr(turn, "FIRST_SAVE", 3_600.0)
    monkeypatch.setattr(lookup, "FRESH_SECONDS", 3_600.0)


@pytest.fixture
def decryptions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each decryption."""
    found: list[int] = []
    unseal = encryption.unseal

    def count_call(purpose: bytes, stored: str) -> str | None:
        found.append(1)
        return unseal(purpose, stored)

    monkeypatch.setattr(encryption, "unseal", count_call)
    return found


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of what was looked up in Redis about servers."""
    found: list[str] = []
    get = Redis.get

    def note_call(self: Redis, name: str) -> Any:
        if name.startswith("capability:"):
            found.append(name)
        return get(self, name)

    monkeypatch.setattr(Redis, "get", note_call)
    return found


def test_a_turn_costs_the_same_with_one_connection_and_with_ten(app, admin, client, api, model, decryptions, looked_up):
    chosen = ""
    costs = {}

    def connect(number: int) -> str:
        body = {
            "name": f"Server {number}",
            "base_url": model.base_url,
            "api_key": f"key-{number}",
            "models": [{"model": f"alpha-{number}", "fallback_rank": number + 1}],
        }
        made = admin.post("/api/connections", json=body).get_json()
        return str(made["models"][0]["id"])

    def cost(*, lapsed: bool = False) -> tuple[set[str], int, int, int]:
        """Of a turn: its statements, those about connections, decryptions, look-ups in Redis."""
        talk = client.post("/api/conversations", json={"model": chosen}).get_json()["conversation_id"]
        if lapsed:
            catalogue.catalogue.forget()
        decryptions.clear()
        looked_up.clear()
        with app.app_context(), count_queries() as sent:
            answer = client.post("/api/chat/stream", json={"message": "Hello", "conversation_id": talk})
            assert "event: done" in answer.text
            wait_until(lambda: runtime().runner.active == 0, "the end of the turn", seconds=20)
        about = sum("model_connections" in statement for statement in sent)
        # How many messages were found is not the connections' doing.
        kinds = {re.sub(r"IN \([%s?, ]+\)", "IN (…)", statement) for statement in sent}
        return kinds, about, len(decryptions), len(looked_up)

    chosen = connect(0)
    for size in (1, 10):
        for number in range(1, size):
            connect(number)
        cost()  # the first with these
        costs[size] = cost(), cost(lapsed=True)
    warm, lapsed = costs[1]
    assert warm[1:] == (0, 0, 0) and lapsed[1:] == (1, 0, 0)
    for (statements, *others), (many_statements, *many_others) in zip(costs[1], costs[10], strict=True):
        assert many_statements == statements
        assert many_others == others


def test_a_change_counts_at_once_and_costs_one_decryption(app, admin, model, decryptions):
    def connect(number: int) -> int:
        body = {"name": f"S{number}", "base_url": model.base_url, "api_key": f"k{number}", "models": [{"model": "m"}]}
        return admin.post("/api/connections", json=body).get_json()["connection_id"]

    made = [connect(number) for number in range(3)]
    with app.app_context():
        catalogue.catalogue.read()
        decryptions.clear()
        assert admin.patch(f"/api/connections/{made[1]}", json={"api_key": "another"}).status_code == 200
        decryptions.clear()
        keys = [offered.target.settings.api_key for offered in catalogue.catalogue.read().offered]
        assert keys == ["k0", "another", "k2"] and len(decryptions) <= 1
