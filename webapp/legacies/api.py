"""JSON endpoints of facts, and of what moving a conversation does."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required
from webapp.conversations.schemas import ConversationPath
from webapp.http.answers import commit_empty, commit_json
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, api_blueprint
from webapp.legacies import conversation_moves, facts
from webapp.legacies.schemas import (
    FactList,
    FactOut,
    MoveQuery,
    MoveReport,
    NewFact,
    VisibilityChange,
)
from webapp.memories.schemas import MemoryPath
from webapp.spaces.schemas import SpacePath

blueprint = api_blueprint("legacies_api", __name__, tag="Spaces")


@blueprint.get("/ai/legacies/<int:space_id>/facts", responses={200: FactList})
@login_required
def list_facts(path: SpacePath, query: PageQuery) -> ViewResult:
    """Your facts about the person of a legacy, and those that other members share."""
    page = facts.page_of_facts(current_user_id(), path.space_id, query)
    listing = FactList(facts=[FactOut.of(fact) for fact in page.items], next_cursor=page.next_cursor)
    return listing.model_dump(mode="json")


@blueprint.post("/ai/legacies/<int:space_id>/facts", responses={201: FactOut})
@login_required
@idempotency.idempotent
def add_fact(path: SpacePath, body: NewFact) -> ViewResult:
    """Write a fact by hand; private unless you share it."""
    fact = facts.add_fact(
        current_user_id(), path.space_id, body.category, body.content, shared=body.visibility == "shared"
    )
    return idempotency.commit_json(FactOut.of(fact), 201)


@blueprint.patch("/ai/facts/<int:memory_id>/visibility", responses={200: FactOut})
@login_required
def set_visibility(path: MemoryPath, body: VisibilityChange) -> ViewResult:
    """Share a fact of yours with the members of its legacy, or withdraw it."""
    fact = facts.set_visibility(current_user_id(), path.memory_id, body.visibility)
    return commit_json(FactOut.of(fact))


@blueprint.delete("/ai/facts/<int:memory_id>", responses={204: None})
@login_required
def delete_fact(path: MemoryPath) -> ViewResult:
    """Forget a fact of yours for good."""
    facts.delete_fact(current_user_id(), path.memory_id)
    return commit_empty()


@blueprint.get("/conversations/<int:conversation_id>/move", responses={200: MoveReport})
@login_required
def plan_move(path: ConversationPath, query: MoveQuery) -> ViewResult:
    """Return what moving a conversation into a space, or out of one, would do to the memories that rest on it."""
    move = conversation_moves.plan_move(current_user_id(), path.conversation_id, query.space_id)
    return MoveReport.of(move).model_dump(mode="json")
