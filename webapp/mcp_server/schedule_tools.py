"""Schedules for programs with the scope `mcp_schedules`, or that of `/api/schedules`, in the spaces they may see."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from webapp.accounts.identity import require_identity
from webapp.audit.actions import Action
from webapp.audit.service import record
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.errors import Forbidden, NotFound
from webapp.mcp_server import access, schemas
from webapp.schedules import service
from webapp.schedules.models import Schedule
from webapp.schedules.schemas import RunOut, ScheduleEdit, ScheduleFields, ScheduleOut


def list_schedules(user_id: int, _args: schemas.ListSchedules) -> dict[str, Any]:
    """Return the schedules, those due next first."""
    return {"schedules": [_out(row) for row in _visible_schedules(service.list_schedules(user_id))]}


def create_schedule(user_id: int, args: ScheduleFields) -> dict[str, Any]:
    """Make a schedule that ends with this token. Raises as the service, and Forbidden."""
    if isinstance(args.conversation, int):
        if not access.may_see(get_conversation(user_id, args.conversation).space_id):
            raise NotFound("There is no such conversation.")
    elif not access.may_see(None):
        raise Forbidden("New conversations are outside spaces, where you may not look. Name one that is in a space.")
    row = service.create_schedule(user_id, args, token_id=require_identity().token_id)
    _note(user_id, row.schedule_id)
    return {"schedule": _out(row)}


def change_schedule(user_id: int, args: schemas.OneSchedule, *, is_active: bool) -> dict[str, Any]:
    """Pause a schedule, or resume it as long as this token lasts. Raises NotFound, Forbidden, Invalid if it is over."""
    _require_one(user_id, args.schedule_id)
    changes, token_id = ScheduleEdit(is_active=is_active), require_identity().token_id
    row = service.change_schedule(user_id, args.schedule_id, changes, token_id=token_id)
    _note(user_id, args.schedule_id)
    return {"schedule": _out(row)}


def run_schedule(user_id: int, args: schemas.OneSchedule) -> dict[str, Any]:
    """Send its message now. Raises NotFound, Forbidden, Conflict while one is on its way."""
    _require_one(user_id, args.schedule_id)
    run = service.run_now(user_id, args.schedule_id)
    _note(user_id, args.schedule_id)
    return {"run": RunOut.of(run, None).model_dump(mode="json")}


def delete_schedule(user_id: int, args: schemas.OneSchedule) -> dict[str, Any]:
    """Delete it; the conversations it began stay. Raises NotFound, Forbidden."""
    _require_one(user_id, args.schedule_id)
    service.delete_schedule(user_id, args.schedule_id)
    _note(user_id, args.schedule_id)
    return {"status": "deleted", "schedule_id": args.schedule_id}


def _require_one(user_id: int, schedule_id: int) -> None:
    if not _visible_schedules([service.get_schedule(user_id, schedule_id, lock=True)]):
        raise NotFound("There is no such schedule.")


def _visible_schedules(rows: Sequence[Schedule]) -> Sequence[Schedule]:
    """Return those whose messages go where the program may look; a conversation that has not begun is in no space."""
    if not access.is_limited():
        return rows
    goes_to = {row.schedule_id: row.conversation_id for row in rows if row.is_standing and row.conversation_id}
    columns = select(Conversation.conversation_id, Conversation.space_id)
    spaces = dict(db.session.execute(columns.where(Conversation.conversation_id.in_(goes_to.values()))).all())
    return [row for row in rows if access.may_see(spaces.get(goes_to.get(row.schedule_id, 0)))]


def _note(user_id: int, schedule_id: int) -> None:
    record(user_id, Action.SCHEDULES_CHANGED, detail={"schedule_id": schedule_id})


def _out(row: Schedule) -> dict[str, Any]:
    return ScheduleOut.of(row).model_dump(mode="json")
