"""The gateway over HTTP: where histories go, what headers choose, errors; and the real client against the live app."""

import base64
from typing import Any

import numpy as np
import openai
import pytest
from flask import Flask
from flask.testing import FlaskClient

from testkit.people import Person
from testkit.processes import wait_until
from tests.files.test_pictures import chat_calls, photo, sent_pictures
from tests.memories.conversing import add_memory
from tests.support.live import LiveServer
from tests.support.queries import get_row, scalar, scalars
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, write_transaction
from webapp.files.models import File
from webapp.gateway.embeddings_api import MAX_TEXTS
from webapp.gateway.models import GatewayThread

Line = tuple[str, str]


def ask(client: FlaskClient, *lines: Line, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    """Send a history and return the answer."""
    messages = [{"role": role, "content": text} for role, text in lines]
    return client.post(
        "/v1/chat/completions", json={"model": "default", "messages": messages, **fields}, headers=headers
    )


def reply(client: FlaskClient, *lines: Line, headers: dict[str, str] | None = None, **fields: Any) -> tuple[str, int]:
    """The text of the reply and the conversation it is in."""
    answer = ask(client, *lines, headers=headers, **fields)
    assert answer.status_code == 200, answer.text
    found = answer.get_json()["choices"][0]["message"]["content"]
    return found, int(answer.headers["X-Commonplace-Conversation"])


def talks(app: Flask) -> list[tuple[int, int]]:
    """Every conversation with the number of its current messages."""
    with app.app_context():
        rows = db.session.execute(db.select(Conversation.conversation_id, Conversation.message_count)).all()
        return [tuple(row) for row in rows]


def lines(app: Flask, conversation_id: int) -> list[Line]:
    with app.app_context():
        query = db.select(Message.role, Message.content).where(
            Message.conversation_id == conversation_id, Message.superseded_by_id.is_(None)
        )
        return [tuple(row) for row in db.session.execute(query.order_by(Message.message_id))]


def test_a_clean_continuation_appends(app, client, model):
    model.script(reply="First.")
    first, conversation = reply(client, ("user", "One"))
    model.script(reply="Second.")
    second, again = reply(client, ("system", "Be brief."), ("user", "One"), ("assistant", first), ("user", "Two"))
    model.script(reply="Third.")
    history = [("user", "One"), ("assistant", first), ("user", "Two"), ("assistant", second)]
    _, still = reply(client, *history, ("user", "Three"))
    assert conversation == again == still
    assert talks(app) == [(conversation, 6)]
    assert lines(app, conversation) == [*history, ("user", "Three"), ("assistant", "Third.")]


def test_a_program_says_what_was_pasted(app, client, model):
    model.script(reply="I see.")
    message = {"role": "user", "content": "Look: I am Ann."}
    spans = [{"start": 6, "end": 99, "origin": "pasted"}]
    body = {"messages": [message | {"metadata": {"spans": spans, "mine": 1}}]}
    assert client.post("/v1/chat/completions", json=body).status_code == 200
    (row,) = scalars(app, db.select(Message).where(Message.role == "user"))
    assert row.provenance == ((6, 15, "pasted"),)
    spans[0]["origin"] = "mine"
    assert client.post("/v1/chat/completions", json=body).status_code in (400, 422)


def test_the_same_question_again_takes_the_place_of_the_reply(app, client, model):
    model.script(reply="First.")
    first, conversation = reply(client, ("user", "One"))
    history = [("user", "One"), ("assistant", first), ("user", "Two")]
    model.script(reply="Second.")
    reply(client, *history)
    model.script(reply="Another.")
    other, again = reply(client, *history)
    assert (other, again) == ("Another.", conversation)
    assert lines(app, conversation) == [*history, ("assistant", "Another.")]
    model.script(reply="On.")
    _, still = reply(client, *history, ("assistant", "Another."), ("user", "Three"))
    assert still == conversation


def test_an_edited_history_begins_another_conversation(app, client, model, run_jobs):
    model.script(reply="First.")
    first, conversation = reply(client, ("user", "One"))
    model.script(reply="Second.")
    reply(client, ("user", "One"), ("assistant", first), ("user", "Two"))
    edited = [("user", "One"), ("assistant", first), ("user", "Two, but otherwise")]
    model.script(reply="Third.")
    third, fork = reply(client, *edited)
    assert fork != conversation
    assert lines(app, fork) == [*edited, ("assistant", third)]
    model.script(reply="Fourth.")
    _, still = reply(client, *edited, ("assistant", third), ("user", "And on"))
    assert still == fork
    assert [count for _, count in talks(app)] == [4, 6]
    past = get_row(app, Conversation, fork).extracted_through
    texts = scalars(app, db.select(Message.content).where(Message.message_id == past))
    assert texts == [first]


@pytest.mark.parametrize("is_known", [True, False])
def test_the_same_question_again_in_a_fork_makes_no_second_fork(app, client, model, is_known):
    """Behind an edited question, and behind a history from elsewhere."""
    history = [("user", "One"), ("assistant", "First.")]
    if is_known:
        model.script(reply="First.", times=1)
        reply(client, history[0])
        reply(client, *history, ("user", "Two"))
    asked = [*history, ("user", "Two, but otherwise")]
    _, fork = reply(client, *asked)
    model.script(reply="Better.", times=1)
    better, again = reply(client, *asked)
    assert again == fork
    assert lines(app, fork) == [*asked, ("assistant", "Better.")]
    assert len(talks(app)) == 1 + is_known
    _, still = reply(client, *asked, ("assistant", better), ("user", "On"))
    assert still == fork
    _, other = reply(client, *asked)  # where it went on meanwhile, another one
    assert other not in (fork, 1)


def test_a_reply_that_lost_what_was_forgotten_is_known_and_does_not_come_back(app, client, model):
    model.script(reply="You live in Lisbon now.")
    first, conversation = reply(client, ("user", "Where do I live?"))
    with app.app_context(), write_transaction():
        row = db.session.scalar(db.select(Message).where(Message.role == "assistant"))
        row.content = "You live in [forgotten] now."
    model.script(reply="Well.")
    _, again = reply(client, ("user", "Where do I live?"), ("assistant", first), ("user", "Thanks"))
    assert again == conversation
    assert not any("Lisbon" in text for _, text in lines(app, conversation))


def test_what_was_forgotten_does_not_come_back_with_a_fork(app, client, model):
    memory_id = add_memory(app, client.person, "Allergic to penicillin")
    assert client.delete(f"/api/memories/{memory_id}").status_code in (200, 204)
    _, fork = reply(client, ("user", "Hello"), ("assistant", "Allergic to penicillin, I see."), ("user", "Thanks"))
    assert not any("penicillin" in text for _, text in lines(app, fork))


def test_headers_and_suffixes_choose(app, client):
    for choice, column, value in (
        ({"headers": {"X-Commonplace-Memory": "off"}}, "uses_memory", False),
        ({"headers": {"X-Commonplace-Memory": "read"}}, "makes_memory", False),
        ({"model": "default:temporary"}, "is_temporary", True),
        ({"model": "default:off"}, "uses_memory", False),
        ({}, "makes_memory", True),
    ):
        _, conversation = reply(client, ("user", "Hello"), **choice)
        with app.app_context():
            assert getattr(db.session.get(Conversation, conversation), column) is value, choice


def test_memory_is_read_but_not_made(app, client, model, run_jobs):
    add_memory(app, client.person, "Is a beekeeper", is_pinned=True)
    _, conversation = reply(client, ("user", "My sister lives in Porto."), headers={"X-Commonplace-Memory": "read"})
    assert any("beekeeper" in str(call["messages"]) for call in model.calls() if call["stream"])
    assert get_row(app, Conversation, conversation).extraction_due is False


def test_the_systems_prompt_of_a_client_reaches_the_model(client, model):
    reply(client, ("system", "Answer as a pirate."), ("user", "Hello"))
    sent = next(call for call in model.calls() if call["stream"])["messages"]
    assert "Answer as a pirate." in sent[-1]["content"]


def test_a_conversation_that_is_named_is_gone_on_with(app, client):
    _, conversation = reply(client, ("user", "One"))
    named = {"X-Commonplace-Conversation": str(conversation)}
    _, again = reply(client, ("user", "Something else altogether"), headers=named)
    assert again == conversation
    assert talks(app) == [(conversation, 4)]


def test_a_space_that_is_not_ones_own_is_unknown(client, api, make_user):
    other = api(make_user())
    space = other.post("/api/spaces", json={"kind": "project", "name": "Secret"}).get_json()["space_id"]
    _, theirs = reply(other, ("user", "Hello"), headers={"X-Commonplace-Space": str(space)})
    for headers in ({"X-Commonplace-Space": str(space)}, {"X-Commonplace-Conversation": str(theirs)}):
        answer = ask(client, ("user", "Hello"), headers=headers)
        assert answer.status_code == 404
        assert answer.get_json()["error"]["type"] == "not_found_error"


def test_a_history_is_its_owners(app, client, api, make_user):
    first, conversation = reply(client, ("user", "One"))
    _, other = reply(api(make_user()), ("user", "One"), ("assistant", first), ("user", "Two"))
    assert other != conversation
    assert len(lines(app, conversation)) == 2


def test_bad_requests_and_unknown_models_are_said_as_openai_says_them(client):
    wizard = {"messages": [{"role": "wizard", "content": "Hi"}]}
    choice = {"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "required"}
    for param, body in (
        *(("messages", body) for body in ({}, {"messages": []})),
        *(("messages.0.role", wizard), ("tool_choice", choice)),
    ):
        answer = client.post("/v1/chat/completions", json=body)
        error = answer.get_json()["error"]
        assert (answer.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)
        assert not error["message"].startswith(f"{param}: {param}")
    answer = ask(client, ("user", "Hello"), model="gpt-nonsense")
    assert (answer.status_code, answer.get_json()["error"]["type"]) == (404, "not_found_error")


BOTH = [
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "One"}]}),
    ("/v1/responses", {"input": "One"}),
]


