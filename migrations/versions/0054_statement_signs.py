"""Hashes of statements in which signs count: "C" is not "C++", "80 kg" not "-80 kg"

Revision ID: 0054
Revises: 0052
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0052"
branch_labels = None
depends_on = None

_BATCH = 1_000
_QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'}
_EARLIER = str.maketrans(_QUOTES)
_NOW = str.maketrans(_QUOTES | dict.fromkeys("‐‑‒–−", "-"))
_NUMBER = re.compile(r"[^\w\s]{0,2}\d")


def upgrade() -> None:
    _hash_again(lambda text: _form(text, _NOW, _is_sign))


def downgrade() -> None:
    _hash_again(lambda text: _form(text, _EARLIER, _was_sign))


def _hash_again(form: Callable[[str], str]) -> None:
    """Store the hash of every statement whose form is another one now; what is as it should be is left alone."""
    content = sa.column("content", sa.Text)
    for table, key, statement in (
        ("memories", "memory_id", content),
        ("memory_revisions", "revision_id", sa.column("snapshot", sa.JSON)),
    ):
        number, stored = sa.column(key, sa.Integer), sa.column("statement_hash", sa.String)
        rows, last = sa.table(table, number, statement, stored), 0
        change = sa.update(rows).where(number == sa.bindparam("of")).values(statement_hash=sa.bindparam("hash"))
        while found := (
            op.get_bind()
            .execute(sa.select(number, statement, stored).where(number > last).order_by(number).limit(_BATCH))
            .all()
        ):
            last = found[-1][0]
            hashes = [(of, _hash(form(_content_of(said))), before) for of, said, before in found]
            changed = [{"of": of, "hash": now} for of, now, before in hashes if now != before]
            if changed:
                op.get_bind().execute(change, changed)


def _content_of(said: str | dict[str, str]) -> str:
    return said if isinstance(said, str) else str(said.get("content") or "")


def _hash(form: str) -> str:
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()


def _form(text: str, translation: dict[int, str], is_kept: Callable[[str, int], bool]) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(translation)
    for _ in range(2):
        folded = unicodedata.normalize("NFKC", folded.casefold())
    folded = re.sub(r"\s+", " ", folded).strip()
    start, end = 0, len(folded)
    while start < end and (folded[start].isspace() or not is_kept(folded, start)):
        start += 1
    while end > start and (folded[end - 1].isspace() or not is_kept(folded, end - 1)):
        end -= 1
    return folded[start:end] or folded


def _was_sign(text: str, at: int) -> bool:
    return unicodedata.category(text[at])[0] != "P" or text[at] in "#@&%*"


def _is_sign(text: str, at: int) -> bool:
    char = text[at]
    if unicodedata.category(char)[0] != "P":
        return not char.isspace()
    if char in "@&*" or unicodedata.bidirectional(char) == "ET":
        return True
    left, right = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if char == "-":
        return not right.isalnum() if left.isalnum() else _NUMBER.match(text, at + 1) is not None
    starts = not left or left.isspace() or left == "-" or unicodedata.category(left) in ("Ps", "Pi")
    return starts and right.isalnum() and unicodedata.bidirectional(char) == "CS"
