"""Pages of usage: the user's own and, for admins, everybody's with their quotas."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from flask import Response, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts import service as accounts, site
from webapp.accounts.auth import current_user_id, login_required
from webapp.errors import Invalid
from webapp.extensions import app_settings
from webapp.http.problems import field_errors
from webapp.http.validation import parse_id, valid_fields
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, download
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.usage import service
from webapp.usage.charts import Columns, Part, stack, stacked_columns
from webapp.usage.schemas import QuotaFields, QuotaState, UsageLine, UsageQuery, UsageReport
from webapp.usage.service import span

blueprint = PageBlueprint("usage_pages", __name__, access="admin")


GROUPINGS = N_({"day": "By day", "model": "By model", "conversation": "By conversation"})
ADMIN_GROUPINGS = N_({"day": "By day", "model": "By model", "user": "By person"})


@blueprint.get("/usage")
@login_required
def index() -> ViewResult:
    return _page("usage/index.html", GROUPINGS, everyone=False)


@blueprint.get("/admin/usage")
def all_usage() -> ViewResult:
    if request.args.get("user"):  # where somebody's limits were
        return redirect(url_for(".limits", user=parse_id(request.args["user"])))
    return _page("usage/everybody.html", ADMIN_GROUPINGS, everyone=True)


@blueprint.get("/admin/usage/quotas")
def limits() -> ViewResult:
    """Show what somebody, or everybody, may use."""
    user_id = parse_id(request.args.get("user", ""))
    person = accounts.get_user(user_id) if user_id else None
    return render_template(
        "usage/limits.html",
        person=person,
        quotas=service.quotas_of(user_id),
        schedules=site.get_setting(site.SCHEDULES_PER_PERSON),
        configured=app_settings().schedules_per_person,
    )


@blueprint.post("/admin/usage/quotas")
def set_quotas() -> ViewResult:
    """Set the quotas of somebody, or of everybody."""
    user_id = parse_id(request.form.get("user", ""))
    if user_id:
        accounts.get_user(user_id)
    elif "schedules" in request.form:
        site.set_setting(site.SCHEDULES_PER_PERSON, _read_schedules())
    service.set_quotas(user_id, read_quotas_form())
    return commit_and_redirect(url_for(".limits", user=user_id), _("Limits saved."))


@blueprint.get("/usage.csv")
@login_required
def as_csv() -> ViewResult:
    return _csv(service.report(current_user_id(), _query(GROUPINGS)))


@blueprint.get("/admin/usage.csv")
def everybody_as_csv() -> ViewResult:
    return _csv(service.report(current_user_id(), _query(ADMIN_GROUPINGS), everyone=True))


def read_quotas_form() -> list[QuotaFields]:
    """Return the limits in the form. Raises Invalid."""
    try:
        return [
            QuotaFields(
                period=period,
                tokens=request.form.get(f"{period}_tokens") or None,
                dollars=request.form.get(f"{period}_dollars") or None,
            )
            for period in ("day", "month")
        ]
    except ValidationError as error:
        raise Invalid(
            "Limits are whole numbers of tokens and amounts of dollars.", errors=field_errors(error)
        ) from None


def _read_schedules() -> int | None:
    """Return how many schedules a person may have by the form, None for as many as configured. Raises Invalid."""
    given = request.form.get("schedules", "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 6 and int(given) <= site.MAX_SCHEDULES):
        raise Invalid("The number of schedules is a whole number up to 10,000.")
    return int(given)


def _csv(report: UsageReport) -> Response:
    out = io.StringIO()
    rows = csv.DictWriter(out, fieldnames=list(report.total.model_dump()))
    rows.writeheader()
    for line in report.usage:
        rows.writerow({name: _cell(value) for name, value in line.model_dump().items()})
    return download(out.getvalue(), "usage.csv", "text/csv")


def _page(template: str, ways: dict[str, str], *, everyone: bool, **more: Any) -> str:
    query = _query(ways)
    report = service.report(current_user_id(), query, everyone=everyone)
    first, after = span(query)
    context: dict[str, Any] = {"report": report, "by": query.by, "ways": ways, "limit_bar": limit_bar}
    if query.by == "day":
        context["days"] = daily_columns(report, first.date(), after.date() - timedelta(days=1))
    context["rows"] = list(zip(report.usage, bars(report.usage), strict=True))
    return render_template(template, **context, date_of=date.fromisoformat, **more)


def _query(ways: dict[str, str]) -> UsageQuery:
    by = request.args.get("by", "day")
    dates = {name: request.args.get(name) or None for name in ("from", "to")}
    return valid_fields(UsageQuery, {"by": by if by in ways else "day", **dates})


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet mistakes for a formula."""
    return "'" + value if isinstance(value, str) and value[:1] in "=+-@\t\r" else value


SERIES = ("chat", "memory", "schedules")
"""In the order of `UsageLine.parts`."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Columns for each day from `first` to `last`; `cost` is None where no price is known."""

    first: date
    last: date
    tokens: Columns
    cost: Columns | None


def daily_columns(report: UsageReport, first: date, last: date) -> Pictures:
    """Return the days of a report by day, those without usage included, with the limits for a day."""
    lines = {line.key: line for line in report.usage}
    days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    limit = next((state for state in report.quotas if state.period == "day"), None)
    tokens = [lines[day].parts if day in lines else (0, 0, 0) for day in days]
    dollars = [[(lines[day].dollars or 0.0) if day in lines else 0.0] for day in days]
    has_price = any(line.dollars is not None for line in report.usage)
    return Pictures(
        first=first,
        last=last,
        tokens=stacked_columns(days, tokens, SERIES, limit.tokens if limit else None),
        cost=stacked_columns(days, dollars, ["cost"], limit.dollars if limit else None) if has_price else None,
    )


def bars(lines: Sequence[UsageLine]) -> list[list[Part]]:
    """Return a bar for each line, of what is in it, beside the line that used most."""
    most = max((line.tokens for line in lines), default=0)
    return [stack(line.parts, SERIES, most) for line in lines]


def limit_bar(state: QuotaState) -> list[Part]:
    """Return a bar of the part of a limit that is used, full at the limit."""
    share = min(1.0, state.share())
    return stack([share], ["over" if share >= 1 else "chat"], 1)


blueprint.add_globals(near_limit=lambda: service.limit_notice(current_user_id()))
