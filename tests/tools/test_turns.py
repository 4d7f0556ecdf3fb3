"""Tools in real turns: offered where they are wanted, recorded, shown, bounded, and gone with the message."""

import json
import os
from datetime import datetime
from zoneinfo import ZoneInfo

import blingfire
import pytest

from testkit.people import post_form
from tests.memories.keeping.test_forgetting import found_in
from tests.memories.learning.test_tools import calls_tool, chats, send
from tests.support.queries import count_queries, execute, get_row
from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.chat.context import assembly
from webapp.chat.service import start_turn
from webapp.chat.turns.progress import Progress
from webapp.conversations.models import Conversation
from webapp.conversations.tool_records import arguments_line, outside_texts, sources_of
from webapp.db.base import add_row, db, write_transaction
from webapp.providers.catalogue import catalogue
from webapp.providers.models import ModelConnection, ModelOffer
from webapp.tools.calls import clean_record
from webapp.tools.registry import BUILT_IN

HELLO = "^(?!memory_operations|conversation_title|# |User:)"


def test_their_definitions_are_short():
    tokenizer = blingfire.load_model(os.path.join(os.path.dirname(blingfire.__file__), "gpt2.bin"))
    for tool in BUILT_IN:
        text = json.dumps(tool.definition, separators=(",", ":"))
        assert len(blingfire.text_to_ids(tokenizer, text, 400, 0, True).nonzero()[0]) < 90, text
    blingfire.free_model(tokenizer)


def test_a_sum_is_calculated_recorded_and_exported(app, client, model):
    calls_tool(model, "calculate", expression="19.99 * 3")
    reply = send(client, "What do three cost?")
    (call,) = reply["tool_calls"]
    assert (call["tool_name"], call["input"], call["output"]) == (
        "calculate",
        {"expression": "19.99 * 3"},
        {"result": "59.97"},
    )
    first, second = chats(model)
    assert first["tools"][-3:] == ["calculate", "dates", "propose_schedule"] and first["tools"] == second["tools"]
    assert second["messages"][-1]["content"] == '{"result": "59.97"}'
    # The prompt begins as it did: only what came of the call is new.
    assert second["messages"][: len(first["messages"])] == first["messages"]


def test_dates_and_times_are_in_the_persons_time_zone(client, model):
    zone = ZoneInfo("Pacific/Kiritimati")
    assert client.put("/api/account", json={"settings": {"timezone": zone.key}}).status_code == 200
    calls_tool(model, "dates")
    before = datetime.now(zone).replace(second=0, microsecond=0)
    (call,) = send(client, "What time is it?")["tool_calls"]
    moment = datetime.fromisoformat("{date}T{time_now}".format_map(call["output"])).replace(tzinfo=zone)
    assert before <= moment <= datetime.now(zone)


def test_the_browsers_zone_is_kept_for_an_account_without_one(app, user, model, browser):
    def zone() -> str:
        return (get_row(app, User, user.user_id).settings or {}).get("timezone", "UTC")

    for told, kept in (("Nowhere/Atall", "UTC"), ("Europe/Lisbon", "Europe/Lisbon"), ("Asia/Tokyo", "Europe/Lisbon")):
        browser.set_cookie("tz", told)
        assert post_form(browser, "/conversations", content="Hello").status_code in (200, 303)
        assert zone() == kept


def test_the_browsers_language_is_kept_for_what_is_made_without_it(app, user, model, browser):
    def language() -> str:
        return UserSettings.of(get_row(app, User, user.user_id).settings).document_language

    for asked, kept in (("xx", "en"), ("de-AT,en;q=0.5", "de"), ("ar", "ar")):
        headers = {"Accept-Language": asked}
        assert post_form(browser, "/conversations", headers=headers, content="Hello").status_code in (200, 303)
        assert language() == kept


def test_an_example_of_a_call_is_neither_run_nor_cut(client, model):
    call = '{"name": "calculate", "arguments": {"expression": "6*7"}}'
    example = f"It looks like this:\n\n```json\n{call}\n```\n\n> <tool_call>{call}</tool_call>"
    model.script(match=HELLO, reply=example)
    reply = send(client, "What does a call look like?")
    assert (reply["content"], reply["tool_calls"]) == (example, None)


def test_a_call_that_makes_no_sense_is_answered(client, model):
    senseless = ['{"expression": "1/0"}', "{", "[]", '{"expression": NaN}', '{"expression": 1e999}', "[" * 3_000]
    calls = [{"name": "calculate", "arguments": arguments} for arguments in senseless]
    calls += [{"name": "no tool: " + "x" * 99, "arguments": '{"cups": 2,}'}]
    model.script(match=HELLO, reply="Done.", times=1)
    model.script(match=HELLO, tool_calls=calls, times=1)
    reply = send(client, "Calculate")
    assert reply["status"] == "complete"
    assert [call["output"]["status"] for call in reply["tool_calls"]] == ["error"] * len(calls)
    (sent,) = [body for body in model.calls() if str(body.get("messages", [{}])[-1].get("role")) == "tool"]
    returned = [call["function"] for message in sent["messages"] for call in message.get("tool_calls", ())]
    last = returned.pop()
    assert {call["arguments"] for call in returned} == {'{"expression": "1/0"}', "{}"}  # what servers read again
    assert last == {"name": "no_tool__" + "x" * 55, "arguments": '{"cups": 2}'}


