"""Examines a model that writes memories, one paper a job; marks are in Redis until the last paper is done."""

import json
import logging
from dataclasses import asdict, astuple
from typing import Any

from webapp.db.base import db, now, write_transaction
from webapp.errors import NotFound
from webapp.extensions import redis
from webapp.llm.errors import ContextTooLong, CutOffAnswer, MalformedOutput, RefusedByModel
from webapp.llm.settings import Target
from webapp.llm.structured import complete_items
from webapp.memories.learning.exam import Marks, Paper, call_of, mark, papers
from webapp.memories.learning.model_call import SCHEMA_NAME, TurnAnswer, call_options
from webapp.memories.rules.statements import FIELD
from webapp.prompts import service as prompts
from webapp.providers.clients import completions
from webapp.providers.grades import key_of, progress_key, target_of
from webapp.providers.models import MemoryGrade

log = logging.getLogger(__name__)

RETENTION_SECONDS = 86_400
"""How long the marks of an unfinished exam are kept."""


def examine(model_id: str) -> bool:
    """Ask a model the next paper of its exam, and grade it after the last; return whether there are more.

    Nothing is done for a model that is gone. No connection is held during the call. Raises ModelError with nothing
    stored; an answer that cannot be read, and a refusal, find nothing.
    """
    try:
        target = target_of(model_id)
    except NotFound:
        return False
    key, marks = progress_key(target), _marks(target)
    number = next((n for n in range(len(papers())) if n not in marks), None)
    if number is not None:
        instructions = prompts.active("extraction").text
        db.session.remove()
        marks[number] = _answer_paper(target, papers()[number], instructions)
        with redis().pipeline() as pipe:
            pipe.hset(key, str(number), json.dumps(astuple(marks[number])))
            pipe.expire(key, RETENTION_SECONDS)
            pipe.execute()
    if len(marks) < len(papers()):
        return True
    _grade(target, Marks.total(marks.values()))
    redis().delete(key)
    return False


def _marks(target: Target) -> dict[int, Marks]:
    """Return the marks of the papers that are done, by number."""
    answers = {
        int(number): Marks(*json.loads(marks)) for number, marks in redis().hgetall(progress_key(target)).items()
    }
    return {number: marks for number, marks in answers.items() if number < len(papers())}


def _answer_paper(target: Target, paper: Paper, instructions: str) -> Marks:
    call, parts = call_of(paper, instructions)
    items: list[Any] = []
    try:
        parsed, _ = (
            completions()
            .bound_to(target)
            .complete_structured(call.messages, TurnAnswer, SCHEMA_NAME, **call_options(call, parts))
        )
        items = parsed.statements
    except CutOffAnswer as cut:
        items = complete_items(cut.text, FIELD)
    except (MalformedOutput, RefusedByModel, ContextTooLong) as error:
        log.info("exam: no answer", extra={"code": error.code, "language": paper.language})
    return mark(paper, call, items)


def _grade(target: Target, marks: Marks) -> None:
    grade = MemoryGrade(
        model_key=key_of(target),
        recall=marks.recall,
        key_share=marks.key_share,
        false_share=marks.false_share,
        cases=marks.wrong,
        examined_at=now(),
    )
    with write_transaction():
        db.session.merge(grade)
    log.info("model examined", extra={"model": target.model, **asdict(marks)})
