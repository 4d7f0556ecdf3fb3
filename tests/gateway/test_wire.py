"""Reading requests of OpenAI clients and naming histories: no server."""

import base64
from typing import Any

import pytest

from webapp.gateway.fingerprints import IMAGE, PICTURE, fingerprint, is_same_reply
from webapp.gateway.functions import UnsupportedRequest
from webapp.gateway.wire import Completion, read, split_model

GONE = "[forgotten]"


def request(*messages: tuple[str, Any], **fields: Any) -> Completion:
    return Completion(messages=[{"role": role, "content": content} for role, content in messages], **fields)


def form(**fields: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "trip", "schema": {"type": "object"}, **fields}}


def test_the_form_of_an_answer_goes_to_the_model_and_is_said_in_words():
    asked = read(request(("system", "Be brief."), ("user", "Where to?"), response_format=form(strict=True)))
    assert asked.tools is not None and asked.tools.form == form(strict=True)
    assert asked.instructions.startswith("Be brief.\n\nAnswer with exactly one JSON object")
    assert '{"type":"object"}' in asked.instructions
    assert read(request(("user", "Hello"), response_format={"type": "text"})).tools is None
    asked = read(request(("user", "Hello"), response_format={"type": "json_object"}))
    assert asked.tools is not None and asked.tools.form == {"type": "json_object"}
    long = read(request(("user", "Hello"), response_format=form(schema={"title": "x" * 20_000})))
    assert len(long.instructions) < 200


def test_the_last_message_is_the_question_and_the_rest_is_history():
    asked = read(
        request(
            ("system", "Be brief."),
            ("user", "Hello"),
            ("assistant", "Hi."),
            ("tool", "42"),
            ("user", [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:"}}]),
        )
    )
    assert asked.question == f"What is this?\n{IMAGE}"
    assert asked.history == [("user", "Hello"), ("assistant", "Hi.")]
    assert asked.instructions == "Be brief."


def part(data: bytes, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64.b64encode(data).decode()}"}}


def test_images_that_come_along_are_seen():
    asked = read(
        request(("user", [{"type": "text", "text": "What is this?"}, part(b"one"), part(b"two", "image/webp")]))
    )
    assert (asked.question, asked.pictures) == ("What is this?", (b"one", b"two"))
    assert read(request(("user", [part(b"one")]))).question == PICTURE
    for url in (
        "https://elsewhere.example/x.png",
        "data:image/svg+xml;base64,eA==",
        "data:image/png;base64,?",
        5,
        None,
    ):
        there = {"type": "image_url", "image_url": {"url": url}}
        asked = read(request(("user", [{"type": "text", "text": "What is this?"}, there])))
        assert (asked.question, asked.pictures) == (f"What is this?\n{IMAGE}", ())
    with pytest.raises(UnsupportedRequest):
        read(request(("user", [part(b"x")] * 11)))


def test_a_history_is_the_same_with_its_images_and_without():
    said = [{"type": "text", "text": "a"}, part(b"one"), {"type": "text", "text": "b"}]
    first = read(request(("user", said)))
    again = read(request(("user", said), ("assistant", "x"), ("user", "y")))
    assert fingerprint("", again.history[:1]) == fingerprint("", [("user", first.question)])


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"response_format": {"type": "yaml"}}, "response_format.type"),
        ({"response_format": []}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"response_format": form(name="a b")}, "response_format.json_schema.name"),
        ({"response_format": form(schema=[])}, "response_format.json_schema.schema"),
        ({"response_format": form(schema={"type": "array"})}, "response_format.json_schema.schema"),
        ({"response_format": form(schema={"title": "x" * 40_000})}, "response_format.json_schema"),
        ({"response_format": form(schema={"default": float("nan")})}, "response_format.json_schema"),
        ({"response_format": form(strict="yes")}, "response_format.json_schema.strict"),
        ({"response_format": form(description=5)}, "response_format.json_schema.description"),
    ],
)
def test_what_cannot_be_done_is_said(fields, param):
    with pytest.raises(UnsupportedRequest) as error:
        read(request(("user", "Hello"), **fields))
    assert error.value.param == param


@pytest.mark.parametrize("last", [("assistant", "Hi."), ("user", "  "), ("user", None), ("user", [{"type": "file"}])])
def test_there_has_to_be_a_question(last):
    with pytest.raises(UnsupportedRequest):
        read(request(("user", "Hello"), last))


@pytest.mark.cases("wish", "name", "chosen")
def test_suffixes_choose(wish, name, chosen):
    assert split_model(wish) == (name, chosen)


def test_a_fingerprint_tells_histories_apart_and_not_their_line_ends():
    history = [("user", "One\r\ntwo "), ("assistant", "Three")]
    assert fingerprint("s", history) == fingerprint("s", [("user", "One\ntwo"), ("assistant", "Three")])
    others = [
        fingerprint("t", history),
        fingerprint("s", history[:1]),
        fingerprint("s", [("assistant", "One\ntwo"), ("user", "Three")]),
        fingerprint("s", [("user", "One\ntwo\nassistant\nThree")]),
    ]
    assert len({fingerprint("s", history), *others}) == 5


@pytest.mark.parametrize(
    ("stored", "sent", "partial", "same"),
    [
        ("A reply.", "A reply.\n", False, True),
        ("A reply.", "A rep", False, False),
        ("A reply.", "A rep", True, True),
        ("A rep", "A reply.", True, True),
        ("", "A reply.", True, False),
        (f"You live in {GONE} now.", "You live in Lisbon now.", False, True),
        (f"You live in {GONE} now.", "You moved from Lisbon now.", False, False),
    ],
)
def test_a_reply_that_comes_back_is_known(stored, sent, partial, same):
    assert is_same_reply(stored, sent, is_partial=partial, placeholder=GONE) is same
