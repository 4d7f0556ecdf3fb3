"""JSON endpoints of memories, the profile, and what waits for the person."""

from pydantic import BaseModel, Field

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.http.json_api import Answer, api_blueprint
from webapp.http.validation import Id, Instant, ListOut, PageQuery
from webapp.memories import search, service
from webapp.memories.history import change_sets, revisions
from webapp.memories.learning import requests
from webapp.memories.models import Memory
from webapp.memories.prompt import profile
from webapp.memories.review import decisions, proposals
from webapp.memories.review.proposals import Proposal, SettlementResult
from webapp.memories.schemas import (
    ExtractRequest,
    ForgetQuery,
    MemoryChanges,
    MemoryQuery,
    ProfileChanges,
    ProfileOut,
    ProposalId,
    ProposalQuery,
    RestoreRevision,
    ReviewDecision,
    StopExtraction,
)
from webapp.memories.showing.responses import (
    ChangeSetList,
    ChangeSetOut,
    Dependents,
    EvidenceList,
    EvidenceOut,
    ExtractionQueued,
    ExtractionResult,
    ForgottenOrMemory,
    History,
    MemoryList,
    MemoryOut,
    RevisionOut,
)
from webapp.memories.store import forgetting
from webapp.memories.store.forgetting import ForgetReport
from webapp.rendering import reader_zone

blueprint = api_blueprint("memories_api", __name__, tag="Memories", access="user")


@blueprint.get("/memories")
def list_memories(query: MemoryQuery) -> MemoryList:
    """List current memories, last changed first. With `q`, those that contain its words, best first, with a score."""
    user_id = current_user_id()
    if query.q:
        results = search.search_memories(user_id, query)
        page = results.map(lambda found: MemoryOut.for_reader(found[0], user_id, found[1]))
    else:
        page = service.list_memories(user_id, query).map(lambda row: MemoryOut.for_reader(row, user_id))
    return MemoryList.of(page)


@blueprint.get("/memories/<int:memory_id>")
def get_memory(memory_id: Id) -> MemoryOut:
    """One memory, in whatever state."""
    user_id = current_user_id()
    return MemoryOut.for_reader(service.read_memory(user_id, memory_id), user_id)


@blueprint.put("/memories/<int:memory_id>")
def update_memory(memory_id: Id, body: MemoryChanges) -> MemoryOut:
    """Change a memory; only the given fields. 409 names the memory that already has the key."""
    return MemoryOut.of(service.update_memory(current_user_id(), memory_id, body))


@blueprint.delete("/memories/<int:memory_id>")
def forget_memory(memory_id: Id, query: ForgetQuery) -> ForgottenOrMemory:
    """Forget a memory for good and say what was removed. With `archive`, only set it aside."""
    user_id = current_user_id()
    if query.archive:
        return ForgottenOrMemory(MemoryOut.of(service.archive_memory(user_id, memory_id)))
    return ForgottenOrMemory(forgetting.forget_one(user_id, memory_id, whole_key=query.whole_key))


@blueprint.get("/memories/<int:memory_id>/history")
def get_history(memory_id: Id) -> History:
    """A memory's revisions, with who changed it and why, and every value its key has had."""
    user_id = current_user_id()
    return History(
        memory_id=memory_id,
        revisions=[RevisionOut.of(row) for row in revisions.revisions_of(user_id, memory_id)],
        values=[MemoryOut.of(row) for row in revisions.values_of(user_id, memory_id)],
    )


@blueprint.post("/memories/<int:memory_id>/restore")
def restore_revision(memory_id: Id, body: RestoreRevision) -> MemoryOut:
    """Restore a memory to a revision."""
    return MemoryOut.of(revisions.restore_revision(current_user_id(), memory_id, body.revision))


@blueprint.get("/memories/<int:memory_id>/evidence")
def get_evidence(memory_id: Id) -> EvidenceList:
    """The messages that a memory rests on, with the quotes."""
    user_id = current_user_id()
    service.get_memory(user_id, memory_id)
    evidence = revisions.evidence_of(user_id, [memory_id]).get(memory_id, [])
    return EvidenceList(evidence=list(map(EvidenceOut.of, evidence)))


