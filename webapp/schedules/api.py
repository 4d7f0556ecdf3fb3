"""JSON endpoints of schedules."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, session_only, writes
from webapp.accounts.identity import require_identity
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery
from webapp.schedules import feed, service
from webapp.schedules.schemas import FeedOut, RunList, RunOut, ScheduleEdit, ScheduleFields, ScheduleList, ScheduleOut

blueprint = api_blueprint("schedules_api", __name__, tag="Schedules", access="user")


@blueprint.get("/schedules")
def list_schedules(query: PageQuery) -> ScheduleList:
    """Your schedules, those due next first."""
    return ScheduleList.of(service.page_of_schedules(current_user_id(), query).map(ScheduleOut.of))


@blueprint.post("/schedules", status=201)
@idempotency.idempotent
def create_schedule(body: ScheduleFields) -> ScheduleOut:
    """Schedule a message, once or repeatedly; a worker sends it, whether or not anybody is signed in."""
    return ScheduleOut.of(service.create_schedule(current_user_id(), body, token_id=require_identity().token_id))


@blueprint.get("/schedules/feed")
@writes
def read_feed() -> FeedOut:
    """Return the URL of a calendar (iCalendar) of your schedules, which is made the first time."""
    return _feed(feed.feed_of(current_user_id()))


@blueprint.post("/schedules/feed", status=201)
@session_only
@idempotency.idempotent
def renew_feed() -> FeedOut:
    """Make a new URL of your calendar; the one before opens nothing any more."""
    return _feed(feed.make_feed(current_user_id()))


@blueprint.delete("/schedules/feed")
@session_only
def delete_feed() -> None:
    """Withdraw the URL of your calendar."""
    feed.delete_feed(current_user_id())


@blueprint.get("/schedules/<int:schedule_id>")
def get_schedule(schedule_id: Id) -> ScheduleOut:
    """One schedule."""
    return ScheduleOut.of(service.get_schedule(current_user_id(), schedule_id))


@blueprint.patch("/schedules/<int:schedule_id>")
def change_schedule(schedule_id: Id, body: ScheduleEdit) -> ScheduleOut:
    """Change the given fields of a schedule; pause or resume it."""
    row = service.change_schedule(current_user_id(), schedule_id, body, token_id=require_identity().token_id)
    return ScheduleOut.of(row)


@blueprint.delete("/schedules/<int:schedule_id>")
def delete_schedule(schedule_id: Id) -> None:
    """Delete a schedule; the conversations it began stay."""
    service.delete_schedule(current_user_id(), schedule_id)


@blueprint.post("/schedules/<int:schedule_id>/run", status=202)
@idempotency.idempotent
def run_schedule(schedule_id: Id) -> RunOut:
    """Send its message now, beside its times."""
    return RunOut.of(service.run_now(current_user_id(), schedule_id), None)


@blueprint.get("/schedules/<int:schedule_id>/runs")
def list_runs(schedule_id: Id, query: PageQuery) -> RunList:
    """The times it was due, newest first, and what became of each."""
    return RunList.of(service.list_runs(current_user_id(), schedule_id, query).map(lambda run: RunOut.of(*run)))


def _feed(calendar: feed.Feed) -> FeedOut:
    return FeedOut(url=feed.feed_url(calendar.secret), created_at=calendar.created_at)