@pytest.mark.parametrize(("path", "asked"), BOTH)
def test_a_failed_reply_is_an_error_that_clients_do_not_repeat(client, model, path, asked):
    model.script(fault={"http_status": 401})
    answer = client.post(path, json=asked)
    assert (answer.status_code, answer.headers["x-should-retry"]) == (502, "false")
    assert answer.get_json()["error"]["code"] == "unauthorized"


@pytest.mark.parametrize("way", [{}, {"stream": True}, {"background": True}])
@pytest.mark.parametrize(("path", "asked"), BOTH)
def test_a_repeated_key_gives_the_first_reply_again(app, client, model, path, asked, way):
    model.script(reply="First.", times=1)

    def send(**more: Any) -> Any:
        return client.post(path, json={**asked, **way, **more}, headers={"Idempotency-Key": "k"})

    first, again = send(), send()
    conversation = first.headers["X-Commonplace-Conversation"]
    assert (again.status_code, again.headers["X-Commonplace-Conversation"]) == (200, conversation), again.text
    assert ("First." in first.text) == ("First." in again.text)
    assert talks(app) == [(int(conversation), 2)]
    other = send(temperature=0.5)
    assert (other.status_code, other.json["error"]["type"]) == (409, "invalid_request_error")
    assert send(model="nobody").status_code == 409
    assert client.delete(f"/api/conversations/{conversation}").status_code == 204
    assert send().status_code == 404