@blueprint.post("/memories/<int:memory_id>/review")
def review_memory(memory_id: Id, body: ReviewDecision) -> ForgottenOrMemory:
    """Decide about a memory in review. `reject` forgets it and returns the report of that."""
    result = decisions.decide_review(current_user_id(), memory_id, body, reader_zone())
    return ForgottenOrMemory(MemoryOut.of(result) if isinstance(result, Memory) else result)


@blueprint.post("/memories/extract", responses={200: ExtractionResult, 202: ExtractionQueued})
@idempotency.idempotent
def extract_memories(body: ExtractRequest) -> Answer:
    """Read a conversation for memories: what is new in it or, if nothing is, all of it."""
    user_id = current_user_id()
    if not body.sync:
        return ExtractionQueued(job_id=requests.request_extraction(user_id, body.conversation_id)), 202
    result, job_id = requests.extract_now(user_id, body.conversation_id)
    change_set = None
    if result.change_set_id is not None:
        change_set = ChangeSetOut.of(change_sets.get_change_set(user_id, result.change_set_id))
    return ExtractionResult(change_set=change_set, counts=result.counts, title=result.title, job_id=job_id)


@blueprint.post("/memories/extract/stop")
def stop_extracting(body: StopExtraction) -> None:
    """Stop reading a long conversation after the current part. What has been read stays read."""
    requests.stop(current_user_id(), body.conversation_id)


@blueprint.get("/memories/changes")
def list_changes(query: PageQuery) -> ChangeSetList:
    """Return what jobs and you did to memories, newest first."""
    return ChangeSetList.of(change_sets.list_change_sets(current_user_id(), query).map(ChangeSetOut.of))


@blueprint.post("/memories/changes/<int:change_set_id>/undo")
def undo_changes(change_set_id: Id) -> ChangeSetOut:
    """Undo a change set as a whole. 409 lists the memories that prevent it."""
    return ChangeSetOut.of(change_sets.undo(current_user_id(), change_set_id))


@blueprint.get("/profile")
def get_profile() -> ProfileOut:
    """Return your profile, as far as it is known."""
    return profile.get_profile(current_user_id())


@blueprint.put("/profile")
def update_profile(body: ProfileChanges) -> ProfileOut:
    """Change who you are; only the given fields. Null leaves one as it is, an empty text clears it."""
    return profile.update_profile(current_user_id(), body)


@blueprint.get("/conversations/<int:conversation_id>/dependents")
def conversation_dependents(conversation_id: Id) -> Dependents:
    """The memories that rest on a conversation."""
    return _dependents(revisions.conversation_dependents(current_user_id(), conversation_id))


@blueprint.get("/messages/<int:message_id>/dependents")
def message_dependents(message_id: Id) -> Dependents:
    """The memories that rest on a message."""
    return _dependents(revisions.message_dependents(current_user_id(), message_id))


def _dependents(dependent: revisions.DependentMemories) -> Dependents:
    return Dependents(memories=[MemoryOut.of(row) for row in dependent.memories], only_here=dependent.only_here)


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
    def of(cls, proposal: Proposal) -> "ProposalOut":
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


class ProposalList(ListOut):
    proposals: list[ProposalOut]


class SettledOut(BaseModel):
    status: str = Field(description="kept, forgotten or discarded.")
    memory: MemoryOut | None = Field(description="As it is now.")
    report: ForgetReport | None = Field(description="What forgetting removed.")

    @classmethod
    def of(cls, result: SettlementResult) -> "SettledOut":
        return cls(
            status=result.status,
            memory=MemoryOut.of(result.memory) if result.memory else None,
            report=result.report,
        )


@blueprint.get("/proposals")
def list_proposals(query: ProposalQuery) -> ProposalList:
    """List what waits for you: what is to be forgotten first, then memories in review, last changed first."""
    return ProposalList.of(proposals.list_proposals(current_user_id(), query).map(ProposalOut.of))


@blueprint.post("/proposals/<proposal_id>/accept")
def accept_proposal(proposal_id: ProposalId) -> SettledOut:
    """Do what is proposed: keep a memory, in the place of another or not, or forget one for good."""
    return SettledOut.of(proposals.accept(current_user_id(), proposal_id))


@blueprint.post("/proposals/<proposal_id>/discard")
def discard_proposal(proposal_id: ProposalId) -> SettledOut:
    """Leave everything as it was. What was to be kept is not learned again."""
    return SettledOut.of(proposals.discard(current_user_id(), proposal_id))
