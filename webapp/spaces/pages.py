"""Pages of spaces: the list, one with its settings, members and documents, leaving and deleting."""

from typing import Any, cast

from flask import flash, g, make_response, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.http.forms import read_form, redisplay_form, require_version
from webapp.http.validation import PageQuery
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, requested_cursor, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.spaces import current_space, documents, members, service
from webapp.spaces.api import limit_invitations
from webapp.spaces.chunks import PAGE_END
from webapp.spaces.models import Space
from webapp.spaces.personas import PERSONAS
from webapp.spaces.schemas import Invitation, NewDocument, NewOwner, NewSpace, SpaceChanges, SpaceOut, SpaceQuery

blueprint = PageBlueprint("spaces_pages", __name__, access="user")

HOME_PAGE_ITEMS = 5
"""Documents that the home of a space lists."""
LABELS = N_(
    {"name": "The name", "description": "The description", "instructions": "The instructions", "persona": "This"}
)


def _chosen_space() -> Space | None:
    """Return the chosen space, needed in several places on a page but loaded only once."""
    if "chosen_space" not in g:
        g.chosen_space = current_space.chosen_space(current_user_id())
    return cast(Space | None, g.chosen_space)


def _choices() -> current_space.Choices:
    """Return the user's spaces, needed in several places on a page but loaded only once."""
    if "space_choices" not in g:
        g.space_choices = current_space.choices(current_user_id())
    return cast(current_space.Choices, g.space_choices)


@blueprint.get("/spaces")
def index() -> ViewResult:
    """The user's spaces, their invitations, and a form for a new one."""
    return _index()


def _index(errors: dict[str, str] | None = None) -> str:
    page = service.list_spaces(current_user_id(), SpaceQuery(limit=50, cursor=requested_cursor()))
    return render_template(
        "spaces/index.html",
        spaces=[s for s in page.items if s.status == "active"],
        invitations=[s for s in page.items if s.status == "invited"],
        errors=errors or {},
        next_cursor=page.next_cursor,
        values=request.form,
    )


@blueprint.post("/spaces")
@redisplay_form(_index, LABELS, otherwise="name")
def create() -> ViewResult:
    """Create a space and switch to it."""
    space = service.create_space(current_user_id(), read_form(NewSpace))
    db.session.commit()
    return _switch_to(space.space_id)


@blueprint.get("/spaces/<int:space_id>")
def about(space_id: int) -> ViewResult:
    """The home of a space; for somebody invited, whether they want to join."""
    user_id = current_user_id()
    space = service.view_space(user_id, space_id)
    if space.status == "invited":
        return render_template("spaces/invitation.html", space=space)
    return render_template(
        "spaces/home.html",
        space=space,
        documents=documents.list_documents(user_id, space_id, PageQuery(limit=HOME_PAGE_ITEMS)),
        members=members.list_members(user_id, space_id),
        tab="home",
    )


@blueprint.get("/spaces/<int:space_id>/settings")
def settings(space_id: int) -> ViewResult:
    """Name, description, instructions and voice: for the owner to change, for other members to read."""
    return _settings(space_id)


@blueprint.post("/spaces/<int:space_id>")
@redisplay_form(lambda errors, space_id: _settings(space_id, errors), LABELS, otherwise="name")
def change(space_id: int) -> ViewResult:
    """Change name, description, instructions or persona."""
    require_version(_values(service.view_space(current_user_id(), space_id)))
    service.update_space(current_user_id(), space_id, read_form(SpaceChanges))
    return commit_and_redirect(url_for(".about", space_id=space_id), _("Saved. It applies from the next reply."))


@blueprint.get("/spaces/<int:space_id>/members")
def member_list(space_id: int) -> ViewResult:
    return _people(space_id)


@blueprint.post("/spaces/<int:space_id>/members")
@limit_invitations
@redisplay_form(lambda errors, space_id: _people(space_id, errors), N_({"email": "This"}), otherwise="email")
def invite(space_id: int) -> ViewResult:
    """Invite somebody by the address of their account."""
    email = read_form(Invitation).email
    members.invite(current_user_id(), space_id, email)
    return commit_and_redirect(
        url_for(".member_list", space_id=space_id),
        _("Invited. If there is an account for %(email)s, the invitation is waiting under Spaces.", email=email),
    )


@blueprint.post("/spaces/<int:space_id>/accept")
def accept(space_id: int) -> ViewResult:
    members.accept(current_user_id(), space_id)
    db.session.commit()
    return _switch_to(space_id)


@blueprint.post("/spaces/<int:space_id>/decline")
def decline(space_id: int) -> ViewResult:
    if service.view_space(current_user_id(), space_id).status != "invited":
        raise Conflict("You have joined this space. You can leave it.")
    members.remove(current_user_id(), space_id, current_user_id())
    return commit_and_redirect(url_for(".index"), _("Declined."))


@blueprint.post("/spaces/<int:space_id>/members/<int:user_id>/remove")
def remove(space_id: int, user_id: int) -> ViewResult:
    members.remove(current_user_id(), space_id, user_id)
    return commit_and_redirect(
        url_for(".member_list", space_id=space_id), _("Removed. What they shared here is now theirs alone again.")
    )


