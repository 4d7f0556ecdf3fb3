"""Saved prompts in files of other programs, and the variables in their texts; pure."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from webapp.errors import Invalid

MAX_NAME_LENGTH = 100
MAX_DESCRIPTION_LENGTH = 255
MAX_CONTENT_LENGTH = 15_000
MAX_BATCH = 500

_TYPED = re.compile(r"\{\{[ \t]*([^\W\d]\w{0,49})[ \t]*\|[ \t]*([a-z-]+)((?::[^{}\n]*)?)\}\}")
_OPTIONS = re.compile(r":options=(\[[^\[\]\n]*\])")
_DEFAULT = re.compile(r':default=(?:"((?:[^"\\]|\\.)*)"|([^:\s]+))')
_MARKS = re.compile(r"[|{}\s]+")


@dataclass(frozen=True, slots=True)
class FilePrompt:
    """A prompt in a file."""

    name: str
    content: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class RefusedPrompt:
    """An item of a file that is not a prompt, and why."""

    place: Annotated[int, Field(description="Its position in the file, from 1.")]
    name: str
    reason: str


def items_of(text: str) -> list[Any]:
    """Return the items of a file, unparsed. Raises ValueError with a sentence for the person who chose the file."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("This file is not JSON.") from None
    if isinstance(data, dict):
        data = data.get("prompts", [data] if "content" in data else None)
    if not isinstance(data, list):
        raise ValueError("There are no prompts in this file.")
    return data


def read(items: Iterable[Any]) -> tuple[list[FilePrompt], list[RefusedPrompt]]:
    """Return the prompts among the items of a file, and the items that are refused."""
    prompts, rejected = [], []
    for place, item in enumerate(items, 1):
        try:
            prompts.append(_read_one(item))
        except ValueError as error:
            name = item.get("name") if isinstance(item, dict) else None
            title = str(name or "")[:MAX_NAME_LENGTH].encode(errors="replace").decode()
            rejected.append(RefusedPrompt(place, title, str(error)))
    return prompts, rejected


def _read_one(item: Any) -> FilePrompt:
    if not isinstance(item, Mapping):
        raise ValueError("It is not an object.")
    command = str(item.get("command") or "").strip().lstrip("/")
    name = _line(item.get("name") or item.get("title") or command)
    content = item.get("content")
    if not name:
        raise ValueError("It has no name.")
    if not isinstance(content, str) or not content.strip():
        raise ValueError("It has no text.")
    if not _is_text(content) or not _is_text(name):
        raise ValueError("It holds characters that are not text.")
    if "command" in item:
        content = _TYPED.sub(_plain_placeholder, content)
    if len(content) > MAX_CONTENT_LENGTH:
        raise ValueError(f"Its text is longer than {MAX_CONTENT_LENGTH:,} characters.")
    text = item.get("description")
    if not text and isinstance(item.get("meta"), Mapping):
        text = item["meta"].get("description")
    description = _line(text) if _is_text(str(text)) else ""
    return FilePrompt(name[:MAX_NAME_LENGTH], content, description[:MAX_DESCRIPTION_LENGTH])


def _plain_placeholder(match: re.Match[str]) -> str:
    name, kind, properties = match[1], match[2], match[3]
    quoted = _DEFAULT.search(properties)
    default = _value(quoted[1] or quoted[2] or "") if quoted else ""
    choices = [choice for choice in map(_value, _options(properties)) if choice]
    if kind == "checkbox":
        choices, default = ["true", "false"], default or "false"
    if len(choices) > 1:
        first = [default] if default in choices else []
        return "{{" + f"{name}: {' | '.join(dict.fromkeys(first + choices))}" + "}}"
    if not default and ":required" in properties:
        return "{{" + name + "}}"
    return "{{" + f"{name}: {default}".rstrip() + "}}"


def _options(properties: str) -> list[str]:
    match = _OPTIONS.search(properties)
    try:
        items = json.loads(match[1]) if match else []
    except (ValueError, RecursionError):
        return []
    return [str(value) for value in items]


def _value(text: str) -> str:
    """Return a text without the marks that our variables do not allow inside them."""
    return _MARKS.sub(" ", text.replace('\\"', '"')).strip()


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in value


MAX_VARIABLES = 50
MAX_VALUE_LENGTH, MAX_FILLED = 20_000, 1_000_000

_VARIABLE = re.compile(r"\{\{[ \t]*([^\W\d]\w{0,49}(?:[ -]\w{1,49}){0,5})[ \t]*(?::([^{}\n]*))?\}\}")

READY = frozenset({"CURRENT_DATE", "CURRENT_TIME", "CURRENT_DATETIME", "CURRENT_WEEKDAY", "USER_NAME"})
"""Variables that are filled in automatically."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable to ask for: with `choices`, one of them."""

    name: str
    default: Annotated[str | None, Field(description="Null where a value is required.")] = None
    choices: tuple[str, ...] = ()


def variables_of(content: str) -> list[Variable]:
    """Return the variables of a text in order, each once, with the defaults and choices it is first given."""
    variables: dict[str, Variable] = {}
    for match in _VARIABLE.finditer(content):
        name, rest = match[1], match[2]
        variable = variables.get(name)
        if variable is None or (variable.default is None and rest is not None):
            variables[name] = _variable(name, rest)
    return list(variables.values())[:MAX_VARIABLES]


def variables_to_fill(content: str) -> list[Variable]:
    """Return the variables that a person is asked for."""
    return [variable for variable in variables_of(content) if variable.name not in READY]


def fill(content: str, values: Mapping[str, str], ready: Mapping[str, str]) -> str:
    """Return the text filled by `ready`, plain `values` or defaults. Raises Invalid."""
    filled, errors = dict(ready), dict[str, str]()
    longest = min(MAX_VALUE_LENGTH, MAX_FILLED // max(1, len(_VARIABLE.findall(content))))
    for variable in variables_of(content):
        if variable.name in ready:
            continue
        value = values.get(variable.name, variable.default)
        if value is None or (not value.strip() and variable.default is None):
            errors[variable.name] = "is missing"
        elif variable.choices and value not in variable.choices:
            errors[variable.name] = f"must be one of {', '.join(variable.choices)}"
        elif len(value) > longest:
            errors[variable.name] = f"must have at most {longest:,} characters"
        else:
            filled[variable.name] = value
    if errors:
        detail = "; ".join(f"{name} {wrong}" for name, wrong in errors.items())
        raise Invalid(detail, errors=[{"loc": [name], "msg": wrong} for name, wrong in errors.items()])
    return _VARIABLE.sub(lambda match: filled.get(match[1], match[0]), content)


def _variable(name: str, rest: str | None) -> Variable:
    if rest is None:
        return Variable(name)
    parts = [part.strip() for part in rest.split("|")]
    choices = tuple(dict.fromkeys(part for part in parts if part)) if len(parts) > 1 else ()
    return Variable(name, choices[0] if choices else parts[0], choices)
