"""The grades of models that write memories: whose exam is owed, and what each reached."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from webapp.background.queues import enqueue_or_find
from webapp.db.base import db
from webapp.errors import NotFound, require
from webapp.extensions import app_settings, redis
from webapp.llm.settings import Target
from webapp.providers import service
from webapp.providers.catalogue import ENVIRONMENT_MODEL, background_choice, environment_sets_models
from webapp.providers.models import MemoryGrade
from webapp.providers.repository import server_settings
from webapp.providers.schemas import offer_id

JOB = "exam"


@dataclass(frozen=True, slots=True)
class Examinee:
    """A model as the page of grades shows it; `is_background_model`: it does the background work now."""

    id: str
    name: str
    grade: MemoryGrade | None
    is_background_model: bool


def background_model() -> Target:
    """Return the model that does the background work now."""
    return background_choice() or _environment_target()


def target_of(model_id: str) -> Target:
    """Return a model by its id; the environment's is that for background work. Raises NotFound."""
    if model_id == ENVIRONMENT_MODEL:
        return _environment_target()
    number = model_id.partition("/")[0]
    targets = _targets(int(number)) if number.isdecimal() and len(number) < 10 else []
    return require(next((target for target in targets if target.id == model_id), None), "There is no such model.")


def grade_of(target: Target) -> MemoryGrade | None:
    """Return what a model reached in the exam; None if it has not been examined."""
    return db.session.get(MemoryGrade, key_of(target))


def grades_of(targets: Sequence[Target]) -> dict[str, MemoryGrade]:
    """Return the grades of those models that have one, by the model's id."""
    keys = {target.id: key_of(target) for target in targets}
    rows = db.session.scalars(select(MemoryGrade).where(MemoryGrade.model_key.in_(set(keys.values()))))
    by_key = {row.model_key: row for row in rows}
    return {model_id: by_key[key] for model_id, key in keys.items() if key in by_key}


def grade_of_reply(model_id: str | None) -> MemoryGrade | None:
    """Return the grade of a model that writes replies, by its id; of the environment's chat model if there is none."""
    if model_id in (None, ENVIRONMENT_MODEL):
        home = app_settings().model
        return db.session.get(MemoryGrade, key_at(home.base_url, home.chat_model))
    try:
        return grade_of(target_of(model_id))
    except NotFound:  # taken away since the reply began
        return None


def key_of(target: Target) -> str:
    """Return what identifies the model on its server (64 hexadecimal digits) that writes memories beside this one."""
    server = target.settings
    model = server.background_model if target.id == ENVIRONMENT_MODEL else target.model
    return key_at(server.base_url, model)


def key_at(base_url: str, model: str) -> str:
    """Return what identifies a model at a URL."""
    return hashlib.sha256(f"{base_url.rstrip('/')}\n{model}".encode()).hexdigest()


def models_to_examine() -> list[str]:
    """Return the id of the model that does background work if it has no grade; the demonstration needs none."""
    target = background_model()
    is_real = target.id != ENVIRONMENT_MODEL or not app_settings().offline_model
    return [target.id] if is_real and grade_of(target) is None else []


def request_exam(model_id: str) -> str:
    """Queue an exam from its first paper; return the id of its job, or of one already waiting. Raises NotFound."""
    redis().delete(progress_key(target_of(model_id)))
    return enqueue_or_find(JOB, model=model_id)


def progress_key(target: Target) -> str:
    """Return where the marks of the papers done so far are kept until there is a grade."""
    return f"exam:{key_of(target)}"


def examinees(connection_id: int | None = None) -> list[Examinee]:
    """Return the models of a connection that may write memories, or that of the environment if it names one."""
    if connection_id is not None:
        targets = _targets(connection_id)
    else:
        targets = [_environment_target()] if environment_sets_models(app_settings()) else []
    by_key, at_work = grades_of(targets), background_model().id
    return [Examinee(t.id, t.model, by_key.get(t.id), is_background_model=t.id == at_work) for t in targets]


def _targets(connection_id: int) -> list[Target]:
    """Return the models of a connection: the one for background work first, then those that it offers."""
    row = service.get_connection(connection_id)
    names = [row.background_model, *(offer.model for offer in service.offers_of(connection_id))]
    server = server_settings(row)
    return [Target(offer_id(connection_id, name), name, server) for name in dict.fromkeys(names) if name]


def _environment_target() -> Target:
    home = app_settings().model
    return Target(ENVIRONMENT_MODEL, home.background_model, home)
