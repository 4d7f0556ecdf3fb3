"""Groups of people, for admins: creating, filling, limiting and deleting them, over the API and on pages."""

from collections.abc import Mapping
from typing import Annotated, Any

from flask import render_template, request, url_for
from pydantic import BaseModel, Field

from webapp.accounts import groups, idempotency, service as accounts
from webapp.accounts.models import UserGroup
from webapp.db.base import after_commit
from webapp.http.forms import first_sentence, read_form, redisplay_form
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Changes, Id, Input, Instant, Line, Output, parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.providers.catalogue import catalogue
from webapp.usage import service as usage
from webapp.usage.pages import read_quotas_form
from webapp.usage.schemas import QuotaFields, Quotas

MEMBERS = "Who is in it, by id."
QUOTAS = "What each member may spend who has no limits of their own; of several groups the largest holds."
LABELS = N_({"name": "The name"})
Members = Annotated[list[Id], Field(max_length=5_000)]


class NewGroup(Input):
    name: Line = Field(min_length=1, max_length=100, description="Follows a group of the OpenID provider.")
    user_ids: Members = Field([], description=MEMBERS)
    quotas: list[QuotaFields] = Field([], max_length=2, description=QUOTAS)


class GroupChanges(Changes):
    """Only the fields that are given are changed; lists are replaced whole."""

    name: Line | None = Field(None, min_length=1, max_length=100)
    user_ids: Members | None = Field(None, description=MEMBERS)
    quotas: list[QuotaFields] | None = Field(None, max_length=2, description=QUOTAS)


class GroupOut(Output):
    group_id: int
    name: str
    user_ids: list[int] = Field(description=MEMBERS)
    quotas: list[QuotaFields] = Field(description=QUOTAS)
    created_at: Instant

    @classmethod
    def of(cls, row: UserGroup) -> "GroupOut":
        quotas = usage.quotas_of(None, group_id=row.group_id)
        return cls.from_row(
            row, user_ids=[user.user_id for user in groups.members_of(row.group_id)], quotas=Quotas.of(quotas).quotas
        )


class GroupList(BaseModel):
    groups: list[GroupOut]


blueprint = api_blueprint("groups_api", __name__, tag="Models", access="admin")
pages = PageBlueprint("admin_groups", __name__, url_prefix="/admin/groups", access="admin")


@blueprint.get("/groups")
def list_groups() -> GroupList:
    """The groups of people that models and limits can be for."""
    return GroupList(groups=[GroupOut.of(row) for row, _count in groups.list_groups()])


@blueprint.post("/groups", status=201)
@idempotency.idempotent
def create_group(body: NewGroup) -> GroupOut:
    """Make a group. Whoever the OpenID provider says is in a group of this name joins it when they sign in."""
    row = groups.create_group(body.name)
    _change(row.group_id, GroupChanges(user_ids=body.user_ids, quotas=body.quotas))
    return GroupOut.of(row)


@blueprint.get("/groups/<int:group_id>")
def get_group(group_id: Id) -> GroupOut:
    """One group with its members and limits."""
    return GroupOut.of(groups.get_group(group_id))


@blueprint.patch("/groups/<int:group_id>")
def update_group(group_id: Id, body: GroupChanges) -> GroupOut:
    """Change the name, the members or the limits of a group."""
    _change(group_id, body)
    return GroupOut.of(groups.get_group(group_id))


@blueprint.delete("/groups/<int:group_id>")
def delete_group(group_id: Id) -> None:
    """Delete a group. Its limits go with it, and models that were for it are for admins."""
    _delete(group_id)


def _list(errors: Mapping[str, str]) -> str:
    return render_template("admin/groups.html", groups=groups.list_groups(), errors=errors)


@pages.get("")
def index() -> ViewResult:
    """All groups."""
    return _list({})


@pages.post("")
@redisplay_form(_list, LABELS, otherwise="name")
def add() -> ViewResult:
    """Create a group."""
    row = groups.create_group(read_form(NewGroup).name)
    return commit_and_redirect(url_for(".show", group_id=row.group_id))


@pages.get("/<int:group_id>")
def show(group_id: int) -> ViewResult:
    """One group: its members and their limits."""
    return _page(group_id)


@pages.post("/<int:group_id>")
@redisplay_form(lambda errors, group_id: _page(group_id, error=first_sentence(errors.values())), LABELS)
def change(group_id: int) -> ViewResult:
    """Rename a group, add or remove a member, or set its limits, depending on the form."""
    form = request.form
    member_ids = [user.user_id for user in groups.members_of(group_id)]
    if "name" in form:
        groups.rename_group(group_id, read_form(NewGroup).name)
    elif "email" in form:
        groups.set_members(group_id, [*member_ids, accounts.find_user(form["email"]).user_id])
    elif "remove" in form:
        groups.set_members(group_id, [number for number in member_ids if number != parse_id(form["remove"])])
    else:
        groups.get_group(group_id)
        usage.set_quotas(None, read_quotas_form(), group_id=group_id)
    return commit_and_redirect(url_for(".show", group_id=group_id), _("Saved."))


@pages.post("/<int:group_id>/delete")
def delete(group_id: int) -> ViewResult:
    """Delete a group."""
    _delete(group_id)
    return commit_and_redirect(url_for(".index"), _("Group deleted. Models that were for it are now for admins."))


def _page(group_id: int, **extra: Any) -> str:
    return render_template(
        "admin/group.html",
        group=groups.get_group(group_id),
        members=groups.members_of(group_id),
        quotas=usage.quotas_of(None, group_id=group_id),
        **extra,
    )


def _change(group_id: int, changes: GroupChanges) -> None:
    groups.get_group(group_id)
    if changes.name is not None:
        groups.rename_group(group_id, changes.name)
    if changes.user_ids is not None:
        groups.set_members(group_id, changes.user_ids)
    if changes.quotas is not None:
        usage.set_quotas(None, changes.quotas, group_id=group_id)


def _delete(group_id: int) -> None:
    groups.delete_group(group_id)
    after_commit(catalogue.forget)
