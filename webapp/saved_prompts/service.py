"""Saved prompts: create, find, change, fill, import and export; a shared one is changed by creator or space owner."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, update

from webapp.accounts.models import User
from webapp.db.base import add_row, count_rows, db, delete_row
from webapp.db.text_search import contains_words
from webapp.errors import Conflict, Forbidden, Invalid, NotFound
from webapp.http.paging import Keyset, read_page
from webapp.http.validation import Page
from webapp.saved_prompts import formats
from webapp.saved_prompts.formats import FilePrompt, InvalidValues, RefusedPrompt, fill
from webapp.saved_prompts.models import SavedPrompt
from webapp.saved_prompts.schemas import NewSavedPrompt, PromptExport, SavedPromptChanges, SavedPromptQuery
from webapp.spaces.models import Space, SpaceMember
from webapp.spaces.service import require_member, spaces_of
from webapp.spaces.signals import Consequence, collect_consequences, membership_ending

MAX_PROMPTS = 1_000
"""The most prompts of one person."""


@dataclass(frozen=True, slots=True)
class PromptForReader:
    """A prompt as one person sees it."""

    prompt: SavedPrompt
    can_edit: bool


def get_prompt(user_id: int, saved_prompt_id: int, *, edit: bool = False) -> PromptForReader:
    """Return a prompt of the user or their spaces; with `edit`, one they can change. Raises NotFound, Forbidden."""
    row = db.session.execute(
        _select_prompts(user_id).where(SavedPrompt.saved_prompt_id == saved_prompt_id)
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such prompt.")
    prompt = PromptForReader(row.SavedPrompt, bool(row.can_edit))
    if edit and not prompt.can_edit:
        raise Forbidden("Only the person who created this prompt and the owner of its space can change it.")
    return prompt


def list_prompts(user_id: int, query: SavedPromptQuery) -> Page[PromptForReader]:
    """Return the user's prompts and those shared with them, by name. Raises NotFound, Invalid for a foreign cursor."""
    keyset = Keyset("saved prompts", query, str, int, scope=user_id)
    statement = _select_prompts(user_id)
    if query.space_id is not None:
        require_member(user_id, query.space_id)
        statement = statement.where(SavedPrompt.space_id == query.space_id)
    for word in (query.q or "").split():
        statement = statement.where(
            or_(contains_words(SavedPrompt.name, word), contains_words(SavedPrompt.description, word))
        )
    page = read_page(keyset, statement, SavedPrompt.name, SavedPrompt.saved_prompt_id, newest_first=False)
    return page.map(lambda row: PromptForReader(row.SavedPrompt, bool(row.can_edit)))


def all_prompts(user_id: int) -> list[PromptForReader]:
    """Return everything the user can use, by name, up to MAX_PROMPTS."""
    rows = db.session.execute(
        _select_prompts(user_id).order_by(SavedPrompt.name, SavedPrompt.saved_prompt_id).limit(MAX_PROMPTS)
    )
    return [PromptForReader(row.SavedPrompt, bool(row.can_edit)) for row in rows]


def create_prompt(user_id: int, fields: NewSavedPrompt) -> PromptForReader:
    """Save a new prompt. Raises NotFound for a space the user is not in, Conflict if there are too many."""
    _require_room(user_id, 1)
    if fields.space_id is not None:
        require_member(user_id, fields.space_id, lock=True)
    return PromptForReader(add_row(SavedPrompt(user_id=user_id, **fields.model_dump())), True)


def update_prompt(user_id: int, saved_prompt_id: int, changes: SavedPromptChanges) -> PromptForReader:
    """Change the given fields; only its creator decides where it is shared. Raises NotFound, Forbidden, Invalid."""
    prompt = get_prompt(user_id, saved_prompt_id, edit=True)
    values = changes.model_dump(exclude_unset=True)
    if "space_id" in values and values["space_id"] != prompt.prompt.space_id:
        if prompt.prompt.user_id != user_id:
            raise Forbidden("Only the person who created this prompt can decide where it is shared.")
        if values["space_id"] is not None:
            require_member(user_id, values["space_id"], lock=True)
    for name, value in values.items():
        setattr(prompt.prompt, name, value)
    db.session.flush()
    return prompt


def delete_prompt(user_id: int, saved_prompt_id: int) -> str:
    """Delete a prompt; returns its name. Raises NotFound, Forbidden."""
    row = get_prompt(user_id, saved_prompt_id, edit=True).prompt
    name = row.name
    delete_row(row)
    return name


def duplicate_prompt(user_id: int, saved_prompt_id: int) -> PromptForReader:
    """Copy a prompt for the user alone. Raises NotFound, Conflict if there are too many."""
    row = get_prompt(user_id, saved_prompt_id).prompt
    name = f"{row.name[: formats.MAX_NAME_LENGTH - 7]} (copy)"
    return create_prompt(user_id, NewSavedPrompt(name=name, description=row.description, content=row.content))


def fill_prompt(user_id: int, saved_prompt_id: int, values: Mapping[str, str], moment: datetime) -> str:
    """Return a prompt's text with its variables filled; `moment` is the user's local time. Raises NotFound, Invalid."""
    row = get_prompt(user_id, saved_prompt_id).prompt
    ready = {
        "CURRENT_DATE": moment.strftime("%Y-%m-%d"),
        "CURRENT_TIME": moment.strftime("%H:%M"),
        "CURRENT_DATETIME": moment.strftime("%Y-%m-%d %H:%M"),
        "CURRENT_WEEKDAY": moment.strftime("%A"),
        "USER_NAME": db.session.scalar(select(User.name).where(User.user_id == user_id)) or "",
    }
    try:
        return fill(row.content, values, ready)
    except InvalidValues as error:
        raise Invalid(str(error), errors=[{"loc": [n], "msg": wrong} for n, wrong in error.errors.items()]) from None


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


def _select_prompts(user_id: int) -> Select[SavedPrompt, bool]:
    statement = select(SpaceMember.space_id).where(
        SpaceMember.user_id == user_id, SpaceMember.role == "owner", SpaceMember.status == "active"
    )
    condition: ColumnElement[bool] = SavedPrompt.user_id == user_id
    shared = SavedPrompt.space_id.in_(spaces_of(user_id))
    can_edit = or_(condition, func.coalesce(SavedPrompt.space_id.in_(statement), False)).label("can_edit")
    return select(SavedPrompt, can_edit).where(or_(and_(condition, SavedPrompt.space_id.is_(None)), shared))


def _require_room(user_id: int, additional: int) -> None:
    if count_rows(SavedPrompt.user_id == user_id) + additional > MAX_PROMPTS:
        raise Conflict("Nobody can keep more than %(most)s prompts. Delete some first.", most=f"{MAX_PROMPTS:,}")
