"""JSON endpoints of spaces, their members and documents."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required
from webapp.extensions import limiter
from webapp.http.answers import commit_empty, commit_json
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, api_blueprint
from webapp.spaces import documents, members, service
from webapp.spaces.chunks import PAGE_END
from webapp.spaces.personas import PERSONAS
from webapp.spaces.schemas import (
    ConsequenceOut,
    Consequences,
    DocumentList,
    DocumentOut,
    DocumentPath,
    DocumentWithText,
    Invitation,
    InvitationPath,
    MemberList,
    MemberOut,
    MemberPath,
    NewDocument,
    NewOwner,
    NewSpace,
    PersonaList,
    PersonaOut,
    SpaceChanges,
    SpaceEnd,
    SpaceList,
    SpaceOut,
    SpacePath,
    SpaceQuery,
)

blueprint = api_blueprint("spaces_api", __name__, tag="Spaces")

INVITATIONS = "60 per hour"
limit_invitations = limiter.shared_limit(INVITATIONS, scope="invitations", key_func=lambda: f"user:{current_user_id()}")


@blueprint.get("/spaces", responses={200: SpaceList})
@login_required
def list_spaces(query: SpaceQuery) -> ViewResult:
    """List your spaces and those you are invited to, newest first."""
    page = service.list_spaces(current_user_id(), query)
    return SpaceList(spaces=page.items, next_cursor=page.next_cursor).model_dump(mode="json")


@blueprint.post("/spaces", responses={201: SpaceOut})
@login_required
@idempotency.idempotent
def create_space(body: NewSpace) -> ViewResult:
    """Create a project or a legacy."""
    row = service.create_space(current_user_id(), body)
    return idempotency.commit_json(service.view_space(current_user_id(), row.space_id), 201)


@blueprint.get("/spaces/<int:space_id>", responses={200: SpaceOut})
@login_required
def get_space(path: SpacePath) -> ViewResult:
    """A space you belong to, or are invited to."""
    return service.view_space(current_user_id(), path.space_id).model_dump(mode="json")


@blueprint.put("/spaces/<int:space_id>", responses={200: SpaceOut})
@login_required
def update_space(path: SpacePath, body: SpaceChanges) -> ViewResult:
    """Change name, description, instructions or persona, as the owner."""
    service.update_space(current_user_id(), path.space_id, body)
    return commit_json(service.view_space(current_user_id(), path.space_id))


@blueprint.get("/spaces/<int:space_id>/dependents", responses={200: Consequences})
@login_required
def dependents(path: SpacePath) -> ViewResult:
    """Return what happens to your conversations and memories when you leave the space, or it is deleted."""
    result = members.leave_consequences(current_user_id(), path.space_id)
    return Consequences(consequences=list(map(ConsequenceOut.from_row, result))).model_dump(mode="json")


@blueprint.delete("/spaces/<int:space_id>", responses={204: None})
@login_required
def delete_space(path: SpacePath, query: SpaceEnd) -> ViewResult:
    """Delete a space with its documents, as the owner. Everybody keeps their conversations and memories from it."""
    service.delete_space(current_user_id(), path.space_id, forget=query.forget == "memories")
    return commit_empty()


@blueprint.get("/spaces/<int:space_id>/members", responses={200: MemberList})
@login_required
def list_members(path: SpacePath) -> ViewResult:
    """List the members of a space; the owner also sees open invitations."""
    return MemberList(members=members.list_members(current_user_id(), path.space_id)).model_dump(mode="json")


@blueprint.post("/spaces/<int:space_id>/members", responses={201: MemberOut})
@login_required
@limit_invitations
@idempotency.idempotent
def invite(path: SpacePath, body: Invitation) -> ViewResult:
    """Invite somebody by the address of their account, as the owner. The response never says whether there is one."""
    member = members.invite(current_user_id(), path.space_id, body.email)
    return idempotency.commit_json(member, 201)


@blueprint.post("/spaces/<int:space_id>/members/accept", responses={200: SpaceOut})
@login_required
def accept(path: SpacePath) -> ViewResult:
    """Accept your invitation."""
    members.accept(current_user_id(), path.space_id)
    return commit_json(service.view_space(current_user_id(), path.space_id))


@blueprint.delete("/spaces/<int:space_id>/members/<int:user_id>", responses={204: None})
@login_required
def remove_member(path: MemberPath, query: SpaceEnd) -> ViewResult:
    """Decline an invitation, leave, or, as the owner, remove a member."""
    forget = query.forget == "memories"
    members.remove(current_user_id(), path.space_id, path.user_id, forget=forget)
    return commit_empty()


@blueprint.delete("/spaces/<int:space_id>/invitations/<int:invitation_id>", responses={204: None})
@login_required
def withdraw_invitation(path: InvitationPath) -> ViewResult:
    """Withdraw an invitation, as the owner."""
    members.withdraw_invitation(current_user_id(), path.space_id, path.invitation_id)
    return commit_empty()


@blueprint.post("/spaces/<int:space_id>/owner", responses={200: SpaceOut})
@login_required
def hand_over(path: SpacePath, body: NewOwner) -> ViewResult:
    """Hand the space over to another member, as the owner."""
    members.hand_over(current_user_id(), path.space_id, body.user_id)
    return commit_json(service.view_space(current_user_id(), path.space_id))


@blueprint.get("/spaces/<int:space_id>/documents", responses={200: DocumentList})
@login_required
def list_documents(path: SpacePath, query: PageQuery) -> ViewResult:
    """The documents of a space, newest first."""
    page = documents.list_documents(current_user_id(), path.space_id, query)
    return DocumentList(documents=page.items, next_cursor=page.next_cursor).model_dump(mode="json")


@blueprint.post("/spaces/<int:space_id>/documents", responses={201: DocumentOut})
@login_required
@idempotency.idempotent
def add_document(path: SpacePath, body: NewDocument) -> ViewResult:
    """Add a text; replies in the space can draw on it once it is indexed."""
    document = documents.add_document(current_user_id(), path.space_id, body)
    return idempotency.commit_json(document, 201)


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>", responses={200: DocumentWithText})
@login_required
def get_document(path: DocumentPath) -> ViewResult:
    """A document with its text and the progress of its indexing."""
    user_id = current_user_id()
    document = documents.view_document(user_id, path.space_id, path.document_id)
    text = documents.text_of(user_id, path.space_id, path.document_id)
    return DocumentWithText(**document.model_dump(), content=text.replace(PAGE_END, "\n\n")).model_dump(mode="json")


@blueprint.delete("/spaces/<int:space_id>/documents/<int:document_id>", responses={204: None})
@login_required
def delete_document(path: DocumentPath) -> ViewResult:
    """Delete a document, as the owner or the person who added it."""
    documents.delete_document(current_user_id(), path.space_id, path.document_id)
    return commit_empty()


@blueprint.get("/ai/personas", responses={200: PersonaList})
@login_required
def list_personas() -> ViewResult:
    """List the personas that can speak in a legacy."""
    return PersonaList(personas=list(map(PersonaOut.from_row, PERSONAS.values()))).model_dump(mode="json")
