"""JSON endpoints of facts, and of what moving a conversation does."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery
from webapp.legacies import facts, memory_moves
from webapp.legacies.schemas import FactList, FactOut, MoveQuery, MoveReport, NewFact, VisibilityChange

blueprint = api_blueprint("legacies_api", __name__, tag="Spaces", access="user")


@blueprint.get("/ai/legacies/<int:space_id>/facts")
def list_facts(space_id: Id, query: PageQuery) -> FactList:
    """Your facts about the person of a legacy, and those that other members share."""
    return FactList.of(facts.page_of_facts(current_user_id(), space_id, query).map(FactOut.of))


@blueprint.post("/ai/legacies/<int:space_id>/facts", status=201)
@idempotency.idempotent
def add_fact(space_id: Id, body: NewFact) -> FactOut:
    """Write a fact by hand; private unless you share it."""
    fact = facts.add_fact(current_user_id(), space_id, body.category, body.content, shared=body.visibility == "shared")
    return FactOut.of(fact)


@blueprint.patch("/ai/facts/<int:memory_id>/visibility")
def set_visibility(memory_id: Id, body: VisibilityChange) -> FactOut:
    """Share a fact of yours with the members of its legacy, or withdraw it."""
    return FactOut.of(facts.set_visibility(current_user_id(), memory_id, body.visibility))


@blueprint.delete("/ai/facts/<int:memory_id>")
def delete_fact(memory_id: Id) -> None:
    """Forget a fact of yours for good."""
    facts.delete_fact(current_user_id(), memory_id)


@blueprint.get("/conversations/<int:conversation_id>/move")
def plan_move(conversation_id: Id, query: MoveQuery) -> MoveReport:
    """Return what moving a conversation into a space, or out of one, would do to the memories that rest on it."""
    return MoveReport.of(memory_moves.plan_move(current_user_id(), conversation_id, query.space_id))