@blueprint.post("/spaces/<int:space_id>/invitations/<int:invitation_id>/withdraw")
def withdraw(space_id: int, invitation_id: int) -> ViewResult:
    members.withdraw_invitation(current_user_id(), space_id, invitation_id)
    return commit_and_redirect(url_for(".member_list", space_id=space_id), _("The invitation has been withdrawn."))


@blueprint.post("/spaces/<int:space_id>/owner")
def hand_over(space_id: int) -> ViewResult:
    members.hand_over(current_user_id(), space_id, read_form(NewOwner).user_id)
    return commit_and_redirect(
        url_for(".member_list", space_id=space_id), _("Ownership handed over. You are now a member.")
    )


@blueprint.get("/spaces/<int:space_id>/end")
def ask(space_id: int) -> ViewResult:
    """Return what leaving a space, or for its owner deleting it, will do."""
    space = service.view_space(current_user_id(), space_id)
    consequences = members.leave_consequences(current_user_id(), space_id)
    return render_template("spaces/end.html", space=space, consequences=consequences, tab="settings")


@blueprint.post("/spaces/<int:space_id>/end")
def end(space_id: int) -> ViewResult:
    """Leave a space, or, as its owner, delete it."""
    user_id, forget = current_user_id(), request.form.get("forget") == "memories"
    service.require_member(user_id, space_id)
    space = service.view_space(user_id, space_id)
    if space.role == "owner":
        service.delete_space(user_id, space_id, forget=forget)
    else:
        members.remove(user_id, space_id, user_id, forget=forget)
    db.session.commit()
    flash(
        _("“%(name)s” has been deleted.", name=space.name)
        if space.role == "owner"
        else _("You have left “%(name)s”.", name=space.name),
        "message",
    )
    return current_space.remember_choice(make_response(redirect(url_for(".index"), 303)), None)


def _switch_to(space_id: int) -> ViewResult:
    answer = make_response(redirect(url_for(".about", space_id=space_id), 303))
    return current_space.remember_choice(answer, space_id)


def _settings(space_id: int, errors: dict[str, str] | None = None) -> str:
    service.require_member(current_user_id(), space_id)
    space = service.view_space(current_user_id(), space_id)
    stored = _values(space)
    context = {"errors": errors or {}, "stored": stored, "values": request.form or stored}
    return render_template("spaces/settings.html", space=space, tab="settings", **context)


def _values(space: SpaceOut) -> dict[str, Any]:
    return space.model_dump(include=set(SpaceChanges.model_fields))


def _people(space_id: int, errors: dict[str, str] | None = None) -> str:
    return render_template(
        "spaces/members.html",
        space=service.view_space(current_user_id(), space_id),
        members=members.list_members(current_user_id(), space_id),
        tab="members",
        errors=errors or {},
        email=request.form.get("email", ""),
    )


DOCUMENT_LABELS = N_({"title": "The title", "content": "The text"})


@blueprint.get("/spaces/<int:space_id>/documents")
def document_list(space_id: int) -> ViewResult:
    return _documents(space_id)


@blueprint.post("/spaces/<int:space_id>/documents")
@redisplay_form(lambda errors, space_id: _documents(space_id, errors), DOCUMENT_LABELS, otherwise="content")
def add_document(space_id: int) -> ViewResult:
    fields = read_form(NewDocument)
    document = documents.add_document(current_user_id(), space_id, fields.title, fields.content)
    return commit_and_redirect(
        url_for(".document_list", space_id=space_id), _("“%(title)s” has been added.", title=document.title)
    )


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>")
def show_document(space_id: int, document_id: int) -> ViewResult:
    """A document; for HTMX, its line in the list with its progress."""
    user_id = current_user_id()
    document = documents.view_document(user_id, space_id, document_id)
    space = service.view_space(user_id, space_id)
    if wants_partial():
        return render_template("spaces/_document.html", space=space, document=document)
    text = documents.text_of(user_id, space_id, document_id)
    return render_template(
        "spaces/document.html", space=space, document=document, pages=text.split(PAGE_END), tab="documents"
    )


@blueprint.post("/spaces/<int:space_id>/documents/<int:document_id>/delete")
def delete_document(space_id: int, document_id: int) -> ViewResult:
    documents.delete_document(current_user_id(), space_id, document_id)
    return commit_and_redirect(
        url_for(".document_list", space_id=space_id), _("Deleted. Replies no longer draw on it.")
    )


@blueprint.post("/spaces/<int:space_id>/documents/<int:document_id>/retry")
def retry_document(space_id: int, document_id: int) -> ViewResult:
    """Retry preparing a document that could not be prepared."""
    documents.retry_document(current_user_id(), space_id, document_id)
    return commit_and_redirect(url_for(".document_list", space_id=space_id))


def _documents(space_id: int, errors: dict[str, str] | None = None) -> str:
    page = documents.list_documents(current_user_id(), space_id, PageQuery(limit=50, cursor=requested_cursor()))
    return render_template(
        "spaces/documents.html",
        space=service.view_space(current_user_id(), space_id),
        documents=page.items,
        next_cursor=page.next_cursor,
        tab="documents",
        errors=errors or {},
        values=request.form,
    )


blueprint.add_globals(
    load_spaces=lambda: _choices().spaces,
    load_chosen_space=_chosen_space,
    count_invitations=lambda: _choices().invitations,
    space_names=service.names_of,
    personas=PERSONAS,
)
