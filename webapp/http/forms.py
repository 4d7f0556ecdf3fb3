"""HTML forms: their input, checked by the same models as the JSON API, and the errors by field."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_origin

from flask import request
from pydantic import BaseModel, ValidationError

from webapp.errors import DomainError, Invalid
from webapp.extensions import this_app
from webapp.http.problems import field_errors
from webapp.i18n import SOURCE
from webapp.i18n.marks import N_
from webapp.i18n.request_language import about_field, language_of, translate
from webapp.i18n.request_language import gettext as _

M = TypeVar("M", bound=BaseModel)

SHARED = ("title", "text", "url")
"""The parts of what a device or a bookmark shares with the site: the first page takes them as a draft."""
MAX_DRAFT = 8_000

_LENGTH = re.compile(r"^(?:String|Value) should have (at (?:most|least)) (\d+) (?:character|item)s?.*$")
"""How pydantic reports that a text is too long or too short, with and without validators of our own."""
_EMPTY = re.compile(r"^(?:String|Value) should have at least 1 (?:character|item).*$")


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


def validate(model: type[M], values: Mapping[str, Any]) -> M:
    """Return values as a model. Raises Invalid, with an error for each field that does not fit."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise Invalid("", errors=field_errors(error)) from None


def sentences(
    error: DomainError | ValidationError, labels: Mapping[str, str], *, otherwise: str = ""
) -> dict[str, str]:
    """Return errors as one sentence per field. Those about no field of the form come under `otherwise`."""
    errors: dict[str, str] = {}
    if isinstance(error, ValidationError):
        error = Invalid("", errors=field_errors(error))
    for item in error.errors or [{"loc": [], "msg": error.detail or error.title}]:
        name = str(item["loc"][-1]) if item["loc"] else otherwise
        if name not in labels:
            name = otherwise
        errors.setdefault(name, sentence(labels.get(name, "") if item["loc"] else "", item))
    return errors


def sentence(label: str, item: Mapping[str, Any]) -> str:
    """Return one error of `field_errors` as a sentence about the field with this label."""
    message = "Field required" if _EMPTY.match(item["msg"]) else item["msg"]
    if language_of(this_app()).code != SOURCE:
        return _translated(label, message)
    message = message.removeprefix("Value error, ").strip()
    words = message if message[:1].isupper() or not label else f"{label} {message}"
    words = _LENGTH.sub(rf"{label or 'This'} must have \1 \2 characters", words)
    words = words.replace("Field required", f"{label or 'Something'} is missing")
    return words[:1].upper() + words[1:].rstrip(".") + "."


def _translated(label: str, message: str) -> str:
    """Return the same in another language, in which the message about a field is a sentence that contains the field."""
    field = translate(label) if label else _("This")
    if match := _LENGTH.match(message):
        bound = N_(
            {
                "at least": "%(field)s must have at least %(number)s characters.",
                "at most": "%(field)s must have at most %(number)s characters.",
            }
        )
        return _(bound[match[1]], field=field, number=match[2])
    if message == "Field required":
        return _("%(field)s is missing.", field=field)
    if message[:1].isupper():
        return translate(message)
    return about_field(message, field) or f"{field}: {translate(message)}"


def first_sentence(errors: Iterable[str]) -> str:
    """Return the first of several sentences; empty without any."""
    return next(iter(errors), "")


def linked_draft() -> dict[str, Any]:
    """Return what the composer begins with from a link, or from what another program shared, its parts a line each."""
    shared = dict.fromkeys(request.args.get(name, "").strip() for name in SHARED)
    draft = "\n".join(filter(None, [request.args.get("draft", ""), *shared]))[:MAX_DRAFT]
    return {"content": draft, "linked_draft": bool(draft)}
