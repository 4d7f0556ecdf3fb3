"""JSON endpoints for changing points by hand: everything the panel of a conversation can do."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.conversations.schemas import ConversationPath
from webapp.db.base import db
from webapp.http.answers import commit
from webapp.http.json_api import api_blueprint
from webapp.journeys import answers, service
from webapp.journeys.guide_state import pause
from webapp.journeys.point_views import PointView
from webapp.journeys.schemas import (
    ConversationPointPath,
    GuideState,
    PointAnswer,
    PointOut,
    PointReset,
    ReopenWish,
    SkipWish,
)

blueprint = api_blueprint("point_answers_api", __name__, tag="Journeys", access="user")

PLACE = "/conversations/<int:conversation_id>/points/<point>"


@blueprint.post(f"{PLACE}/answer")
def answer(path: ConversationPointPath, body: PointAnswer) -> PointOut:
    """Say whether something is still true, is not right, or what is right instead."""
    return _point_response(path, _take(path, body))


@blueprint.post(f"{PLACE}/skip")
def skip(path: ConversationPointPath, body: SkipWish) -> PointOut:
    """Do not be asked about a point, or only after all others."""
    wish = "later" if body.until == "later" else "skip"
    return _point_response(path, answers.skip(current_user_id(), path.conversation_id, path.point, wish))


@blueprint.put("/conversations/<int:conversation_id>/guide")
def guide(path: ConversationPath, body: GuideState) -> GuideState:
    """Stop the questions of a guided conversation, or let them go on."""
    pause(current_user_id(), path.conversation_id, paused=body.paused)
    db.session.commit()
    return body


@blueprint.post(f"{PLACE}/reopen")
def reopen(path: ConversationPointPath, body: ReopenWish) -> PointOut:
    """Be asked about a point again: a skip is undone, else what is known moves to its history; or undo that."""
    change = answers.undo if body.undo else answers.ask_again
    return _point_response(path, change(current_user_id(), path.conversation_id, path.point))


@blueprint.post(f"{PLACE}/reset", status=202)
@idempotency.idempotent
def reset(path: ConversationPointPath) -> PointReset:
    """Forget what is known of a point, including its history, and have the journey's conversations read again."""
    count = service.reset_here(current_user_id(), path.conversation_id, path.point)
    return idempotency.commit(PointReset(conversations_read_again=count))


def _take(path: ConversationPointPath, body: PointAnswer) -> PointView:
    key = (current_user_id(), path.conversation_id, path.point)
    if body.text is not None:
        return answers.correct(*key, body.text, body.evidence_id)
    if body.memory_id is not None:
        take = answers.confirm_memory if body.answer == "yes" else answers.dismiss_memory
        return take(*key, body.memory_id)
    if body.answer == "both":
        return answers.both_hold(*key)
    if body.evidence_id is not None:
        return (answers.choose if body.answer == "yes" else answers.not_right)(*key, body.evidence_id)
    return (answers.confirm_point if body.answer == "yes" else answers.ask_again)(*key)


def _point_response(path: ConversationPointPath, view: PointView) -> PointOut:
    _, journey = service.conversation_view(current_user_id(), path.conversation_id)
    return commit(PointOut.from_view(view, journey.next_slug if journey else None))
