"""Groups of people, for admins: creating, filling, limiting and deleting them, over the API and on pages."""

from typing import Annotated, Any

from flask import flash, redirect, render_template, request, url_for
from pydantic import BaseModel, Field, ValidationError

from webapp.accounts import groups, idempotency, service as accounts
from webapp.accounts.models import UserGroup
from webapp.db.base import after_commit, db
from webapp.errors import DomainError, Invalid
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Changes, Id, Input, Instant, Line, Output, parse_id
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n.request_language import gettext as _, translate
from webapp.providers.catalogue import catalogue
from webapp.usage import service as usage
from webapp.usage.pages import read_quotas_form
from webapp.usage.schemas import QuotaFields, Quotas

MEMBERS = "Who is in it, by id."
QUOTAS = "What each member may spend who has no limits of their own; of several groups the largest holds."
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


@pages.get("")
def index() -> ViewResult:
    """All groups."""
    return render_template("admin/groups.html", groups=groups.list_groups())


@pages.post("")
def add() -> ViewResult:
    """Create a group."""
    try:
        row = groups.create_group(_name())
        db.session.commit()
    except DomainError as error:
        db.session.rollback()
        return render_template("admin/groups.html", groups=groups.list_groups(), error=translate(error.problem)), 422
    return redirect(url_for(".show", group_id=row.group_id), 303)


@pages.get("/<int:group_id>")
def show(group_id: int) -> ViewResult:
    """One group: its members and their limits."""
    return _page(group_id)


@pages.post("/<int:group_id>")
def change(group_id: int) -> ViewResult:
    """Rename a group, add or remove a member, or set its limits, depending on the form."""
    form = request.form
    member_ids = [user.user_id for user in groups.members_of(group_id)]
    try:
        if "name" in form:
            groups.rename_group(group_id, _name())
        elif "email" in form:
            groups.set_members(group_id, [*member_ids, accounts.find_user(form["email"]).user_id])
        elif "remove" in form:
            groups.set_members(group_id, [number for number in member_ids if number != parse_id(form["remove"])])
        else:
            groups.get_group(group_id)
            usage.set_quotas(None, read_quotas_form(), group_id=group_id)
        db.session.commit()
    except DomainError as error:
        db.session.rollback()
        return _page(group_id, error=translate(error.problem)), 422
    flash(_("Saved."), "message")
    return redirect(url_for(".show", group_id=group_id), 303)


@pages.post("/<int:group_id>/delete")
def delete(group_id: int) -> ViewResult:
    """Delete a group."""
    _delete(group_id)
    flash(_("Group deleted. Models that were for it are now for admins."), "message")
    return redirect(url_for(".index"), 303)


def _page(group_id: int, **extra: Any) -> str:
    return render_template(
        "admin/group.html",
        group=groups.get_group(group_id),
        members=groups.members_of(group_id),
        quotas=usage.quotas_of(None, group_id=group_id),
        **extra,
    )


def _name() -> str:
    try:
        return NewGroup(name=request.form.get("name", "")).name
    except ValidationError:
        raise Invalid.field("name", "must have between 1 and 100 characters") from None


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
    db.session.commit()
