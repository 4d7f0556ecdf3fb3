"""JSON endpoints of what waits for the person."""

from __future__ import annotations

from pydantic import BaseModel, Field

from webapp.accounts.auth import current_user_id
from webapp.http.answers import commit
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Instant
from webapp.memories.review import proposals
from webapp.memories.review.proposals import Proposal, SettlementResult
from webapp.memories.schemas import ProposalPath, ProposalQuery
from webapp.memories.showing.responses import ForgetReport, MemoryOut

blueprint = api_blueprint("proposals_api", __name__, tag="Memories", access="user")


class ProposalOut(BaseModel):
    proposal_id: str
    kind: str
    why: str = Field(description="tainted, doubt, conflict or forget.")
    quote: str | None = Field(description="Your words that it rests on, the latest.")
    memory: MemoryOut = Field(description="What would be kept; of the kind `forget`, what would be forgotten.")
    replaces: MemoryOut | None = Field(description="What it would take the place of.")
    message_id: int | None = Field(description="The reply that proposes it, or the message that says it.")
    since: Instant

    @classmethod
    def of(cls, proposal: Proposal) -> ProposalOut:
        latest = proposal.evidence[-1].row if proposal.evidence else None
        return cls(
            proposal_id=proposal.key,
            kind=proposal.kind,
            why=proposal.why,
            quote=latest.quote if latest else None,
            memory=MemoryOut.of(proposal.memory),
            replaces=MemoryOut.of(proposal.replaced) if proposal.replaced else None,
            message_id=proposal.message_id or (latest.message_id if latest else None),
            since=proposal.since,
        )


class ProposalList(BaseModel):
    proposals: list[ProposalOut]
    next_cursor: str | None


class SettledOut(BaseModel):
    status: str = Field(description="kept, forgotten or discarded.")
    memory: MemoryOut | None = Field(description="As it is now.")
    report: ForgetReport | None = Field(description="What forgetting removed.")

    @classmethod
    def of(cls, result: SettlementResult) -> SettledOut:
        return cls(
            status=result.status,
            memory=MemoryOut.of(result.memory) if result.memory else None,
            report=ForgetReport.of(result.report) if result.report else None,
        )


@blueprint.get("/proposals")
def list_proposals(query: ProposalQuery) -> ProposalList:
    """List what waits for you: what is to be forgotten first, then memories in review, last changed first."""
    page = proposals.list_proposals(current_user_id(), query)
    return ProposalList(proposals=[ProposalOut.of(item) for item in page.items], next_cursor=page.next_cursor)


@blueprint.post("/proposals/<proposal_id>/accept")
def accept_proposal(path: ProposalPath) -> SettledOut:
    """Do what is proposed: keep a memory, in the place of another or not, or forget one for good."""
    return commit(SettledOut.of(proposals.accept(current_user_id(), path.proposal_id)))


@blueprint.post("/proposals/<proposal_id>/discard")
def discard_proposal(path: ProposalPath) -> SettledOut:
    """Leave everything as it was. What was to be kept is not learned again."""
    return commit(SettledOut.of(proposals.discard(current_user_id(), path.proposal_id)))
