"""What somebody withdraws or forgets is on no page, in no export, feed, search, protocol, webhook or prompt of another
member's."""

import io
import zipfile
from collections.abc import Callable, Iterator

import pytest
from flask import Flask
from sqlalchemy import select

from testkit.people import ApiClient, Person, browser_client, csrf_token
from tests.spaces.helpers import add_fact, converse, join, make_space, say
from tests.support.receiver import Receiver, run_receiver
from tests.test_access_matrix import routes
from tests.webhooks.test_webhooks import make_due
from webapp.accounts import tokens
from webapp.accounts.schemas import NewToken
from webapp.config import Settings
from webapp.conversations.models import Message, MessageReasoning
from webapp.db.base import db, write_transaction
from webapp.webhooks import delivery

WITHDRAWN, FORGOTTEN = "Ylva must never eat walnuts", "Ylva must never eat hazelnuts"
TOLD = f"Careful. {WITHDRAWN}. Hazelnuts are off the table for Ylva. Soup is fine."
UNSEARCHED = ("/settings", "/admin", "/api/admin", "/api/openapi", "/readyz", "/healthz", "/journeys")
"""Where nothing is looked for by words."""


@pytest.fixture
def receiver(app: Flask, settings: Settings) -> Iterator[Receiver]:
    """An address within this network, which a setting allows, and which is not well at first."""
    with run_receiver(app, settings) as server:
        server.status = 500
        yield server


def words_in(text: str) -> set[str]:
    """What a text tells of the two facts."""
    return {word for word in ("walnut", "hazelnut") if word in text.lower()}


BOTH = {"walnut", "hazelnut"}


def export_text(ben: ApiClient, run_jobs: Callable[..., object]) -> str:
    """All text of a new export of the account."""
    made = ben.post("/api/exports", json={"what": "account"})
    assert made.status_code in (200, 201, 202), made.text
    run_jobs()
    return fetch_export(ben, made.get_json()["export_id"])


def fetch_export(ben: ApiClient, export_id: int) -> str:
    """All text of an export; nothing when it is there no more."""
    with ben.get(f"/api/exports/{export_id}/download") as answer:
        if answer.status_code == 404:
            return ""
        assert answer.status_code == 200, answer.text
        with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
            return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def pages_with(app: Flask, person: Person, ids: dict[str, int]) -> set[str]:
    """Every address of the person's that answers with one of the words."""
    browser = browser_client(app, person)
    csrf_token(browser.get("/settings").text)
    found = set()
    for rule, method, path in routes(app, ids):
        if method != "GET" or path.startswith(("/logout", "/api/events")):
            continue
        is_searched = "<" not in rule.rule and not path.startswith(UNSEARCHED)
        asked = [path, f"{path}?q=What+must+Ylva+never+eat"] if is_searched else [path]
        for address in asked:
            headers = {} if path.startswith("/api/") else {"HX-Request": "true"}
            with browser.get(address, headers=headers) as answer:
                if words_in(answer.data.decode("utf-8", "replace")):
                    found.add(address)
    return found


def told_to_programs(app: Flask, person: Person, reply_id: int) -> dict[str, str]:
    """What the protocols for programs answer about it: the stored response, and every tool of MCP that reads."""
    with app.app_context(), write_transaction():
        secret = tokens.create_token(person.user_id, NewToken(name="Claude Code", scopes=None))[1]
    program, headers = app.test_client(), {"Authorization": f"Bearer {secret}"}
    found = {"responses": program.get(f"/v1/responses/resp_{reply_id}", headers=headers).text}
    for tool, arguments in (
        ("search", {"query": "What must Ylva never eat"}),
        ("fetch", {"id": f"message-{reply_id}"}),
        ("list_memories", {}),
        ("get_context", {"task": "Cook for Ylva: what must she never eat?"}),
    ):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = program.post("/mcp", json=call, headers=headers)
        assert answer.status_code == 200, answer.text
        found[tool] = answer.text
    return found


def leaks(answers: dict[str, str]) -> list[str]:
    return [name for name, text in answers.items() if words_in(text)]


def test_nothing_that_another_member_can_open_tells_it(app, api, make_user, model, run_jobs, receiver):
    """One fact is withdrawn; of the other, which the reply told in other words, all is forgotten."""
    anna, ben = api(make_user(name="Anna")), api(make_user(name="Ben"))
    space_id = make_space(anna, "Ylva")
    join(anna, space_id, ben)
    fact_id, forgotten_id = (add_fact(anna, space_id, fact, shared=True) for fact in (WITHDRAWN, FORGOTTEN))
    talk = converse(ben, space_id)
    hook = ben.post("/api/webhooks", json={"url": receiver.url, "with_content": True}).get_json()
    model.script(match="eat", reply=TOLD, times=1)
    assert words_in(str(say(ben, talk, "What may Ylva eat?"))) == BOTH
    run_jobs()
    with app.app_context(), write_transaction():
        of_talk = select(Message).where(Message.conversation_id == talk, Message.role == "assistant")
        reply = db.session.scalars(of_talk).one()
        told = f"{WITHDRAWN}. {FORGOTTEN}."
        reply.suggested_values = [WITHDRAWN, FORGOTTEN]
        reply.tool_calls = [{"tool_name": "web_search", "input": {"query": told}, "result": {"text": told}}]
        db.session.add(MessageReasoning(message_id=reply.message_id, content=f"They said {told} I should say so."))
        ids = dict.fromkeys(("message_id", "turn_id", "version_id"), reply.message_id)
        ids |= {"conversation_id": talk, "memory_id": fact_id, "space_id": space_id, "user_id": ben.person.user_id}
    link = ben.post(f"/api/conversations/{talk}/shares", json={"audience": "anyone"}).get_json()["url"]
    shared = "/s/" + link.rpartition("/s/")[2]
    assert words_in(app.test_client().get(shared).text) == words_in(export_text(ben, run_jobs)) == BOTH
    assert words_in(ben.get(f"/api/conversations/{talk}/messages").text) == BOTH
    assert words_in(export_text(anna, run_jobs)) == BOTH
    (old,) = (row["export_id"] for row in ben.get("/api/exports").get_json()["exports"])
    (hers,) = (row["export_id"] for row in anna.get("/api/exports").get_json()["exports"])
    before = leaks(told_to_programs(app, ben.person, ids["message_id"]))
    assert {"responses", "search", "get_context"} <= set(before)
    withdrawn = anna.patch(f"/api/ai/facts/{fact_id}/visibility", json={"visibility": "private"})
    assert withdrawn.status_code == 200
    assert words_in(fetch_export(anna, hers)) == BOTH, "what is withdrawn stays hers"
    assert anna.delete(f"/api/memories/{forgotten_id}").status_code == 200
    assert leaks(told_to_programs(app, ben.person, ids["message_id"])) == []
    receiver.asked.clear()
    receiver.status = 200
    make_due(app)
    with app.app_context():
        delivery.deliver(hook["webhook_id"])
    assert any(data.get("message_id") == ids["message_id"] for _, data in receiver.events())
    assert not any(words_in(body.decode("utf-8", "replace")) for _, body in receiver.got)
    assert words_in(fetch_export(anna, hers)) == set()
    assert fetch_export(ben, old) == "", "what was taken out before is not handed out any more"
    assert pages_with(app, ben.person, ids) == set()
    assert words_in(app.test_client().get(shared).text) == words_in(export_text(ben, run_jobs)) == set()
    say(ben, talk, "And now?")
    (call, *_) = [call for call in reversed(model.calls()) if call["stream"]]
    assert words_in(str(call["messages"])) == set()
