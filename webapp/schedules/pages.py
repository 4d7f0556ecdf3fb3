"""The pages of schedules."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from flask import Response, flash, redirect, render_template, request, url_for

from webapp.accounts.auth import cookieless, current_user_id, public
from webapp.accounts.mails import is_set_up as mail_is_set_up
from webapp.accounts.service import get_user
from webapp.conversations.messages import get_message
from webapp.db.base import db, now
from webapp.errors import Invalid, TooMany
from webapp.extensions import limiter
from webapp.http.forms import redisplay_form, require_version, sentences, validate
from webapp.http.validation import PageQuery, parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, pop_values, show_once, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.journeys.service import list_journeys
from webapp.rendering import reader_zone
from webapp.saved_prompts.service import get_prompt
from webapp.schedules import feed, service
from webapp.schedules.models import Schedule
from webapp.schedules.recurrence import REPEATS, rule_of
from webapp.schedules.schemas import ScheduleEdit, ScheduleFields

SHOWN_RUNS = 50

blueprint = PageBlueprint("schedules_pages", __name__, access="user")

VISITS = "120 per minute"

LABELS = N_(
    {
        "prompt": "The message",
        "title": "The title",
        "repeat": "How often",
        "rrule": "The rule",
        "at": "The first time",
        "timezone": "The time zone",
        "journey": "The journey",
    }
)
WORDS = N_(
    {
        "once": "Once",
        "daily": "Every day",
        "weekdays": "Monday to Friday",
        "weekly": "Every week",
        "monthly": "Every month",
        "custom": "By a rule",
    }
)


@blueprint.get("/schedules")
def index() -> ViewResult:
    return _list(**pop_values())


@blueprint.get("/schedules/<secret>.ics")
@public
@cookieless
@limiter.limit(VISITS)
def calendar(secret: str) -> Response:
    """Return the calendar of the user whose secret this is."""
    return Response(feed.calendar_of(secret), mimetype="text/calendar", headers={"Cache-Control": "private, no-cache"})


@blueprint.post("/schedules/calendar")
def change_calendar() -> ViewResult:
    """Make or withdraw the URL of the user's calendar; `do` says which. It is shown this once."""
    user_id, action = current_user_id(), request.form.get("do", "")
    if action == "make":
        return show_once(url_for(".index"), calendar_url=feed.feed_url(feed.make_feed(user_id).secret))
    if action != "withdraw":
        raise Invalid.field("do", "is not a possible action")
    feed.delete_feed(user_id)
    return commit_and_redirect(url_for(".index"), _("The link to your calendar no longer works."))


@blueprint.get("/schedules/new")
def new() -> ViewResult:
    """The form for a new schedule; its message is that of `message_id`, what was asked last in `conversation_id`, a
    saved prompt, or `prompt`.
    """
    prompt, title = request.args.get("prompt", "")[:8_000], ""
    if (message_id := parse_id(request.args.get("message_id"))) is not None:
        prompt = get_message(current_user_id(), message_id).content
    elif (conversation_id := parse_id(request.args.get("conversation_id"))) is not None:
        prompt = service.last_message(current_user_id(), conversation_id)
    elif (saved_prompt_id := parse_id(request.args.get("saved_prompt_id"))) is not None:
        saved = get_prompt(current_user_id(), saved_prompt_id)
        prompt, title = saved.content, saved.name
    times = {name: request.args[name] for name in ("at", "repeat", "timezone") if name in request.args}
    return _form({"prompt": prompt, "title": title, **times})


@blueprint.post("/schedules/new")
def create() -> ViewResult:
    try:
        row = service.create_schedule(current_user_id(), validate(ScheduleFields, _read()))
    except (Invalid, TooMany) as error:
        db.session.rollback()
        if wants_partial():
            raise
        return _form(request.form, errors=sentences(error, LABELS, otherwise="title")), error.status
    db.session.commit()
    if wants_partial():  # from under the reply that proposed it
        return render_template("schedules/_proposed.html", made=row)
    flash(_("“%(title)s” is scheduled.", title=row.title), "message")
    return redirect(url_for(".index"), 303)


@blueprint.get("/schedules/<int:schedule_id>")
def show(schedule_id: int) -> ViewResult:
    """A schedule, to read or change, and its runs."""
    row = service.get_schedule(current_user_id(), schedule_id)
    return _form(_values(row), row=row)


