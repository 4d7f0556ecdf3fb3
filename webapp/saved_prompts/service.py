"""Saved prompts: create, find, change, fill, import and export; a shared one is changed by creator or space owner."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, update
from sqlalchemy.orm import with_expression

from webapp.accounts.models import User
from webapp.db.base import add_row, count_rows, db, delete_row
from webapp.db.text_search import contains_words
from webapp.errors import Conflict, Forbidden, Invalid, require
from webapp.http.paging import read_rows
from webapp.http.validation import Page
from webapp.saved_prompts import formats
from webapp.saved_prompts.formats import FilePrompt, RefusedPrompt, fill
from webapp.saved_prompts.models import SavedPrompt
from webapp.saved_prompts.schemas import NewSavedPrompt, PromptExport, SavedPromptChanges, SavedPromptQuery
from webapp.spaces.models import Space, SpaceMember
from webapp.spaces.service import require_member, spaces_of
from webapp.spaces.signals import Consequence, collect_consequences, membership_ending

MAX_PROMPTS = 1_000
"""The most prompts of one person."""


def get_prompt(user_id: int, saved_prompt_id: int, *, edit: bool = False) -> SavedPrompt:
    """Return a prompt of the user or their spaces; with `edit`, one they can change. Raises NotFound, Forbidden."""
    query = _select_prompts(user_id).where(SavedPrompt.saved_prompt_id == saved_prompt_id)
    row = require(db.session.scalar(query), "There is no such prompt.")
    if edit and not row.can_edit:
        raise Forbidden("Only the person who created this prompt and the owner of its space can change it.")
    return row


def list_prompts(user_id: int, query: SavedPromptQuery) -> Page[SavedPrompt]:
    """Return the user's prompts and those shared with them, by name. Raises NotFound, Invalid for a foreign cursor."""
    statement = _select_prompts(user_id)
    if query.space_id is not None:
        require_member(user_id, query.space_id)
        statement = statement.where(SavedPrompt.space_id == query.space_id)
    for word in (query.q or "").split():
        statement = statement.where(
            or_(contains_words(SavedPrompt.name, word), contains_words(SavedPrompt.description, word))
        )
    key = SavedPrompt.name, SavedPrompt.saved_prompt_id
    return read_rows("saved prompts", query, statement, *key, scope=user_id, newest_first=False)


def all_prompts(user_id: int) -> list[SavedPrompt]:
    """Return everything the user can use, by name, up to MAX_PROMPTS."""
    query = _select_prompts(user_id).order_by(SavedPrompt.name, SavedPrompt.saved_prompt_id).limit(MAX_PROMPTS)
    return list(db.session.scalars(query))


def create_prompt(user_id: int, fields: NewSavedPrompt) -> SavedPrompt:
    """Save a new prompt. Raises NotFound for a space the user is not in, Conflict if there are too many."""
    _require_room(user_id, 1)
    if fields.space_id is not None:
        require_member(user_id, fields.space_id, lock=True)
    return add_row(SavedPrompt(user_id=user_id, can_edit=True, **fields.model_dump()))


def update_prompt(user_id: int, saved_prompt_id: int, changes: SavedPromptChanges) -> SavedPrompt:
    """Change the given fields; only its creator decides where it is shared. Raises NotFound, Forbidden, Invalid."""
    row = get_prompt(user_id, saved_prompt_id, edit=True)
    values = changes.model_dump(exclude_unset=True)
    if "space_id" in values and values["space_id"] != row.space_id:
        if row.user_id != user_id:
            raise Forbidden("Only the person who created this prompt can decide where it is shared.")
        if values["space_id"] is not None:
            require_member(user_id, values["space_id"], lock=True)
    for name, value in values.items():
        setattr(row, name, value)
    return get_prompt(user_id, saved_prompt_id)  # with `can_edit`, which writing the row unloads


def delete_prompt(user_id: int, saved_prompt_id: int) -> str:
    """Delete a prompt; returns its name. Raises NotFound, Forbidden."""
    row = get_prompt(user_id, saved_prompt_id, edit=True)
    name = row.name
    delete_row(row)
    return name


def duplicate_prompt(user_id: int, saved_prompt_id: int) -> SavedPrompt:
    """Copy a prompt for the user alone. Raises NotFound, Conflict if there are too many."""
    row = get_prompt(user_id, saved_prompt_id)
    name = f"{row.name[: formats.MAX_NAME_LENGTH - 7]} (copy)"
    return create_prompt(user_id, NewSavedPrompt(name=name, description=row.description, content=row.content))


