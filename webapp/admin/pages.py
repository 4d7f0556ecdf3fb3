"""Pages of the administration: overview, users, and what can be done about one of them."""

from typing import Any

from flask import render_template, request, url_for

from webapp.accounts import service, site
from webapp.accounts.auth import current_user_id, password_required
from webapp.accounts.models import User
from webapp.accounts.schemas import NewUser, UserChanges, UserQuery
from webapp.admin import overview as state, users as people
from webapp.admin.health import concerns
from webapp.db.base import now
from webapp.errors import Invalid
from webapp.extensions import redis
from webapp.http.forms import read_form, redisplay_form
from webapp.http.validation import valid_fields
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, pop_values, show_once, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.providers.catalogue import background_target
from webapp.providers.clients import embedder
from webapp.providers.model_choice import status
from webapp.readiness import readiness
from webapp.retrieval.query_vectors import query_vectors
from webapp.usage.charts import sparkline

blueprint = PageBlueprint("admin_pages", __name__, access="admin")

PAGE_LENGTH = 50


@blueprint.get("/admin")
@blueprint.get("/admin/overview", endpoint="state_page")
def overview() -> ViewResult:
    """The state of the site; on a phone the first address lists the rooms of Administration."""
    worker, parts, work = background_target(), readiness(), state.work(redis())
    model = state.model(
        status(),
        embedder().model,
        background=worker.model if worker else "",
        embedder_is_away=query_vectors().is_away,
    )
    vitals, jobs = state.vitals(parts, work, model), state.job_history(redis())
    return render_template(
        "admin/overview.html",
        concerns=concerns(vitals, now()),
        counts=state.counts(),
        work=work,
        model=model,
        parts=parts,
        vitals=vitals,
        growth=state.growth(),
        jobs=jobs,
        done=state.sum_by_step(queue.done for queue in jobs.values()),
        failed=state.sum_by_step(queue.failed for queue in jobs.values()),
        database_bytes=state.database_bytes(),
        sparkline=sparkline,
        versions=state.versions(redis()),
    )


@blueprint.post("/admin/registration")
def registration() -> ViewResult:
    is_open = _switch("open")
    site.set_setting(site.REGISTRATION_OPEN, is_open)
    return commit_and_redirect(
        url_for(".users", _anchor="registration"),
        _("Anyone can create an account now.") if is_open else _("Registration is closed."),
    )


@blueprint.get("/admin/users")
def users() -> ViewResult:
    """All accounts; for HTMX only the rows, for a search or the next page."""
    return _render_users(partial=wants_partial())


@blueprint.post("/admin/users")
@password_required
@redisplay_form(
    lambda errors: _render_users(errors=errors, values=request.form),
    N_({"email": "The address", "name": "The name"}),
    otherwise="email",
)
def add_user() -> ViewResult:
    """Create an account for somebody; its password is shown once."""
    user, password = people.add(read_form(NewUser))
    return show_once(url_for(".user", user_id=user.user_id), password=password)


@blueprint.get("/admin/users/<int:user_id>")
def user(user_id: int) -> ViewResult:
    """One account, and what can be done about it."""
    return _render_user(service.get_user(user_id), **pop_values())


@blueprint.post("/admin/users/<int:user_id>/admin")
@password_required
def set_admin(user_id: int) -> ViewResult:
    user = people.change(current_user_id(), user_id, UserChanges(is_admin=_switch("admin")))
    words = N_("%(email)s is now an admin.") if user.is_admin else N_("%(email)s is no longer an admin.")
    return commit_and_redirect(url_for(".user", user_id=user_id), _(words, email=user.email))


@blueprint.post("/admin/users/<int:user_id>/active")
@password_required
def set_active(user_id: int) -> ViewResult:
    user = people.change(current_user_id(), user_id, UserChanges(is_active=_switch("active")))
    words = N_("%(email)s can sign in again.") if user.is_active else N_("%(email)s has been deactivated.")
    return commit_and_redirect(url_for(".user", user_id=user_id), _(words, email=user.email))


@blueprint.post("/admin/users/<int:user_id>/password")
@password_required
def reset_password(user_id: int) -> ViewResult:
    """Give somebody a new password, shown once."""
    _user, password = people.reset_password(current_user_id(), user_id)
    return show_once(url_for(".user", user_id=user_id), password=password)


@blueprint.post("/admin/users/<int:user_id>/delete")
@password_required
@redisplay_form(
    lambda errors, user_id: _render_user(service.get_user(user_id), errors=errors, typed=request.form.get("email", "")),
    N_({"email": "What you typed"}),
    otherwise="email",
)
def delete_user(user_id: int) -> ViewResult:
    email = people.delete(current_user_id(), user_id, request.form.get("email", ""))
    return commit_and_redirect(
        url_for(".users"), _("%(email)s has been deleted, along with everything of theirs.", email=email)
    )


def _render_users(*, partial: bool = False, **extra: Any) -> str:
    parameters = {name: request.args.get(name) or None for name in ("q", "cursor")}
    query = valid_fields(UserQuery, {"limit": PAGE_LENGTH, **parameters})
    page = service.list_users(query)
    template = "admin/_user_rows.html" if partial else "admin/users.html"
    context: dict[str, Any] = {"users": page.items, "next_cursor": page.next_cursor, "q": query.q or ""}
    if not partial:
        context["registration_open"] = site.registration_is_open()
    return render_template(template, **{**context, "cursor": query.cursor, "errors": {}, "values": {}, **extra})


def _render_user(user: User, **extra: Any) -> str:
    context: dict[str, Any] = {"user": user, "errors": {}, "holdings": people.count_contents(user.user_id)}
    return render_template("admin/user.html", **{**context, **extra})


def _switch(name: str) -> bool:
    """Return a form's two-way switch. Raises Invalid for anything but 0 and 1."""
    value = request.form.get(name)
    if value not in ("0", "1"):
        raise Invalid.field(name, "must be 0 or 1")
    return value == "1"
