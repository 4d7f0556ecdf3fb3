"""Idempotency-Key: the same key, URL and body repeat the first answer, others give 409; per user, for a day."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, overload

from flask import Response, g, request
from pydantic import BaseModel
from sqlalchemy.exc import IntegrityError

from webapp.accounts.access import Decorator, View
from webapp.accounts.auth import require_identity
from webapp.accounts.models import IdempotencyKey
from webapp.db import encryption
from webapp.db.base import db
from webapp.errors import Conflict, Invalid
from webapp.http.json_api import success_status
from webapp.i18n.marks import say

A = TypeVar("A")

HEADER = "Idempotency-Key"
CSRF_FIELD = "csrf_token"
PURPOSE = b"stored answers"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class _Duplicate(Exception):
    """The same key was used by a request that was answered first; the work of this one is rolled back."""

    def __init__(self, row: IdempotencyKey) -> None:
        super().__init__()
        self.by = row


@overload
def idempotent(view: View) -> View: ...
@overload
def idempotent(*, replay: Callable[[Any, int], Any]) -> Decorator: ...
def idempotent(view: Callable[..., Any] | None = None, *, replay: Callable[[Any, int], Any] | None = None) -> Any:
    """Answer a repeated key with the first answer, stored in the transaction that did the work and presented by
    `replay`.

    A view that returns no model, or goes on after its commit, calls `commit(answer)`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            key = request.headers.get(HEADER)
            if key is None:
                return function(*args, **kwargs)
            if not 1 <= len(key) <= 255 or not key.isprintable():
                raise Invalid.field(HEADER, "must be 1 to 255 printable characters")
            digest = _fingerprint()
            row = IdempotencyKey(
                user_id=require_identity().user_id,  # of a service token whoever made it
                key=encryption.keyed_hash(key.encode()).hexdigest(),
                request_hash=digest,
                status=0,
                body=None,
            )
            stored = _claim(row)
            if stored is None:
                g.idempotency = row
                try:
                    result = function(*args, **kwargs)
                    answer, *status = result if isinstance(result, tuple) else (result,)
                    if isinstance(answer, BaseModel):
                        commit(answer, *status)
                    return result
                except _Duplicate as overtaken:
                    stored = overtaken.by
            if stored.request_hash != digest:
                raise Conflict(say("This %(header)s was used for a different request.", header=HEADER))
            if (answer := open_answer(stored.body)) is None:
                raise Conflict(
                    say("The answer to this %(header)s cannot be read any more. Use a new one.", header=HEADER)
                )
            return (replay or _replay)(answer, stored.status)

        wrapper.idempotent = True  # type: ignore[attr-defined]  # the API's description says so
        return wrapper

    return decorate(view) if view else decorate


def commit(answer: A, status: int | None = None) -> A:
    """Commit the work of this request together with its answer, and return that; `status` if its view has several."""
    row = g.pop("idempotency", None)
    if row is not None:
        payload = answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer
        row.status, row.body = status or success_status(), encrypt_answer(payload)
        if row not in db.session and (stored := _claim(row)) is not None:
            raise _Duplicate(stored)
    db.session.commit()
    return answer


def _fingerprint() -> str:
    """Return what tells one request from another: its URL and what its body says, but not its spacing or CSRF token."""
    query = b"?" + request.query_string if request.query_string else b""
    # Keyed: what a program sends may hold a password, or what is forgotten later.
    digest = encryption.keyed_hash(request.path.encode() + query + b"\n")
    if request.mimetype not in FORMS:
        digest.update(json.dumps(request.get_json(), sort_keys=True).encode())
        return digest.hexdigest()
    for name, value in sorted(request.form.items(multi=True)):
        if name != CSRF_FIELD:
            digest.update(f"{name}={value}\n".encode("utf-8", "replace"))
    for name, file in sorted(request.files.items(multi=True), key=lambda item: item[0]):
        digest.update(f"{name}={file.filename}\n".encode("utf-8", "replace"))
        while piece := file.stream.read(1_048_576):
            digest.update(piece)
        file.stream.seek(0)
    return digest.hexdigest()


def encrypt_answer(payload: Any) -> str:
    """Return an answer as it is stored: encrypted, since it may hold a secret that is shown once."""
    return encryption.seal(PURPOSE, json.dumps(payload))


def open_answer(stored: Any) -> Any:
    """Return a stored answer; None if SECRET_KEY has changed since."""
    text = encryption.unseal(PURPOSE, stored or "")
    return None if text is None else json.loads(text)


def _claim(row: IdempotencyKey) -> IdempotencyKey | None:
    """Insert the key, or return the row that had it first. Of two at once, the second waits for the first's commit."""
    user_id, key = row.user_id, row.key
    db.session.add(row)
    try:
        db.session.flush()
    except IntegrityError:
        db.session.rollback()
        return db.session.get(IdempotencyKey, (user_id, key))
    return None


def _replay(body: Any, status: int) -> Response:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))  # as the model was sent
    return Response(text, status, {"Idempotent-Replayed": "true"}, mimetype="application/json")
