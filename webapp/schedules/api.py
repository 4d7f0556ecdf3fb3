"""JSON endpoints of schedules."""

from typing import Any

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required, session_only, writes
from webapp.accounts.identity import require_identity
from webapp.http.answers import commit_empty, commit_json
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, api_blueprint
from webapp.schedules import feed, service
from webapp.schedules.schemas import (
    FeedOut,
    RunList,
    RunOut,
    ScheduleEdit,
    ScheduleFields,
    ScheduleList,
    ScheduleOut,
    SchedulePath,
)

blueprint = api_blueprint("schedules_api", __name__, tag="Schedules")


@blueprint.get("/schedules", responses={200: ScheduleList})
@login_required
def list_schedules(query: PageQuery) -> dict[str, Any]:
    """Your schedules, those due next first."""
    page = service.page_of_schedules(current_user_id(), query)
    schedules = [ScheduleOut.of(row) for row in page.items]
    return ScheduleList(schedules=schedules, next_cursor=page.next_cursor).model_dump(mode="json")


@blueprint.post("/schedules", responses={201: ScheduleOut})
@login_required
@idempotency.idempotent
def create_schedule(body: ScheduleFields) -> ViewResult:
    """Have a message sent at a time, once or again and again; a worker sends it, and nobody need be there."""
    row = service.create_schedule(current_user_id(), body, token_id=require_identity().token_id)
    return idempotency.commit_json(ScheduleOut.of(row), 201)


@blueprint.get("/schedules/feed", responses={200: FeedOut})
@login_required
@writes
def read_feed() -> ViewResult:
    """Return the URL of a calendar (iCalendar) of your schedules, which is made the first time."""
    return _feed(feed.feed_of(current_user_id()))


@blueprint.post("/schedules/feed", responses={201: FeedOut})
@login_required
@session_only
@idempotency.idempotent
def renew_feed() -> ViewResult:
    """Make a new URL of your calendar; the one before opens nothing any more."""
    return _feed(feed.make_feed(current_user_id()), 201)


@blueprint.delete("/schedules/feed", responses={204: None})
@login_required
@session_only
def delete_feed() -> ViewResult:
    """Withdraw the URL of your calendar."""
    feed.delete_feed(current_user_id())
    return commit_empty()


@blueprint.get("/schedules/<int:schedule_id>", responses={200: ScheduleOut})
@login_required
def get_schedule(path: SchedulePath) -> dict[str, Any]:
    """One schedule."""
    return ScheduleOut.of(service.get_schedule(current_user_id(), path.schedule_id)).model_dump(mode="json")


@blueprint.patch("/schedules/<int:schedule_id>", responses={200: ScheduleOut})
@login_required
def change_schedule(path: SchedulePath, body: ScheduleEdit) -> ViewResult:
    """Change a schedule, only the given fields; pause it, or let it go on."""
    row = service.change_schedule(current_user_id(), path.schedule_id, body, token_id=require_identity().token_id)
    return commit_json(ScheduleOut.of(row))


@blueprint.delete("/schedules/<int:schedule_id>", responses={204: None})
@login_required
def delete_schedule(path: SchedulePath) -> ViewResult:
    """Delete a schedule; the conversations it began stay."""
    service.delete_schedule(current_user_id(), path.schedule_id)
    return commit_empty()


@blueprint.post("/schedules/<int:schedule_id>/run", responses={202: RunOut})
@login_required
@idempotency.idempotent
def run_schedule(path: SchedulePath) -> ViewResult:
    """Send its message now, beside its times."""
    return idempotency.commit_json(RunOut.of(service.run_now(current_user_id(), path.schedule_id), None), 202)


@blueprint.get("/schedules/<int:schedule_id>/runs", responses={200: RunList})
@login_required
def list_runs(path: SchedulePath, query: PageQuery) -> dict[str, Any]:
    """The times it was due, newest first, and what became of each."""
    page = service.list_runs(current_user_id(), path.schedule_id, query)
    runs = [RunOut.of(row, conversation_id) for row, conversation_id in page.items]
    return RunList(runs=runs, next_cursor=page.next_cursor).model_dump(mode="json")


def _feed(calendar: feed.Feed, status: int = 200) -> ViewResult:
    return idempotency.commit_json(FeedOut(url=feed.feed_url(calendar.secret), created_at=calendar.created_at), status)
