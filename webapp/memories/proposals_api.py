"""JSON endpoints of what waits for the person."""

from __future__ import annotations

from webapp.accounts.auth import current_user_id, signed_in
from webapp.database import db
from webapp.memories import proposals
from webapp.memories.presenting import ProposalList, ProposalOut, SettledOut
from webapp.memories.schemas import ProposalPath, ProposalQuery
from webapp.web import ViewResult, api_blueprint

blueprint = api_blueprint("proposals_api", __name__, tag="Memories")


@blueprint.get("/proposals", responses={200: ProposalList})
@signed_in
def list_proposals(query: ProposalQuery) -> ViewResult:
    """List what waits for you: what is to be forgotten first, then memories in review, last changed first."""
    page = proposals.list_proposals(current_user_id(), query)
    shown = ProposalList(proposals=[ProposalOut.of(item) for item in page.items], next_cursor=page.next_cursor)
    return shown.model_dump(mode="json")


@blueprint.post("/proposals/<proposal_id>/accept", responses={200: SettledOut})
@signed_in
def accept_proposal(path: ProposalPath) -> ViewResult:
    """Do what is proposed: keep a memory, in the place of another or not, or forget one for good."""
    answer = SettledOut.of(proposals.accept(current_user_id(), path.proposal_id)).model_dump(mode="json")
    db.session.commit()
    return answer


@blueprint.post("/proposals/<proposal_id>/discard", responses={200: SettledOut})
@signed_in
def discard_proposal(path: ProposalPath) -> ViewResult:
    """Leave everything as it was. What was to be kept is not learned again."""
    answer = SettledOut.of(proposals.discard(current_user_id(), path.proposal_id)).model_dump(mode="json")
    db.session.commit()
    return answer
