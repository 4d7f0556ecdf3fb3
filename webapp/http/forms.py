"""HTML forms: their input, checked by the same models as the JSON API, and the errors by field."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, get_origin

from flask import current_app, request
from pydantic import BaseModel, ValidationError

from webapp.db.base import db
from webapp.errors import Conflict, DomainError, Forbidden, Invalid, NotFound, TooLarge, TooMany, Unauthenticated
from webapp.extensions import this_app
from webapp.http.problems import field_errors
from webapp.http.views import FORM_DATA, JSON, ViewResult
from webapp.i18n import SOURCE
from webapp.i18n.marks import N_
from webapp.i18n.request_language import about_field, gettext as _, language_of, translate

M = TypeVar("M", bound=BaseModel)
P = ParamSpec("P")

SHARED = ("title", "text", "url")
"""The parts of what a device or a bookmark shares with the site: the first page takes them as a draft."""
MAX_DRAFT = 8_000
VERSION = "version"
"""The input of a form that says which values it was filled with."""

_CHECKS = N_(
    {
        r"(?:String|Value) should have at least (?P<number>\d+) (?:character|item)": "%(field)s must have at least "
        "%(number)s characters.",
        r"(?:String|Value) should have at most (?P<number>\d+) (?:character|item)": "%(field)s must have at most "
        "%(number)s characters.",
        r"Field required": "%(field)s is missing.",
        r"List should have at least (?P<number>\d+) item": "%(field)s must have at least %(number)s entries.",
        r"List should have at most (?P<number>\d+) item": "%(field)s must have at most %(number)s entries.",
        r"Input should be greater than or equal to (?P<number>\S+)": "%(field)s must be %(number)s or more.",
        r"Input should be less than or equal to (?P<number>\S+)": "%(field)s must be %(number)s or less.",
        r"Extra inputs are not permitted": "%(field)s is not known here.",
        r"(?:Input should be a valid|String should match pattern)": "%(field)s has the wrong form.",
        r"Input should be (?P<choices>'.+)": "%(field)s must be one of: %(choices)s.",
    }
)
"""The sentences of a page for what pydantic reports, by pattern; with and without validators of our own."""
_EMPTY = re.compile(r"^(?:String|Value|List) should have at least 1 (?:character|item).*$")


CHANGED_ELSEWHERE = N_(
    "This was changed elsewhere while you were writing. Your words are still here; saving again replaces that change."
)

_SWITCH = {"true": True, "on": True, "1": True, "false": False, "0": False, "": False}


def read_form(model: type[M], names: Mapping[str, str] | None = None) -> M:
    """Return the posted form as a model; `names` are inputs named otherwise. Raises Invalid."""
    names = names or {}
    values: dict[str, Any] = {}
    for field, info in model.model_fields.items():
        if get_origin(info.annotation) is list:
            continue  # a form's lists are read by its view
        value = request.form.get(names.get(field, field))
        if value is not None:
            # A form has text only, for switches too, and without scripts sends line ends as CR LF.
            values[field] = _SWITCH.get(value, value) if info.annotation is bool else value.replace("\r\n", "\n")
    return validate(model, values)


def version_of(values: Mapping[str, Any]) -> str:
    """Return a hash of the stored values that a form shows."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:16]


def require_version(values: Mapping[str, Any]) -> None:
    """Raise Conflict if the posted form says that it was filled with other values than those stored."""
    if request.form.get(VERSION, version := version_of(values)) != version:
        raise Conflict(CHANGED_ELSEWHERE, errors=[{"loc": [VERSION], "msg": CHANGED_ELSEWHERE}])


def secret(field: str, removal: str) -> dict[str, str]:
    """Return a secret to change, by its field: what was entered, or nothing in its place; none if it stays."""
    entered = request.form.get(field, "").strip()
    return {field: ""} if removal in request.form else {field: entered} if entered else {}


def validate(model: type[M], values: Mapping[str, Any]) -> M:
    """Return values as a model. Raises Invalid, with an error for each field that does not fit."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise Invalid("", errors=field_errors(error)) from None


def read_body() -> Any:
    """Return what an endpoint that `accepts_files` was sent, as the model of its media type. Raises Invalid."""
    view: Any = current_app.view_functions[request.endpoint or ""]
    if request.is_json and JSON in view.bodies:
        return validate(view.bodies[JSON], request.get_json())
    return validate(view.bodies[FORM_DATA], request.form.to_dict() | request.files.to_dict())


def sentences(
    error: DomainError | ValidationError, labels: Mapping[str, str], *, otherwise: str = ""
) -> dict[str, str]:
    """Return errors as one sentence per field. Those about no field of the form come under `otherwise`."""
    errors: dict[str, str] = {}
    if isinstance(error, ValidationError):
        error = Invalid("", errors=field_errors(error))
    for item in error.errors or [{"loc": [], "msg": error.detail or error.title}]:
        name = str(item["loc"][-1]) if item["loc"] else otherwise
        if name not in labels and name != VERSION:
            name = otherwise
        errors.setdefault(name, sentence(labels.get(name, "") if item["loc"] else "", item))
    return errors


def sentence(label: str, item: Mapping[str, Any]) -> str:
    """Return one error of `field_errors` as a sentence about the field with this label."""
    message = "Field required" if _EMPTY.match(item["msg"]) else item["msg"]
    field = translate(label) if label else _("This")
    for pattern, words in _CHECKS.items():
        if match := re.match(pattern, message):
            return _(words, field=field, **match.groupdict())
    if language_of(this_app()).code != SOURCE:
        if message[:1].isupper():
            return translate(message)
        return about_field(message, field) or f"{field}: {translate(message)}"
    message = message.removeprefix("Value error, ").strip()
    words = message if message[:1].isupper() or not label else f"{label} {message}"
    return words[:1].upper() + words[1:].rstrip(".") + "."


def redisplay_form(
    form: Callable[..., str], labels: Mapping[str, str], *, otherwise: str = ""
) -> Callable[[Callable[P, ViewResult]], Callable[P, ViewResult]]:
    """Show on the form itself why what was posted is refused; `form` takes the errors by field and what the view takes.

    Goes directly above the view, whose form no script sends: those show 422 alone.
    """

    def mark(view: Callable[P, ViewResult]) -> Callable[P, ViewResult]:
        @wraps(view)
        def answer(*args: P.args, **kwargs: P.kwargs) -> ViewResult:
            try:
                return view(*args, **kwargs)
            except (Invalid, Unauthenticated, Forbidden, NotFound, Conflict, TooLarge, TooMany) as error:
                db.session.rollback()
                headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
                return form(sentences(error, labels, otherwise=otherwise), *args, **kwargs), error.status, headers

        return answer

    return mark


def first_sentence(errors: Iterable[str]) -> str:
    """Return the first of several sentences; empty without any."""
    return next(iter(errors), "")


def linked_draft() -> dict[str, Any]:
    """Return what the composer begins with from a link, or from what another program shared, its parts a line each."""
    shared = dict.fromkeys(request.args.get(name, "").strip() for name in SHARED)
    draft = "\n".join(filter(None, [request.args.get("draft", ""), *shared]))[:MAX_DRAFT]
    return {"content": draft, "linked_draft": bool(draft)}
