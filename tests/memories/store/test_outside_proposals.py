"""What comes from elsewhere waits for the person; what was forgotten and secrets do not even do that."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from testkit.people import Person
from tests.memories.conversing import current, memories_of
from webapp.db.base import now, write_transaction
from webapp.memories.review import proposals
from webapp.memories.rules.kinds import CONTENT_MAX
from webapp.memories.schemas import ProposalQuery
from webapp.memories.store.outside_proposals import OutsideStatement, propose

KEYED: dict[str, Any] = {"key": "preference/drink", "value": "cocoa"}


def bring(app: Flask, user: Person, *found: OutsideStatement) -> dict[str, int]:
    """Put statements into review; returns how many met which end."""
    with app.app_context(), write_transaction():
        return propose(user.user_id, found, cause="import").counts


def test_a_forgotten_value_does_not_return_in_other_words(app, client, user):
    fields = {"memory_type": "fact", "content": "Drinks cocoa", "fact_key": KEYED["key"], "fact_value": KEYED["value"]}
    made = client.post("/api/memories", json=fields)
    assert made.status_code == 201, made.text
    assert client.delete(f"/api/memories/{made.json['memory_id']}").status_code == 200
    assert bring(app, user, OutsideStatement("Favours a hot chocolate", **KEYED)) == {"forgotten": 1}
    assert bring(app, user, OutsideStatement("Favours tea", key=KEYED["key"], value="tea")) == {"proposed": 1}


@pytest.mark.parametrize("place", ["content", "value"])
def test_a_secret_is_found_wherever_it_stands(app, user, place):
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    found = OutsideStatement(**({"content": "Uses a token", "key": "tools/token", "value": "long"} | {place: secret}))
    assert bring(app, user, found) == {"secret": 1}
    assert memories_of(app, user.user_id) == []


@pytest.mark.parametrize("sentence", ["私は{}匹の蜂を飼っている。", "Keeps {} bees by the river. ", "蜂{}"])
def test_of_a_long_statement_nothing_is_lost(app, user, sentence):
    said = "".join(sentence.format(number) for number in range(600))
    bring(app, user, OutsideStatement(said))
    kept = [row.content for row in memories_of(app, user.user_id)]
    assert "".join("".join(kept).split()) == "".join(said.split())
    assert len(kept) > 1 and max(map(len, kept)) <= CONTENT_MAX


def test_an_older_import_does_not_take_the_place_of_what_was_said_since(app, client, user):
    """It arrives later, and says when it was said."""
    fields = {"memory_type": "fact", "content": "Drinks tea", "fact_key": KEYED["key"], "fact_value": "tea"}
    held = client.post("/api/memories", json=fields).json["memory_id"]
    bring(app, user, OutsideStatement("Drinks cocoa", now() - timedelta(days=400), **KEYED))
    with app.app_context():
        (found,) = proposals.list_proposals(user.user_id, ProposalQuery()).items
        assert (found.memory.memory_id, found.replaced.content) == (held, "Drinks cocoa")
        key = found.key
    done = client.post(f"/api/proposals/{key}/accept", json={})
    assert done.status_code == 200, done.text
    assert current(app, user.user_id) == ["Drinks tea"]
