"""Prompts as the product uses them and as admins change them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sqlalchemy import ScalarSelect, Select, bindparam, func, select
from sqlalchemy.exc import IntegrityError

from webapp.db.base import add_row, db, now
from webapp.errors import Conflict, Invalid, require
from webapp.prompts.catalogue import CATALOGUE, Definition, default_text, definition_of, problems_of
from webapp.prompts.models import Prompt, PromptActivation, PromptVersion

MAX_ACTIVATIONS = 50


@dataclass(frozen=True, slots=True)
class ActivePrompt:
    """The version of a prompt that is in use."""

    name: str
    version: int
    text: str

    @property
    def label(self) -> str:
        """Return the version's name where it was used: `chat/3`."""
        return f"{self.name}/{self.version}"


def active(name: str) -> ActivePrompt:
    """Return the version of a prompt in use, or the shipped text, version 1, by primary key."""
    return active_of(name, *db.session.execute(_active(), {"name": name}).one_or_none() or (None, None))


def active_columns(name: str) -> tuple[ScalarSelect[int], ScalarSelect[str]]:
    """Return the version and text of a prompt in use, as columns for `active_of`."""
    row = _active().params(name=name)
    return row.with_only_columns(PromptVersion.version).scalar_subquery(), row.with_only_columns(
        PromptVersion.prompt_text
    ).scalar_subquery()


def active_of(name: str, version: int | None, text: str | None) -> ActivePrompt:
    """Return the prompt in use, given what the tables know of it."""
    if version is None or text is None:
        return ActivePrompt(name, 1, default_text(name))
    return ActivePrompt(name, version, text)


@cache
def _active() -> Select[int, str]:
    return (
        select(PromptVersion.version, PromptVersion.prompt_text)
        .join(Prompt, (Prompt.name == PromptVersion.name) & (Prompt.active_version == PromptVersion.version))
        .where(Prompt.name == bindparam("name"))
    )


def definition(name: str) -> Definition:
    """Return the prompt of that name or alias. Raises NotFound."""
    return require(definition_of(name), "There is no such prompt. There are: %(names)s.", names=", ".join(CATALOGUE))


def list_prompts() -> list[Prompt]:
    """Return every prompt with the version in use; nobody activated the shipped one."""
    rows = {row.name: row for row in db.session.scalars(select(Prompt))}
    return [rows.get(name) or Prompt(name=name, active_version=1) for name in CATALOGUE]


def get_prompt(name: str) -> Prompt:
    """Return one prompt, by name or alias. Raises NotFound."""
    name = definition(name).name
    return db.session.get(Prompt, name) or Prompt(name=name, active_version=1)


def versions(name: str) -> Sequence[PromptVersion]:
    """Return the versions of a prompt, newest first. Raises NotFound."""
    prompt = definition(name)
    rows = db.session.scalars(
        select(PromptVersion).where(PromptVersion.name == prompt.name).order_by(PromptVersion.version.desc())
    ).all()
    return rows or [PromptVersion(name=prompt.name, version=1, prompt_text=default_text(prompt.name), origin="default")]


def get_version(name: str, version: int) -> PromptVersion:
    """Return one version of a prompt. Raises NotFound."""
    row = next((row for row in versions(name) if row.version == version), None)
    return require(row, "There is no such version of this prompt.")


def check(name: str, text: str) -> None:
    """Refuse a text that cannot be this prompt, with the reasons. Raises NotFound, Invalid."""
    problems = problems_of(definition(name), text)
    if problems:
        raise Invalid(
            "The prompt %(found)s.",
            found=problems[0],
            errors=[{"loc": ["prompt_text"], "msg": reason} for reason in problems],
        )


def add_version(
    admin_id: int | None, name: str, text: str, *, set_active: bool = False, note: str | None = None
) -> PromptVersion:
    """Return a new version of a prompt, put into use if asked for. Raises NotFound, Invalid."""
    check(name, text)
    prompt = _lock_prompt(definition(name))
    row = _insert(prompt.name, text, origin="admin", admin_id=admin_id, note=note)
    if set_active:
        _activate(prompt, row.version, admin_id)
    return row


def activate(admin_id: int | None, name: str, version: int) -> Prompt:
    """Put a version into use. Raises NotFound, Conflict for a text that is not acceptable any more."""
    prompt = _lock_prompt(definition(name))
    if problems := problems_of(prompt.definition, get_version(prompt.name, version).prompt_text):
        raise Conflict("This version cannot be used: it %(found)s.", found=problems[0])
    if prompt.active_version != version:
        _activate(prompt, version, admin_id)
    return prompt


def activations(name: str) -> Sequence[PromptActivation]:
    """Return when each version was put into use, newest first. Raises NotFound."""
    return db.session.scalars(
        select(PromptActivation)
        .where(PromptActivation.name == definition(name).name)
        .order_by(PromptActivation.activation_id.desc())
        .limit(MAX_ACTIVATIONS)
    ).all()


def defaults_are_stored() -> bool:
    """Return whether every text that this release ships is stored as a version."""
    shipped = select(PromptVersion.name, PromptVersion.prompt_text).where(PromptVersion.origin == "default")
    rows = {(row.name, row.prompt_text) for row in db.session.execute(shipped)}
    return all((name, default_text(name)) in rows for name in CATALOGUE)


def store_defaults() -> list[str]:
    """Store new shipped texts, used only in place of shipped ones; return the labels of those added."""
    rows = []
    for definition in CATALOGUE.values():
        text = default_text(definition.name)
        prompt = _lock_prompt(definition)
        shipped = {row.version: row.prompt_text for row in versions(definition.name) if row.origin == "default"}
        # Any version counts, not only the newest: otherwise two releases running side by side would undo each other.
        if text not in shipped.values():
            row = _insert(definition.name, text, origin="default", admin_id=None, note=None)
            if prompt.active_version in shipped:
                _activate(prompt, row.version, None)
            rows.append(f"{definition.name}/{row.version}")
    return rows


def _lock_prompt(prompt: Definition) -> Prompt:
    """Return the prompt's row, created if necessary, and locked, so that versions are numbered in turn."""
    for _ in range(3):
        row = db.session.get(Prompt, prompt.name, with_for_update=True, populate_existing=True)
        if row is not None:
            return row
        try:
            with db.session.begin_nested():
                _insert(prompt.name, default_text(prompt.name), origin="default", admin_id=None, note=None)
                db.session.add(Prompt(name=prompt.name, active_version=1, activated_at=now()))
        except IntegrityError:
            continue  # somebody else made it first
    raise Conflict("Somebody else is changing this prompt. Try again.")


def _insert(name: str, text: str, *, origin: str, admin_id: int | None, note: str | None) -> PromptVersion:
    newest = db.session.scalar(select(func.max(PromptVersion.version)).where(PromptVersion.name == name)) or 0
    row = PromptVersion(
        name=name,
        version=newest + 1,
        prompt_text=text,
        origin=origin,
        created_by=admin_id,
        note=note or None,
        created_at=now(),
    )
    return add_row(row)


def _activate(prompt: Prompt, version: int, admin_id: int | None) -> None:
    moment = now()
    prompt.active_version, prompt.activated_at, prompt.activated_by = version, moment, admin_id
    add_row(PromptActivation(name=prompt.name, version=version, activated_at=moment, activated_by=admin_id))
