"""Variables of saved prompts: `{{name}}`, `{{name: default}}`, `{{name: one | two}}`. Pure.

A default may be empty (`{{name:}}`): then the variable may be left out. Everything else in braces is plain text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST_VARIABLES = 50
LONGEST_VALUE = 20_000

_VARIABLE = re.compile(r"\{\{[ \t]*([^\W\d]\w{0,49}(?:[ -]\w{1,49}){0,5})[ \t]*(?::([^{}\n]*))?\}\}")

READY = frozenset({"CURRENT_DATE", "CURRENT_TIME", "CURRENT_DATETIME", "CURRENT_WEEKDAY", "USER_NAME"})
"""Variables that are filled in automatically."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable to ask for: with `choices`, one of them; `default` is None if a value is required."""

    name: str
    default: str | None = None
    choices: tuple[str, ...] = ()


class InvalidValues(ValueError):
    """Values that do not fit: `errors` says what is wrong, by name of the variable."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name} {wrong}" for name, wrong in errors.items()))
        self.errors = dict(errors)


def variables_of(content: str) -> list[Variable]:
    """Return the variables of a text in order, each once, with the defaults and choices it is first given."""
    variables: dict[str, Variable] = {}
    for match in _VARIABLE.finditer(content):
        name, rest = match[1], match[2]
        variable = variables.get(name)
        if variable is None or (variable.default is None and rest is not None):
            variables[name] = _variable(name, rest)
    return list(variables.values())[:MOST_VARIABLES]


def variables_to_fill(content: str) -> list[Variable]:
    """Return the variables that a person is asked for."""
    return [variable for variable in variables_of(content) if variable.name not in READY]


def fill(content: str, values: Mapping[str, str], ready: Mapping[str, str]) -> str:
    """Return the text with its variables filled by `ready`, `values` or their defaults. Raises InvalidValues.

    Values are plain text: braces in them stay as they are.
    """
    filled, errors = dict(ready), dict[str, str]()
    for variable in variables_of(content):
        if variable.name in ready:
            continue
        value = values.get(variable.name, variable.default)
        if value is None or (not value.strip() and variable.default is None):
            errors[variable.name] = "is missing"
        elif variable.choices and value not in variable.choices:
            errors[variable.name] = f"must be one of {', '.join(variable.choices)}"
        elif len(value) > LONGEST_VALUE:
            errors[variable.name] = f"must have at most {LONGEST_VALUE:,} characters"
        else:
            filled[variable.name] = value
    if errors:
        raise InvalidValues(errors)
    return _VARIABLE.sub(lambda match: filled.get(match[1], match[0]), content)


def _variable(name: str, rest: str | None) -> Variable:
    if rest is None:
        return Variable(name)
    parts = [part.strip() for part in rest.split("|")]
    choices = tuple(dict.fromkeys(part for part in parts if part)) if len(parts) > 1 else ()
    return Variable(name, choices[0] if choices else parts[0], choices)
