"""The form of the composer: text, files, what was not typed, and the parameters for this message only."""

import json
from typing import Any

from flask import request
from pydantic import TypeAdapter, ValidationError

from webapp.chat.schemas import NewMessage, Spans, spans_within
from webapp.errors import Invalid
from webapp.http.forms import read_form
from webapp.http.problems import field_errors
from webapp.http.validation import parse_id
from webapp.parameters import PAYLOAD, RequestParameters

_SPANS = TypeAdapter(Spans)


def read_message() -> dict[str, Any]:
    """Return what is to be sent, as `start_turn` takes it. Raises Invalid."""
    body = read_form(NewMessage)
    return {
        "content": body.content,
        "spans": read_origins(body.content),
        "model": body.model,
        "file_ids": read_attachments(),
        "custom_payload": read_message_parameters(),
    }


def read_attachments() -> dict[int, str]:
    """Return the attached files by id, with how each is to be used."""
    ids = filter(None, (parse_id(value) for value in request.form.getlist("file_ids")[:50]))
    return {number: "search" if request.form.get(f"mode-{number}") == "search" else "whole" for number in ids}


def read_origins(content: str) -> list[tuple[int, int, str]]:
    """Return the spans of a message that the composer says were pasted or dictated. Raises Invalid."""
    try:
        return spans_within(content, _SPANS.validate_json(request.form.get("spans") or "[]"))
    except ValidationError as error:
        raise Invalid("", errors=field_errors(error)) from None


def read_message_parameters() -> dict[str, Any] | None:
    """Return the parameters chosen for this message only; what cannot be read is left out."""
    try:
        choice = json.loads(request.form.get("once", "")[:1_000])
    except (ValueError, RecursionError):
        return None
    values = RequestParameters.of(choice if isinstance(choice, dict) else None).non_empty
    return {PAYLOAD: values} if values else None
