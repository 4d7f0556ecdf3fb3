"""A client's tools on the wire and beside ours: no server."""

from typing import Any

import pytest

from webapp.gateway.functions import UnsupportedRequest, read_tools
from webapp.gateway.wire import Completion, read
from webapp.llm.partial_calls import ToolCall
from webapp.tools.client_tools import (
    MAX_RESULT,
    ClientTools,
    arguments_of,
    call_id,
    client_call_record,
    result_of,
    rounds_as_prompt,
    with_clients,
)
from webapp.tools.registry import BUILT_IN
from webapp.tools.toolset import Toolset


def tool(name: str = "weather", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def nested_schema(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"in": schema}}
    return schema


@pytest.mark.parametrize(
    ("tools", "choice", "param"),
    [
        ([{"type": "custom"}], None, "tools[0].type"),
        (["weather"], None, "tools[0].type"),
        ([{"type": "function"}], None, "tools[0].function"),
        ([tool("")], None, "tools[0].function.name"),
        ([tool("a b")], None, "tools[0].function.name"),
        ([tool("x" * 65)], None, "tools[0].function.name"),
        ([tool(), tool()], None, "tools[1].function.name"),
        ([tool(description=5)], None, "tools[0].function.description"),
        ([tool(strict="yes")], None, "tools[0].function.strict"),
        ([tool(parameters=[])], None, "tools[0].function.parameters"),
        ([tool(parameters={"type": "string"})], None, "tools[0].function.parameters"),
        ([tool(parameters={"properties": []})], None, "tools[0].function.parameters"),
        ([tool(parameters={"properties": {"a": 5}})], None, "tools[0].function.parameters"),
        ([tool(parameters={"required": "a"})], None, "tools[0].function.parameters"),
        ([tool(parameters=nested_schema(30))], None, "tools[0].function.parameters"),
        ([tool(description="x" * 40_000)], None, "tools[0].function"),
        ([tool(f"n{number}", description="x" * 30_000) for number in range(8)], None, "tools"),
        ([tool(f"n{number}") for number in range(129)], None, "tools"),
        ([tool(description="half \ud800")], None, "tools[0].function"),
        ([tool(parameters={"properties": {"\ud800": {}}})], None, "tools[0].function"),
        ([tool(parameters={"default": float("nan")})], None, "tools[0].function"),
        ([], "required", "tool_choice"),
        ([tool()], "sometimes", "tool_choice"),
        ([tool()], 5, "tool_choice"),
        ([tool()], {"type": "function", "function": {"name": "time"}}, "tool_choice"),
        ([tool()], {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, "tool_choice"),
    ],
)
def test_what_no_server_would_take_is_refused_by_its_place(tools, choice, param):
    with pytest.raises(UnsupportedRequest) as refused:
        read_tools(tools, choice)
    assert refused.value.param == param


def test_choices():
    both = [tool("weather"), tool("time")]
    named = {"type": "function", "function": {"name": "time"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}
    assert read_tools(both) == ClientTools(both)
    assert read_tools(both, "auto", False) == ClientTools(both, parallel=False)
    assert read_tools(both, "none") is None
    assert read_tools(None) is None
    assert read_tools(both, "required") == ClientTools(both, "required", alone=True)
    assert read_tools(both, named) == ClientTools(both, named, alone=True)
    assert read_tools(both, allowed) == ClientTools([both[1]], "required", alone=True)


def test_theirs_stand_behind_ours_and_a_clash_is_told_apart():
    ours = Toolset(BUILT_IN)
    theirs = ClientTools([tool("calculate"), tool("client_calculate"), tool("weather")])
    found = with_clients(ours, theirs)
    assert [one.name for one in found.tools] == [
        *("calculate", "dates", "propose_schedule"),
        *("client_calculate_2", "client_calculate", "weather"),
    ]
    assert [one.title for one in found.tools[3:]] == ["calculate", "client_calculate", "weather"]
    assert len({one.name for one in found.tools}) == len(found.tools)
    assert with_clients(ours, None) is ours
    named = {"type": "function", "function": {"name": "calculate"}}
    alone = with_clients(ours, ClientTools([tool("calculate")], named, parallel=False, alone=True))
    assert [one.name for one in alone.tools] == ["client_calculate"]
    assert alone.parameters == {
        "tool_choice": {"type": "function", "function": {"name": "client_calculate"}},
        "parallel_tool_calls": False,
    }


def test_a_call_is_kept_under_an_id_of_its_own():
    offered = with_clients(Toolset(), ClientTools([tool()])).tools[0]
    record = client_call_record(ToolCall("call_1", "weather", '{"city": "Porto"}'), offered, 7, 0).record
    assert record == {
        "tool_name": "weather",
        "input": {"city": "Porto"},
        "output": {"status": "waiting"},
        "by": "client",
        "call_id": call_id(7, 0),
    }
    assert arguments_of(record) == '{"city": "Porto"}'
    broken = client_call_record(ToolCall("call_1", "weather", '{"city": '), offered, 7, 1).record
    assert arguments_of(broken) == '{"city": '
    assert arguments_of(client_call_record(ToolCall("", "weather", ""), offered, 7, 2).record) == "{}"
    ids = [call_id(turn, number) for turn in range(50) for number in range(4)]
    assert len(set(ids)) == len(ids)
    assert all(len(one) == 9 and one.isalnum() for one in ids)


def test_answers_are_bounded_the_longest_first():
    assert len(result_of("x" * (MAX_RESULT + 5))["text"]) < MAX_RESULT + 60
    call = {"tool_name": "weather", "input": {}, "by": "client", "call_id": "a"}
    rounds = [
        (1, "Let me see.", [{**call, "output": {"text": "Sunny."}}, {**call, "output": {"text": "word " * 5_000}}]),
        (2, "", [{"tool_name": "remember", "input": {}, "output": {"status": "created"}}]),
        (3, "", [{**call, "output": {"status": "waiting"}}]),
    ]
    sent = rounds_as_prompt(rounds, 500)
    assert [message["role"] for message in sent] == [*("assistant", "tool", "tool"), *("assistant", "tool") * 2]
    assert sent[1]["content"] == "Sunny."
    assert "left out" in sent[2]["content"]
    assert len(sent[2]["content"]) < 2_500
    assert sent[4]["content"] == '{"status": "created"}'
    assert sent[6]["content"] == "This call was not answered."
    assert sent[3]["content"] is None
    assert sent[4]["tool_call_id"] == sent[3]["tool_calls"][0]["id"] == call_id(2, 0)


def completion(*messages: dict[str, Any]) -> Completion:
    return Completion.model_validate({"messages": messages})


CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "Sunny."}
QUESTION = {"role": "user", "content": "What is the weather?"}


def test_answers_are_read_with_their_question():
    found = read(completion(QUESTION, CALLED, ANSWER))
    assert (found.question, found.history) == ("What is the weather?", [])
    assert [dict(one.results) for one in found.rounds] == [{"a": "Sunny."}]
    assert found.lines == [("user", "What is the weather?")]
    later = read(completion(QUESTION, CALLED, ANSWER, {"role": "assistant", "content": "It is sunny."}, QUESTION))
    assert later.rounds == ()
    assert later.history == [("user", "What is the weather?"), ("assistant", "It is sunny.")]


@pytest.mark.parametrize(
    "messages",
    [
        [ANSWER],
        [QUESTION, ANSWER],
        [QUESTION, CALLED, {**ANSWER, "tool_call_id": "b"}],
        [QUESTION, {**CALLED, "tool_calls": [*CALLED["tool_calls"], {**CALLED["tool_calls"][0], "id": "b"}]}, ANSWER],  # type: ignore[misc]
        [QUESTION, CALLED, CALLED, ANSWER],
        [QUESTION, {**CALLED, "tool_calls": [{"id": "a"}]}, ANSWER],
        [QUESTION, {**CALLED, "tool_calls": ["a"]}, ANSWER],
        [QUESTION, CALLED, {**ANSWER, "content": [{"type": "audio"}]}],
    ],
)
def test_calls_without_answers_and_answers_without_calls_are_refused(messages):
    with pytest.raises(UnsupportedRequest) as refused:
        read(completion(*messages))
    assert refused.value.param == "messages"