@blueprint.post("/schedules/<int:schedule_id>")
@redisplay_form(
    lambda errors, schedule_id: _form(request.form, service.get_schedule(current_user_id(), schedule_id), errors),
    LABELS,
    otherwise="title",
)
def save(schedule_id: int) -> ViewResult:
    require_version(_values(service.get_schedule(current_user_id(), schedule_id)))
    values = _read()
    values.setdefault("title", service.title_of(values["prompt"]))
    if not mail_is_set_up():
        del values["sends_mail"]  # the form did not ask
    service.change_schedule(current_user_id(), schedule_id, validate(ScheduleEdit, values))
    return commit_and_redirect(url_for(".index"), _("Saved."))


@blueprint.post("/schedules/<int:schedule_id>/do")
def act(schedule_id: int) -> ViewResult:
    """Pause, resume, run or delete a schedule; `do` says which."""
    user_id, action = current_user_id(), request.form.get("do", "")
    if action in ("pause", "resume"):
        service.change_schedule(user_id, schedule_id, ScheduleEdit(is_active=action == "resume"))
    elif action == "run":
        service.run_now(user_id, schedule_id)
        flash(_("It is on its way. The reply appears among your conversations."), "message")
    elif action == "delete":
        service.delete_schedule(user_id, schedule_id)
        flash(_("The schedule has been deleted. Its replies stay."), "message")
    else:
        raise Invalid.field("do", "is not a possible action")
    return commit_and_redirect(url_for(".index"))


def _list(calendar_url: str = "") -> str:
    user_id = current_user_id()
    return render_template(
        "schedules/index.html",
        rows=service.list_schedules(user_id),
        words=WORDS,
        repeat_of=repeat_of,
        calendar_url=calendar_url,
        calendar_made_at=feed.feed_made_at(user_id),
    )


def repeat_of(row: Schedule) -> str:
    """Return which of the choices a schedule's rule is."""
    simple = (name for name in REPEATS if name != "custom" and rule_of(name, "", row.at) == row.rrule)
    return next(simple, "custom")


def _read() -> dict[str, Any]:
    """Return the posted form as the fields of a schedule, all but blank ones. Raises Invalid."""
    form = {name: value.strip() for name, value in request.form.items()}
    repeat = form.get("repeat", "once")
    if repeat == "custom" and not form.get("rrule"):
        raise Invalid.field("rrule", "is empty")
    rule: dict[str, str | None] = {"repeat": repeat}
    if repeat in ("once", "custom"):
        rule = {"rrule": form["rrule"] if repeat == "custom" else None}
    return {
        "prompt": request.form.get("prompt", ""),
        "at": form.get("at", ""),
        "journey": form.get("journey") or None,
        "conversation": "same" if form.get("conversation") else "new",
        "sends_mail": bool(form.get("sends_mail")),
        **{name: form[name] for name in ("title", "timezone") if form.get(name)},
        **rule,
    }


def _values(row: Schedule) -> dict[str, Any]:
    repeat = repeat_of(row)
    return {
        **{name: getattr(row, name) for name in ("prompt", "title", "timezone", "journey", "sends_mail")},
        "repeat": repeat,
        "rrule": row.rrule if repeat == "custom" else "",
        "at": row.at.strftime("%Y-%m-%dT%H:%M"),
        "conversation": "same" if row.is_standing else "",
    }


def _form(values: Mapping[str, Any], row: Schedule | None = None, errors: Mapping[str, str] | None = None) -> str:
    timezone = reader_zone()
    soon = (now().astimezone(timezone) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:00")
    return render_template(
        "schedules/schedule.html",
        row=row,
        stored=row and _values(row),
        values={"repeat": "once", "at": soon, "timezone": str(timezone), **values},
        errors=errors or {},
        words=WORDS,
        journeys=list_journeys(current_user_id()),
        is_verified=get_user(current_user_id()).email_verified_at is not None,
        runs=service.list_runs(current_user_id(), row.schedule_id, PageQuery(limit=SHOWN_RUNS)).items if row else [],
    )


blueprint.add_globals(
    schedules_proposed_by=lambda message: service.proposed_by(current_user_id(), message.tool_calls),
    schedule_words=WORDS,
)
