"""JSON endpoints of spaces, their members and documents."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.extensions import limiter
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery
from webapp.spaces import documents, members, service
from webapp.spaces.chunks import PAGE_END
from webapp.spaces.personas import PERSONAS
from webapp.spaces.schemas import (
    Consequences,
    DocumentList,
    DocumentOut,
    DocumentWithText,
    Invitation,
    MemberList,
    MemberOut,
    NewDocument,
    NewOwner,
    NewSpace,
    PersonaList,
    PersonaOut,
    SpaceChanges,
    SpaceEnd,
    SpaceList,
    SpaceOut,
    SpaceQuery,
)

blueprint = api_blueprint("spaces_api", __name__, tag="Spaces", access="user")

INVITATIONS = "60 per hour"
limit_invitations = limiter.shared_limit(INVITATIONS, scope="invitations", key_func=lambda: f"user:{current_user_id()}")


@blueprint.get("/spaces")
def list_spaces(query: SpaceQuery) -> SpaceList:
    """List your spaces and those you are invited to, newest first."""
    return SpaceList.of(service.list_spaces(current_user_id(), query))


@blueprint.post("/spaces", status=201)
@idempotency.idempotent
def create_space(body: NewSpace) -> SpaceOut:
    """Create a project or a legacy."""
    row = service.create_space(current_user_id(), body)
    return service.view_space(current_user_id(), row.space_id)


@blueprint.get("/spaces/<int:space_id>")
def get_space(space_id: Id) -> SpaceOut:
    """A space you belong to, or are invited to."""
    return service.view_space(current_user_id(), space_id)


@blueprint.put("/spaces/<int:space_id>")
def update_space(space_id: Id, body: SpaceChanges) -> SpaceOut:
    """Change name, description, instructions or persona, as the owner."""
    service.update_space(current_user_id(), space_id, body)
    return service.view_space(current_user_id(), space_id)


@blueprint.get("/spaces/<int:space_id>/dependents")
def dependents(space_id: Id) -> Consequences:
    """Return what happens to your conversations and memories when you leave the space, or it is deleted."""
    return Consequences(consequences=members.leave_consequences(current_user_id(), space_id))


@blueprint.delete("/spaces/<int:space_id>")
def delete_space(space_id: Id, query: SpaceEnd) -> None:
    """Delete a space with its documents, as the owner. Everybody keeps their conversations and memories from it."""
    service.delete_space(current_user_id(), space_id, forget=query.forget == "memories")


@blueprint.get("/spaces/<int:space_id>/members")
def list_members(space_id: Id) -> MemberList:
    """List the members of a space; the owner also sees open invitations."""
    return MemberList(members=members.list_members(current_user_id(), space_id))


@blueprint.post("/spaces/<int:space_id>/members", status=201)
@limit_invitations
@idempotency.idempotent
def invite(space_id: Id, body: Invitation) -> MemberOut:
    """Invite somebody by the address of their account, as the owner. The response never says whether there is one."""
    return members.invite(current_user_id(), space_id, body.email)


@blueprint.post("/spaces/<int:space_id>/members/accept")
def accept(space_id: Id) -> SpaceOut:
    """Accept your invitation."""
    members.accept(current_user_id(), space_id)
    return service.view_space(current_user_id(), space_id)


@blueprint.delete("/spaces/<int:space_id>/members/<int:user_id>")
def remove_member(space_id: Id, user_id: Id, query: SpaceEnd) -> None:
    """Decline an invitation, leave, or, as the owner, remove a member."""
    members.remove(current_user_id(), space_id, user_id, forget=query.forget == "memories")


@blueprint.delete("/spaces/<int:space_id>/invitations/<int:invitation_id>")
def withdraw_invitation(space_id: Id, invitation_id: Id) -> None:
    """Withdraw an invitation, as the owner."""
    members.withdraw_invitation(current_user_id(), space_id, invitation_id)


@blueprint.post("/spaces/<int:space_id>/owner")
def hand_over(space_id: Id, body: NewOwner) -> SpaceOut:
    """Hand the space over to another member, as the owner."""
    members.hand_over(current_user_id(), space_id, body.user_id)
    return service.view_space(current_user_id(), space_id)


@blueprint.get("/spaces/<int:space_id>/documents")
def list_documents(space_id: Id, query: PageQuery) -> DocumentList:
    """The documents of a space, newest first."""
    return DocumentList.of(documents.list_documents(current_user_id(), space_id, query))


@blueprint.post("/spaces/<int:space_id>/documents", status=201)
@idempotency.idempotent
def add_document(space_id: Id, body: NewDocument) -> DocumentOut:
    """Add a text; replies in the space can draw on it once it is indexed."""
    return documents.add_document(current_user_id(), space_id, body.title, body.content)


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>")
def get_document(space_id: Id, document_id: Id) -> DocumentWithText:
    """A document with its text and the progress of its indexing."""
    user_id = current_user_id()
    document = documents.view_document(user_id, space_id, document_id)
    text = documents.text_of(user_id, space_id, document_id)
    return DocumentWithText(**document.model_dump(), content=text.replace(PAGE_END, "\n\n"))


@blueprint.delete("/spaces/<int:space_id>/documents/<int:document_id>")
def delete_document(space_id: Id, document_id: Id) -> None:
    """Delete a document, as the owner or the person who added it."""
    documents.delete_document(current_user_id(), space_id, document_id)


@blueprint.get("/ai/personas")
def list_personas() -> PersonaList:
    """List the personas that can speak in a legacy."""
    return PersonaList(personas=list(map(PersonaOut.from_row, PERSONAS.values())))