def fill_prompt(user_id: int, saved_prompt_id: int, values: Mapping[str, str], moment: datetime) -> str:
    """Return a prompt's text with its variables filled; `moment` is the user's local time. Raises NotFound, Invalid."""
    row = get_prompt(user_id, saved_prompt_id)
    ready = {
        "CURRENT_DATE": moment.strftime("%Y-%m-%d"),
        "CURRENT_TIME": moment.strftime("%H:%M"),
        "CURRENT_DATETIME": moment.strftime("%Y-%m-%d %H:%M"),
        "CURRENT_WEEKDAY": moment.strftime("%A"),
        "USER_NAME": db.session.scalar(select(User.name).where(User.user_id == user_id)) or "",
    }
    return fill(row.content, values, ready)


def export_prompts(user_id: int) -> PromptExport:
    """Return the prompts the user created, as a file."""
    rows = db.session.scalars(
        select(SavedPrompt)
        .where(SavedPrompt.user_id == user_id)
        .order_by(SavedPrompt.name, SavedPrompt.saved_prompt_id)
    )
    return PromptExport(prompts=[FilePrompt(row.name, row.content, row.description) for row in rows])


def import_prompts(
    user_id: int, items: Collection[Any], *, space_id: int | None = None
) -> tuple[int, int, list[RefusedPrompt]]:
    """Import the prompts of a file: returns how many are new, how many existed already, and what could not be read.

    Raises NotFound for a space the user is not in, Conflict if there are too many, Invalid for too many at once.
    """
    if len(items) > formats.MAX_BATCH:
        raise Invalid.field("prompts", "are more than %(most)s", most=formats.MAX_BATCH)
    if space_id is not None:
        require_member(user_id, space_id, lock=True)
    prompts, refused = formats.read(items)
    stored = select(SavedPrompt.name, SavedPrompt.content).where(SavedPrompt.user_id == user_id)
    have = set(map(tuple, db.session.execute(stored.where(SavedPrompt.space_id == space_id))))
    once = {(prompt.name, prompt.content): prompt for prompt in prompts}
    new = [prompt for key, prompt in once.items() if key not in have]
    _require_room(user_id, len(new))
    db.session.add_all(SavedPrompt(user_id=user_id, space_id=space_id, **asdict(prompt)) for prompt in new)
    db.session.flush()
    return len(new), len(prompts) - len(new), refused


@membership_ending.connect
def _membership_ends(_sender: object, *, space: Space, user_id: int, forget: bool) -> None:
    """Take what a member shared out of a space: it is theirs alone again or, if they say so, deleted."""
    conditions = (SavedPrompt.user_id == user_id, SavedPrompt.space_id == space.space_id)
    if forget:
        db.session.execute(delete(SavedPrompt).where(*conditions))
    else:
        db.session.execute(update(SavedPrompt).where(*conditions).values(space_id=None))


@collect_consequences.connect
def _consequences(_sender: object, *, space: Space, user_id: int) -> list[Consequence]:
    count = count_rows(SavedPrompt.user_id == user_id, SavedPrompt.space_id == space.space_id)
    if not count:
        return []
    phrase = "1 prompt" if count == 1 else f"{count} prompts"
    return [Consequence("prompts", count, f"{phrase} that you share here will be yours alone again.")]


def _select_prompts(user_id: int) -> Select[SavedPrompt]:
    """Return what a user can see, with `can_edit`, which is read anew: it is another's for another reader."""
    statement = select(SpaceMember.space_id).where(
        SpaceMember.user_id == user_id, SpaceMember.role == "owner", SpaceMember.status == "active"
    )
    condition: ColumnElement[bool] = SavedPrompt.user_id == user_id
    shared = SavedPrompt.space_id.in_(spaces_of(user_id))
    can_edit = or_(condition, func.coalesce(SavedPrompt.space_id.in_(statement), False))
    query = select(SavedPrompt).where(or_(and_(condition, SavedPrompt.space_id.is_(None)), shared))
    return query.options(with_expression(SavedPrompt.can_edit, can_edit)).execution_options(populate_existing=True)


def _require_room(user_id: int, additional: int) -> None:
    if count_rows(SavedPrompt.user_id == user_id) + additional > MAX_PROMPTS:
        raise Conflict("Nobody can keep more than %(most)s prompts. Delete some first.", most=f"{MAX_PROMPTS:,}")