# The real client


@pytest.fixture
def official(live_web: LiveServer, user: Person) -> openai.OpenAI:
    """OpenAI's own client with a person's token."""
    return openai.OpenAI(base_url=f"{live_web.url}/v1", api_key=user.token, max_retries=0)


def test_the_official_client_converses(app, official, model):
    assert [found.id for found in official.models.list()][:2] == ["default", "default:temporary"]
    assert official.models.retrieve("default").object == "model"
    model.script(reply="Ebb and flow 🌊")
    history: list[Any] = [{"role": "user", "content": "What are tides?"}]
    first = official.chat.completions.create(model="default", messages=history)
    assert first.choices[0].message.content == "Ebb and flow 🌊"
    assert first.choices[0].finish_reason == "stop"
    assert first.usage is not None and first.usage.total_tokens > 0
    history += [first.choices[0].message, {"role": "user", "content": "And the moon?"}]
    model.script(reply="It pulls. " * 40, token_delay=0.005)
    chunks = list(
        official.chat.completions.create(
            model="default", messages=history, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.strip() == ("It pulls. " * 40).strip()
    assert len(chunks) > 4
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens > 0
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert [count for _, count in talks(app)] == [4]
    ids = scalars(app, db.select(GatewayThread.message_id).order_by(GatewayThread.thread_id))
    assert [first.id, chunks[0].id] == [f"chatcmpl-{message_id}" for message_id in ids]
    receipt = official.get(f"/../api/messages/{ids[0]}/receipt", cast_to=object)
    assert receipt["message_id"] == ids[0]  # type: ignore[index]


def test_the_official_client_understands_our_errors(app, official, live_web, model):
    question: list[Any] = [{"role": "user", "content": "Hello"}]
    with pytest.raises(openai.NotFoundError):
        official.chat.completions.create(model="gpt-nonsense", messages=question)
    with pytest.raises(openai.BadRequestError) as bad:
        official.chat.completions.create(model="default", messages=question, n=2)
    assert bad.value.param == "n"
    with pytest.raises(openai.AuthenticationError):
        official.with_options(api_key="cmpl_nonsense").chat.completions.create(model="default", messages=question)
    model.script(fault={"http_status": 401})
    with pytest.raises(openai.APIError):
        list(official.chat.completions.create(model="default", messages=question, stream=True))


def test_hanging_up_stops_the_reply(app, official, model):
    model.script(reply="word " * 2_000, token_delay=0.02)
    stream = official.chat.completions.create(
        model="default", messages=[{"role": "user", "content": "Talk"}], stream=True
    )
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()

    def is_stopped() -> bool:
        return scalar(app, db.select(Message.status).where(Message.role == "assistant")) == "stopped"

    wait_until(is_stopped, "the end of the reply")


def test_hanging_up_does_not_stop_a_reply_that_may_be_asked_for_again(app, official, model):
    model.script(tokens=40, token_delay=0.02)
    asked: dict[str, Any] = {"model": "default", "messages": [{"role": "user", "content": "Count"}]}
    with official.chat.completions.create(**asked, stream=True, extra_headers={"Idempotency-Key": "k"}) as stream:
        next(piece for piece in stream if piece.choices[0].delta.content)
    again = official.chat.completions.create(**asked, stream=True, extra_headers={"Idempotency-Key": "k"})
    assert "token39" in "".join(piece.choices[0].delta.content or "" for piece in again)
    assert [count for _, count in talks(app)] == [2]


def test_deleting_the_conversation_ends_the_reply_with_an_error(client, official, model):
    model.script(reply="word " * 2_000, token_delay=0.02)
    stream = official.chat.completions.create(
        model="default", messages=[{"role": "user", "content": "Talk"}], stream=True
    )
    with pytest.raises(openai.APIError, match="was deleted"):
        for chunk in stream:
            if chunk.choices[0].delta.content:
                for row in client.get("/api/conversations").get_json()["conversations"]:
                    assert client.delete(f"/api/conversations/{row['conversation_id']}").status_code == 204


def picture(data: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(data).decode()}"}}


def test_a_picture_is_shown_to_the_model_and_stays_with_its_message(app, client, model):
    model.script(match="What is this", reply="Red and blue.")
    question = [{"type": "text", "text": "What is this?"}, picture(photo(form="PNG"))]

    def send(*messages: tuple[str, Any]) -> Any:
        body = {"messages": [{"role": role, "content": content} for role, content in messages]}
        answer = client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
        return int(answer.headers["X-Commonplace-Conversation"])

    first = send(("user", question))
    assert len(sent_pictures(chat_calls(model)[-1])) == 1
    model.script(match="And this", reply="The same.")
    assert send(("user", question), ("assistant", "Red and blue."), ("user", "And this?")) == first
    assert len(sent_pictures(chat_calls(model)[-1])) == 1
    again = send(
        ("user", question),
        ("assistant", "Red and blue."),
        ("user", [question[1], {"type": "text", "text": "And this?"}]),
    )
    assert again == first
    assert [len(row) for row in talks(app)] == [2]
    assert files(app) == 1


def test_several_pictures_are_all_shown(app, client, model):
    parts = [picture(photo(width, form="PNG")) for width in (300, 400, 500)]
    question = [{"type": "text", "text": "What is in these?"}, *parts]
    answer = client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": question}]})
    assert answer.status_code == 200, answer.text
    assert len(sent_pictures(chat_calls(model)[-1])) == 3
    assert files(app) == 3


def files(app: Flask) -> int:
    return scalar(app, db.select(db.func.count()).select_from(File)) or 0


def test_pictures_do_not_stay_where_no_turn_began(app, client):
    """In a conversation that is not there, with one that is no picture among them, and with none."""
    good = picture(photo(form="PNG"))
    body = {"messages": [{"role": "user", "content": [good, {"type": "text", "text": "Well?"}]}]}
    answer = client.post("/v1/chat/completions", json=body, headers={"X-Commonplace-Conversation": "999999"})
    assert (answer.status_code, files(app)) == (404, 0)
    broken = b"\x89PNG\r\n\x1a\nbroken"
    for before, data in (([good], broken), ([], broken), ([], b"not an image"), ([], b"%PDF-1.4 and so on")):
        question = [*before, picture(data)]
        answer = client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": question}]})
        assert (answer.status_code, answer.get_json()["error"]["type"]) == (400, "invalid_request_error")
        assert (talks(app), files(app)) == ([], 0)


def test_the_official_client_gets_the_vectors_that_the_site_makes(
    official,  # noqa: F811
    client,
):
    texts = ["Keeps bees on the roof", "Honey from the hive", "Quarterly tax return"]
    made = official.embeddings.create(model="default", input=texts)  # as base64, as it asks for by itself
    vectors = np.array([item.embedding for item in made.data])
    plain = client.post("/v1/embeddings", json={"input": texts[0], "encoding_format": "float"}).get_json()
    assert np.allclose(vectors[0], plain["data"][0]["embedding"], atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert [item.index for item in made.data] == [0, 1, 2] and made.usage.total_tokens > 0
    assert plain["model"] == made.model


def test_the_model_may_be_named(client, model):
    name = client.post("/v1/embeddings", json={"input": "a"}).get_json()["model"]
    assert client.post("/v1/embeddings", json={"model": name, "input": "a"}).status_code == 200
    refused = client.post("/v1/embeddings", json={"model": "text-embedding-9", "input": "a"})
    assert refused.status_code == 404 and name in refused.get_json()["error"]["message"]
    model.script(path="embeddings", fault={"http_status": 500}, times=None)
    away = client.post("/v1/embeddings", json={"input": "a"})
    assert (away.status_code, away.headers["Retry-After"]) == (503, "5") and "server_error" in away.text


def test_what_is_not_read_is_named(client):
    odd = ["", [], [1, 2], ["a"] * (MAX_TEXTS + 1), "a" * 40_000]
    more = [{"input": "a", "encoding_format": "hex"}, {"input": "a", "dimensions": 3}]
    for body in ({}, *({"input": text} for text in odd), *more):
        refused = client.post("/v1/embeddings", json=body)
        assert refused.status_code == 400 and refused.get_json()["error"]["message"], body
