"""Hostile text in every column that holds text: new tables and columns are included automatically."""

from typing import Any

from flask import Flask
from sqlalchemy import JSON, Column, Enum, String, Table, select, update

from tests.support.attacks import ATTACKS
from webapp.db.base import db, write_transaction

LONG = (
    "\"'></textarea></title></style></script><script>window.ran=1</script><img src=x onerror=window.ran=2>"
    "<svg/onload=window.ran=3><a href=javascript:window.ran=4>a</a><hx-partial hx-target=body>b</hx-partial>"
    '<div hx-get="/settings" hx-trigger=load>c</div>{{7*7}}[d](javascript:window.ran=5)'
)
SHORT = "\"'><img src=x onerror=window.ran=6>"
MARK = "thus-spoke-mallory"
"""Follows each attack: where it is visible, the attack was rendered as text."""
ELEMENTS = (
    "img[src=x], svg[onload], [onerror], [onload], [onmouseover], iframe[srcdoc], [href^='javascript' i], "
    "[hx-get='/settings'][hx-trigger=load], hx-partial[hx-target=body], main "
    "script:not([src]):not([type='application/json'])"
)
# The application itself writes these: its own words, a hash, something sealed, or an address it checked.
OURS = {
    *("password_hash", "secrets", "secret", "sealed", "digest", "embedding_model", "source", "kind", "keeps", "age"),
    *("cause", "actor", "stage", "set_aside", "retired_why", "persona", "base_url", "url", "redirect_uri", "what"),
    *("address", "last_used_address", "target", "actor_name"),
}
WORDS_IN_JSON = {
    *("title", "name", "description", "content", "text", "reason", "label", "message", "detail", "filename", "quote"),
    *("main_topics", "action", "typical_observation", "about", "input", "output", "error", "note", "before", "after"),
}
NAMES_ARE_OURS = ("pipeline_steps", "site_settings", "idempotency_keys", "journey_versions")


def hostile(length: int | None) -> str:
    """As much hostile text as a column of this length holds."""
    return LONG if length is None or length >= len(LONG) + 12 else SHORT


def one_attack(turn: int) -> Any:
    """For `poison`: another attack from the corpus for each column that is long enough for it."""
    number = iter(range(turn, 1_000_000))

    def choose(length: int | None) -> str:
        said = ATTACKS[next(number) % len(ATTACKS)].encode("utf-8", "replace").decode().replace("\x00", "")
        said = f"{said}\n\n{MARK}"  # a separate paragraph does not change what comes before it
        return said if length is None or len(said) + 12 <= length else SHORT

    return choose


def poison(app: Flask, words: Any = hostile) -> set[str]:
    """Put hostile text into every row of every table; returns the columns that were written, as `table.column`."""
    written = set()
    with app.app_context(), write_transaction():
        for table in db.metadata.sorted_tables:
            if table.name in NAMES_ARE_OURS:
                continue
            keys, texts, values = list(table.primary_key.columns), _texts(table), _jsons(table)
            if not (texts or values):
                continue
            for number, row in enumerate(db.session.execute(select(*keys, *values)).all()):
                changes: dict[Column[Any], Any] = {
                    column: _lines(column, f"{words(getattr(column.type, 'length', None))} {number}")
                    for column in texts
                }
                for column, value in zip(values, row[len(keys) :], strict=True):
                    changes[column] = _within(value, words)
                where = [key == value for key, value in zip(keys, row[: len(keys)], strict=True)]
                db.session.execute(update(table).where(*where).values(changes))
                written |= {f"{table.name}.{column.name}" for column in changes}
    return written


def _texts(table: Table) -> list[Column[Any]]:
    return [
        column
        for column in table.columns
        if isinstance(column.type, String)
        and not isinstance(column.type, Enum)
        and column.computed is None
        and column.name not in OURS
        and (getattr(column.type, "length", None) or 999) >= len(SHORT) + 12
    ]


def _jsons(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if isinstance(column.type, JSON) and column.name not in OURS]


def _lines(column: Column[Any], said: str) -> str:
    """The text in the form of its column: tags are surrounded by line ends."""
    return f"\n{said[:40]}\n" if column.name == "tags" else said


def _within(value: Any, words: Any, name: str = "") -> Any:
    """The same value with hostile text where it has text."""
    if isinstance(value, dict):
        return {key: _within(part, words, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_within(part, words, name) for part in value]
    return words(None) if isinstance(value, str) and name in WORDS_IN_JSON else value
