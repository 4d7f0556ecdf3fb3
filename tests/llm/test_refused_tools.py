"""A tool that a server refuses costs nothing but itself: found by halving, left out, and remembered alone."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.llm.helpers import Heard, listen
from tests.tools.servers import Asked, Site, serve
from webapp.llm.capabilities import Capabilities, tool_fingerprint
from webapp.llm.errors import RateLimited
from webapp.llm.refused_tools import MAX_TRIALS, ORDINARY, Search
from webapp.llm.settings import ModelSettings

SAID = b'data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def tool(name: str, **schema: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}, **schema}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


OWN = [tool("remember"), tool("search_memories"), tool("calculate")]
ODD = tool("odd", odd=True)


def search(tools: list[Any], refuses: Callable[[list[Any]], bool]) -> tuple[bool, list[Any], list[Any], int, bool]:
    """Whether tools were to blame, those kept, those refused, the number of trials, and whether none are taken."""
    asked: list[Any] = []
    refused: list[Any] = []

    async def takes(some: Any) -> bool:
        asked.append(some)
        return not refuses(list(some))

    found = Search(takes, refused.append)
    blamed = asyncio.run(found.run(tools))
    return blamed, found.tools, refused, len(asked), found.takes_none


@given(st.integers(1, 60), st.sets(st.integers(0, 59), max_size=2))
def test_one_or_two_are_found_among_many(many, places):
    tools = [tool(f"t{n}", odd=n in places) for n in range(many)]
    bad = [tools[n] for n in sorted(places) if n < many]
    blamed, kept, refused, trials, _ = search(tools, lambda some: any(one in some for one in bad))
    assert (blamed, refused) == (bool(bad), bad)
    assert kept == [one for one in tools if one not in bad] or not bad
    assert trials <= MAX_TRIALS + 6


@given(st.sets(st.integers(0, 59)))
def test_the_search_is_bounded_and_refuses_none_without_a_trial(places):
    tools = [tool(f"t{n}") for n in range(60)]
    bad = [tools[n] for n in places]
    _, kept, refused, trials, _ = search(tools, lambda some: any(one in some for one in bad))
    assert trials <= MAX_TRIALS + 6
    assert all(one in bad for one in refused) and not any(one in bad for one in kept)


def test_too_many_at_once_are_nobodys_fault():
    tools = [tool(f"t{n}") for n in range(20)]
    blamed, kept, refused, _, _ = search(tools, lambda some: len(some) > 7)
    assert blamed and refused == [] and kept == tools[:7]


def test_only_a_server_that_refuses_an_ordinary_tool_alone_is_one_without():
    assert search(OWN, bool) == (True, [], [], 3, True)
    assert search(OWN, lambda _some: True)[:3] == (False, [], [])
    assert search([ODD], lambda some: ODD in some)[:3] == (True, [], [ODD])
    assert ORDINARY["function"]["parameters"]["type"] == "object"


def test_a_server_that_breaks_down_during_the_search_blames_no_tool():
    tools, asked = [tool(f"t{n}") for n in range(8)], 0

    def breaks_down(_some: list[Any]) -> bool:
        nonlocal asked
        asked += 1
        return asked != 2  # only the ordinary tool is taken, once

    assert search(tools, breaks_down)[:3] == (True, [], [])


def make_answer(refusal: Callable[[dict[str, Any]], Any]) -> Callable[[Asked], tuple[int, dict[str, str], Any]]:
    def answer(asked: Asked) -> tuple[int, dict[str, str], Any]:
        refused = refusal(asked.json)
        return refused if refused else (200, {"Content-Type": "text/event-stream"}, SAID)

    return answer


def ask(site: Site, known: Capabilities, tools: list[Any], **more: Any) -> tuple[Heard, list[list[str]]]:
    """What was heard, and the names of the tools in each request."""
    del site.asked[:]
    settings = ModelSettings(base_url=f"{site.url}/v1", chat_model="m", retry_base=0.01)
    heard = listen(settings, known, tools=tools, **more)
    return heard, [[one["function"]["name"] for one in asked.json.get("tools", ())] for asked in site.asked]


def odd_in(body: dict[str, Any]) -> bool:
    return '"odd"' in json.dumps(body.get("tools", ()))


IN_STREAM = b'data: {"error":{"code":400,"message":"Provider returned error"}}\n\n'
REFUSALS = [
    (400, {}, {"error": {"message": "Failed to parse tools: Unrecognized schema: {}", "code": 400}}),
    (400, {}, [{"error": {"code": 400, "message": "Unknown name at 'tools[0]'", "status": "INVALID_ARGUMENT"}}]),
    (400, {}, {"error": {"message": "tools are not supported: unknown schema", "param": "tools"}}),
    (422, {}, {"detail": [{"loc": ["body", "tools", 3], "msg": "unsupported schema"}]}),
    (500, {}, {"error": {"message": "Value is not callable: null at row 58", "code": 500}}),
    (200, {"Content-Type": "text/event-stream"}, IN_STREAM),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_a_refused_tool_costs_only_itself(refusal):
    known = Capabilities()
    with serve() as site:
        site.answer = make_answer(lambda body: refusal if odd_in(body) else None)
        heard, asked = ask(site, known, [*OWN, ODD, tool("other")])
        assert (heard.error, heard.text) == (None, "Hello.")
        assert asked[-1] == ["remember", "search_memories", "calculate", "other"] and len(asked) <= 12
        # It is not asked about again; whoever else is on this model has all tools.
        assert ask(site, known, [*OWN, ODD])[1] == [["remember", "search_memories", "calculate"]]
        assert ask(site, known, OWN)[1] == [["remember", "search_memories", "calculate"]]
        assert known.accepts(f"{site.url}/v1", "m", "tools")
        assert known.tools_refused(f"{site.url}/v1", "m") == {tool_fingerprint(ODD)}
        # Another schema is another tool, and a forgotten refusal is tried again.
        assert len(ask(site, known, [*OWN, tool("fine", strange=True)])[1]) == 1
        known.forget_tools(f"{site.url}/v1", "m", [tool_fingerprint(ODD)])
        assert len(ask(site, known, [*OWN, ODD])[1]) > 1


def test_a_server_without_tools_is_known_as_such_and_asked_once():
    known = Capabilities()
    with serve() as site:
        refusal = (400, {}, {"error": {"message": "m does not support tools"}})
        site.answer = make_answer(lambda body: refusal if "tools" in body else None)
        heard, _ = ask(site, known, OWN, parameters={"tool_choice": "auto", "parallel_tool_calls": False})
        assert heard.text == "Hello." and not known.accepts(f"{site.url}/v1", "m", "tools")
        assert site.asked[-1].json.keys() & {"tool_choice", "parallel_tool_calls"} == set()
        assert ask(site, known, OWN)[1] == [[]]


def test_a_request_refused_for_another_reason_blames_no_tool(monkeypatch):
    known = Capabilities()
    refusal = (400, {}, {"error": {"message": "the tools' temperature is too hot"}})
    with serve() as site:
        site.answer = make_answer(lambda body: refusal if body["messages"][0]["content"] == "hello" else None)
        heard, asked = ask(site, known, OWN)
        assert heard.error is not None and len(asked) == 2
        parts = [{"type": "image_url", "image_url": {"url": "data:"}}]
        monkeypatch.setattr("tests.llm.helpers.ASK", [{"role": "user", "content": parts}])
        site.answer = make_answer(lambda body: refusal if isinstance(body["messages"][0]["content"], list) else None)
        heard, asked = ask(site, known, OWN)
        assert (heard.text, asked) == ("Hello.", [[tool["function"]["name"] for tool in OWN]] * 3)
        assert known.accepts(f"{site.url}/v1", "m", "tools") and not known.tools_refused(f"{site.url}/v1", "m")


def test_a_server_that_is_busy_during_the_search_blames_no_tool():
    known = Capabilities()
    with serve() as site:
        answers = iter([(400, {}, {"error": {"message": "no"}}), (429, {}, {"error": {"message": "busy"}})])
        site.answer = lambda _asked: next(answers)
        heard, _ = ask(site, known, OWN)
        assert heard.error is not None and not isinstance(heard.error, RateLimited)
        assert known.accepts(f"{site.url}/v1", "m", "tools") and not known.tools_refused(f"{site.url}/v1", "m")


def test_refusals_are_shared_and_read_again():
    store: dict[str, str] = {}

    class Store:
        get = staticmethod(store.get)
        set = staticmethod(lambda key, value, ex: store.__setitem__(key, value))

    Capabilities(Store()).refuse_tool("http://host/v1", "m", "abc")
    other = Capabilities(Store())
    assert other.tools_refused("http://host/v1", "m") == {"abc"}
    assert other.tools_refused("http://host/v1", "n") == set()
    other.forget_tools("http://host/v1", "m", ["abc", "x"])
    assert Capabilities(Store()).tools_refused("http://host/v1", "m") == set()