def test_records_are_such_as_every_database_holds(client, model):
    deep: object = "x"
    for _ in range(60):
        deep = [deep]
    strange = {"expression": "1+1", "more": "nul \x00 and \ud800", "deep": deep}
    model.script(match=HELLO, reply="Done.", times=1)
    model.script(match=HELLO, tool_calls=[{"name": "calculate", "arguments": json.dumps(strange)}], times=1)
    assert send(client, "Calculate")["status"] == "complete"
    del strange["deep"]
    model.script(match=HELLO, reply="Done.", times=1)
    model.script(match=HELLO, tool_calls=[{"name": "calculate", "arguments": json.dumps(strange)}], times=1)
    reply = send(client, "Calculate")
    assert reply["tool_calls"][0]["output"] == {"result": "2"}
    assert reply["tool_calls"][0]["input"]["more"] == "nul  and ?"


def test_whoever_switches_them_off_has_none(client, user, login, model):
    assert "Let replies calculate" in login(user).get("/settings/tools").text
    client.put("/api/account", json={"settings": {"builtin_tools_enabled": False}})
    model.script(match=HELLO, reply="Hello.")
    send(client, "Hello there")
    assert chats(model)[0]["tools"] == ["remember", "forget", "search_memories"]


def test_a_connection_may_go_without_them(app, client, model):
    with app.app_context(), write_transaction():
        row = add_row(ModelConnection(name="Small", base_url=model.base_url, header_names=[], builtin_tools=False))
        db.session.add(ModelOffer(connection_id=row.connection_id, model="small", label="Small", parameters={}))
        chosen = f"{row.connection_id}/small"
    catalogue.forget()
    try:
        model.script(match=HELLO, reply="Hello.")
        sent = client.post("/api/chat/stream", json={"message": "Hello there", "model": chosen})
        assert b"event: done" in sent.get_data()
    finally:
        catalogue.forget()
    (call,) = chats(model)
    assert (call["model"], call["tools"]) == ("small", ["remember", "forget", "search_memories"])


def test_they_cost_no_statement(app, make_user):
    sent: dict[bool, int] = {}
    for wanted in (False, True):
        user = make_user()
        with app.app_context():
            with write_transaction():
                db.session.get(User, user.user_id).settings = {"builtin_tools_enabled": wanted}
                turn_id = start_turn(user.user_id, "Hello").turn_id
            assembly.assemble(turn_id, app.extensions["settings"])  # what is kept for a while is kept now
            db.session.remove()
            with count_queries() as statements:
                made = assembly.assemble(turn_id, app.extensions["settings"])
            assert ("calculate" in str(made.toolset.definitions)) is wanted
            sent[wanted] = len(statements)
    assert sent[True] == sent[False]


def test_a_call_goes_with_its_message(app, client, model):
    calls_tool(model, "calculate", expression="1000003 * 3")
    reply = send(client, "Multiply")
    assert found_in(app, "1000003") == {"messages"}
    client.delete(f"/api/conversations/{reply['conversation_id']}")
    assert found_in(app, "1000003") <= {"messages"}
    execute(app, db.delete(Conversation))
    assert found_in(app, "1000003") == set()


def test_the_page_shows_what_was_used(client, user, login, model):
    calls_tool(model, "calculate", expression="1/0")
    reply = send(client, "Divide")
    page = login(user).get(f"/c/{reply['conversation_id']}").text
    assert "Used 1 tool" in page and "did not work" in page and "Nothing can be divided by zero." in page


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("a\x00b\x00\x00c", "abc"),
        (r"if (c == '\u0000') {", r"if (c == '\u0000') {"),
        ("\\\\\x00\\u0000", r"\\\u0000"),
        ("half \ud83d of one", "half ? of one"),
    ],
)
def test_a_record_can_be_stored_whatever_a_tool_or_a_model_says(said, kept):
    assert clean_record({"output": {"text": said}, "n": [said]}) == {"output": {"text": kept}, "n": [kept]}


CALLS = [
    {"tool_name": "web_search", "output": {"text": "found", "sources": [{"url": "https://a.org/", "title": "A"}] * 2}},
    {"tool_name": "read_page", "output": {"text": "read", "sources": [{"url": "https://www.b.org/", "title": ""}]}},
    {"tool_name": "x", "output": {"sources": [{"url": "javascript:alert(1)"}, {"url": "http://[::1"}, {}]}},
    {"tool_name": "remember", "output": {"status": "remembered", "memory_id": 1}},
    {"tool_name": "y", "output": None},
]


def test_sources_are_named_once_those_that_were_read_first():
    assert [(source.url, source.host) for source in sources_of(CALLS)] == [
        ("https://www.b.org/", "b.org"),
        ("https://a.org/", "a.org"),
    ]
    assert sources_of(None) == []


def test_what_was_heard_is_text_from_outside():
    assert outside_texts(CALLS) == ["found", "read"]


def test_what_was_given_in_a_line():
    assert arguments_line({"query": "grey\n herons"}) == "grey herons"
    assert arguments_line({"where": "pond", "many": 3, "empty": ""}) == "where: pond · many: 3"
    assert arguments_line(None) == ""


def test_what_goes_out_again_is_counted_where_nobody_reports_it():
    progress = Progress()
    progress.count_repeated_prompt(1_000, [{"role": "tool", "content": "word " * 100}])
    first = progress.asked_again_tokens
    progress.count_repeated_prompt(1_000, [{"role": "tool", "content": "word " * 100}])
    assert 1_100 < first < 1_300 and progress.asked_again_tokens > 2 * first
