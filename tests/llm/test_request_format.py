"""Whatever a conversation holds, what is sent begins with the user and alternates, and says the same words in order."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, strategies as st
from openai import APIStatusError

from tests.llm.helpers import settings_for
from webapp.llm.capabilities import Capabilities
from webapp.llm.chat import ChatClient
from webapp.llm.events import TextDelta
from webapp.llm.request_format import OPENING_NOTE, adapt_body, learn_rejection, merge_turns, without_system

WORDS = st.text(alphabet="abc ", min_size=1, max_size=5)
SPOKEN = st.builds(
    lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "assistant"]), WORDS
)
SYSTEM = st.lists(st.builds(lambda content: {"role": "system", "content": content}, WORDS), max_size=2)

REJECTIONS = json.loads(Path(__file__).with_name("rejections.json").read_text())


def talk(*turns: str) -> list[dict[str, Any]]:
    names = {"s": "system", "u": "user", "a": "assistant"}
    return [{"role": names[turn[0]], "content": turn[1:]} for turn in turns]


def _refusal(status: int, body: dict[str, Any]) -> APIStatusError:
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://a"))
    return APIStatusError("refused", response=response, body=body)


@given(SYSTEM, st.lists(SPOKEN, min_size=1, max_size=12))
def test_any_conversation_alternates_and_begins_with_the_user(system, spoken):
    result = merge_turns([*system, *spoken])
    roles = [message["role"] for message in result]
    assert roles.count("system") == bool(system)
    rest = roles[bool(system) :]
    assert rest == [("user", "assistant")[place % 2] for place in range(len(rest))]
    everything = "".join(message["content"] for message in result).replace(OPENING_NOTE, "")
    assert everything.replace("\n\n", "") == "".join(message["content"] for message in [*system, *spoken])
    assert merge_turns(result) == result


@given(SYSTEM, st.lists(SPOKEN, min_size=1, max_size=10), SPOKEN)
def test_one_more_message_leaves_the_beginning_as_it_was(system, spoken, more):
    """A provider's cache keeps what it has: only the last message may grow."""
    before, after = merge_turns([*system, *spoken]), merge_turns([*system, *spoken, more])
    assert after[: len(before) - 1] == before[:-1]
    assert after[len(before) - 1]["content"].startswith(before[-1]["content"])


def test_an_opening_question_and_messages_sent_in_a_row():
    assert merge_turns(talk("sBrief.", "aHow old are you?", "u30", "uand a half", "aThanks.", "aAnd where?")) == talk(
        "sBrief.", f"u{OPENING_NOTE}", "aHow old are you?", "u30\n\nand a half", "aThanks.\n\nAnd where?"
    )


def test_calls_of_tools_keep_their_answers():
    calls = {"role": "assistant", "content": "Wait.", "tool_calls": [{"id": "1"}]}
    answers = [{"role": "tool", "tool_call_id": str(n), "content": "{}"} for n in (1, 2)]
    sent = [*talk("uHi"), calls, *answers]
    assert merge_turns(sent) == sent
    again = merge_turns([*talk("uHi", "aSo"), calls, *answers])
    assert again == [*talk("uHi"), {**calls, "content": "So\n\nWait."}, *answers]


def test_parts_and_words_are_joined_as_parts():
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    (joined,) = merge_turns([picture, *talk("uWhat is it?")])
    assert joined["content"] == [*picture["content"], {"type": "text", "text": "What is it?"}]


def test_without_a_system_role_its_words_come_first():
    assert without_system(talk("sBe brief.", "uHi", "aHello")) == talk("uBe brief.\n\nHi", "aHello")


def test_a_server_without_a_system_role_is_asked_again_without_one(server):
    server.script(fault={"refuse_system": True})
    capabilities = Capabilities()

    async def run() -> str:
        client = ChatClient(settings_for(server), capabilities)
        text = ""
        async for event in client.stream(talk("sBe brief.", "uHi")):
            text += event.text if isinstance(event, TextDelta) else ""
        await client.aclose()
        return text

    assert asyncio.run(run())
    assert [call["messages"] for call in server.calls()] == [talk("sBe brief.", "uHi"), talk("uBe brief.\n\nHi")]
    assert not capabilities.accepts(server.base_url, "test-chat", "system")


@pytest.mark.parametrize(
    ("status", "words", "feature"), json.loads(Path(__file__).with_name("rejections.json").read_text())
)
def test_what_a_server_refuses_is_known_by_its_words(status, words, feature):
    messages = talk("sBrief.", "uHi") if feature else talk("uHi")
    body = {"model": "m", "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    body |= {"temperature": 0.5}
    if feature == "images":
        messages[-1]["content"] = [{"type": "image_url", "image_url": {"url": "data:"}}]
    error = _refusal(status, {"message": words, "code": "unsupported_value"})
    capabilities = Capabilities()
    assert learn_rejection(error, body, "http://a", capabilities) == (feature is not None)
    assert feature is None or not capabilities.accepts("http://a", "m", feature)


def test_without_a_stream_nothing_is_asked_of_it():
    capabilities = Capabilities()
    capabilities.refuse("http://a", "m", "stream")
    body = {"model": "m", "messages": talk("uHi"), "stream": True, "stream_options": {"include_usage": True}}
    assert adapt_body(body, "http://a", capabilities) == {"model": "m", "messages": talk("uHi")}


def test_what_another_server_sent_with_its_calls_is_left_out_once_it_is_refused():
    """A model that stands in for another in the middle of a reply gets that one's calls."""
    plain = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}
    own = {**plain, "reasoning_details": [{}], "tool_calls": [{**plain["tool_calls"][0], "extra_content": {"a": 1}}]}
    body = {"model": "m", "messages": [*talk("uHi"), own]}
    words = "Additional properties are not allowed ('extra_content' was unexpected) - 'messages.1.tool_calls.0'"
    error = _refusal(400, {"message": words})
    capabilities = Capabilities()
    assert adapt_body(body, "http://a", capabilities)["messages"][-1] == own
    assert learn_rejection(error, body, "http://a", capabilities)
    assert adapt_body(body, "http://a", capabilities)["messages"][-1] == plain
