"""JSON endpoints of memories and the profile."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from webapp.accounts import idempotency
from webapp.accounts.auth import Identity, current_user_id, login_required, require_identity
from webapp.conversations.schemas import ConversationPath, MessagePath
from webapp.db.base import db
from webapp.extensions import Part
from webapp.http.answers import commit_json
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, api_blueprint
from webapp.memories import search, service
from webapp.memories.history import change_sets, dependents, revisions
from webapp.memories.learning import requests
from webapp.memories.models import Memory
from webapp.memories.prompt import profile
from webapp.memories.review import decisions
from webapp.memories.schemas import (
    ChangeSetPath,
    ExtractRequest,
    ForgetQuery,
    MemoryChanges,
    MemoryPath,
    MemoryQuery,
    NewMemory,
    ProfileChanges,
    RestoreRevision,
    ReviewDecision,
    StopExtraction,
)
from webapp.memories.showing.responses import (
    ChangeSetList,
    ChangeSetOut,
    Dependents,
    Digest,
    EvidenceList,
    EvidenceOut,
    ExtractionQueued,
    ExtractionResult,
    ForgetReport,
    ForgottenOrArchived,
    History,
    MemoryList,
    MemoryOut,
    ProfileOut,
    RevisionOut,
)
from webapp.memories.store import forgetting
from webapp.memories.store.forgetting import Forgotten

blueprint = api_blueprint("memories_api", __name__, tag="Memories")

# Stores the digest of a conversation. The digests domain builds on this one, so it registers the function here.
UpsertDigest = Callable[[Identity, int, dict[str, Any]], dict[str, Any]]
digest_upsert: Part[UpsertDigest] = Part("digest_upsert")


@blueprint.get("/memories", responses={200: MemoryList})
@login_required
def list_memories(query: MemoryQuery) -> ViewResult:
    """List current memories, last changed first. With `q`, those that contain its words, best first, with a score."""
    user_id = current_user_id()
    if query.q:
        results = search.search_memories(user_id, query)
        rows, cursor = [MemoryOut.for_reader(row, user_id, score) for row, score in results.items], results.next_cursor
    else:
        page = service.list_memories(user_id, query)
        rows, cursor = [MemoryOut.for_reader(row, user_id) for row in page.items], page.next_cursor
    return {"memories": [row.as_json() for row in rows], "next_cursor": cursor}


@blueprint.post("/memories", responses={200: Digest, 201: MemoryOut})
@login_required(services=True)
@idempotency.idempotent
def create_memory(body: NewMemory) -> ViewResult:
    """Write a memory by hand; it replaces the current value of its key. Or store a conversation's digest."""
    if body.conversation_id is not None:
        # The digests domain builds on this one, so it is called through the application.
        answer = digest_upsert()(require_identity(), body.conversation_id, body.memory_data or {})
        return idempotency.commit(answer, 200), 200
    row = service.create_memory(current_user_id(), body.fields)
    return idempotency.commit(MemoryOut.of(row).as_json(), 201), 201


@blueprint.get("/memories/<int:memory_id>", responses={200: MemoryOut})
@login_required
def get_memory(path: MemoryPath) -> ViewResult:
    """One memory, in whatever state."""
    user_id = current_user_id()
    return MemoryOut.for_reader(service.read_memory(user_id, path.memory_id), user_id).as_json()


@blueprint.put("/memories/<int:memory_id>", responses={200: MemoryOut})
@login_required
def update_memory(path: MemoryPath, body: MemoryChanges) -> ViewResult:
    """Change a memory; only the given fields. 409 names the memory that already has the key."""
    row = service.update_memory(current_user_id(), path.memory_id, body)
    answer = MemoryOut.of(row).as_json()
    db.session.commit()
    return answer


@blueprint.delete("/memories/<int:memory_id>", responses={200: ForgottenOrArchived})
@login_required
def forget_memory(path: MemoryPath, query: ForgetQuery) -> ViewResult:
    """Forget a memory for good and say what was removed. With `archive`, only set it aside."""
    user_id = current_user_id()
    if query.archive:
        answer = MemoryOut.of(service.archive_memory(user_id, path.memory_id)).as_json()
    else:
        service.get_memory(user_id, path.memory_id)
        answer = _report(forgetting.forget(user_id, [path.memory_id], whole_key=query.whole_key))
    db.session.commit()
    return answer


@blueprint.get("/memories/<int:memory_id>/history", responses={200: History})
@login_required
def get_history(path: MemoryPath) -> ViewResult:
    """A memory's revisions, with who changed it and why, and every value its key has had."""
    user_id = current_user_id()
    return History(
        memory_id=path.memory_id,
        revisions=[RevisionOut.of(row) for row in revisions.revisions_of(user_id, path.memory_id)],
        values=[MemoryOut.of(row) for row in revisions.values_of(user_id, path.memory_id)],
    ).model_dump(mode="json")


@blueprint.post("/memories/<int:memory_id>/restore", responses={200: MemoryOut})
@login_required
def restore_revision(path: MemoryPath, body: RestoreRevision) -> ViewResult:
    """Restore a memory to a revision."""
    row = revisions.restore_revision(current_user_id(), path.memory_id, body.revision)
    answer = MemoryOut.of(row).as_json()
    db.session.commit()
    return answer


@blueprint.get("/memories/<int:memory_id>/evidence", responses={200: EvidenceList})
@login_required
def get_evidence(path: MemoryPath) -> ViewResult:
    """The messages that a memory rests on, with the quotes."""
    user_id = current_user_id()
    service.get_memory(user_id, path.memory_id)
    evidence = revisions.evidence_of(user_id, [path.memory_id]).get(path.memory_id, [])
    return EvidenceList(
        evidence=[EvidenceOut.of(item.row, item.conversation_id, item.title, item.is_current) for item in evidence]
    ).model_dump(mode="json")


@blueprint.post("/memories/<int:memory_id>/review", responses={200: MemoryOut})
@login_required
def review_memory(path: MemoryPath, body: ReviewDecision) -> ViewResult:
    """Decide about a memory in review. `reject` forgets it and returns the report of that."""
    result = decisions.decide_review(current_user_id(), path.memory_id, body)
    answer = MemoryOut.of(result).as_json() if isinstance(result, Memory) else _report(result)
    db.session.commit()
    return answer


@blueprint.post("/memories/extract", responses={200: ExtractionResult, 202: ExtractionQueued})
@login_required
def extract_memories(body: ExtractRequest) -> ViewResult:
    """Read a conversation for memories: what is new in it, or all of it when nothing is."""
    user_id = current_user_id()
    if not body.sync:
        return ExtractionQueued(job_id=requests.request_extraction(user_id, body.conversation_id)).model_dump(), 202
    result, job_id = requests.extract_now(user_id, body.conversation_id)
    change_set = None
    if result.change_set_id is not None:
        change_set = _change_set(change_sets.get_change_set(user_id, result.change_set_id))
    answer = ExtractionResult(change_set=change_set, counts=result.counts, title=result.title, job_id=job_id)
    return answer.model_dump(mode="json")


@blueprint.post("/memories/extract/stop", responses={204: None})
@login_required
def stop_extracting(body: StopExtraction) -> ViewResult:
    """Stop reading a long conversation after the current part. What has been read stays read."""
    requests.stop(current_user_id(), body.conversation_id)
    return "", 204


@blueprint.get("/memories/changes", responses={200: ChangeSetList})
@login_required
def list_changes(query: PageQuery) -> ViewResult:
    """Return what jobs and you did to memories, newest first."""
    page = change_sets.list_change_sets(current_user_id(), query)
    return ChangeSetList(changes=[_change_set(view) for view in page.items], next_cursor=page.next_cursor).model_dump(
        mode="json"
    )


@blueprint.post("/memories/changes/<int:change_set_id>/undo", responses={200: ChangeSetOut})
@login_required
def undo_changes(path: ChangeSetPath) -> ViewResult:
    """Undo a change set as a whole. 409 lists the memories that prevent it."""
    return commit_json(_change_set(change_sets.undo(current_user_id(), path.change_set_id)))


@blueprint.get("/profile", responses={200: ProfileOut})
@login_required
def get_profile() -> ViewResult:
    """Return your profile, as far as it is known."""
    return ProfileOut(**asdict(profile.get_profile(current_user_id()))).model_dump(mode="json")


@blueprint.put("/profile", responses={200: ProfileOut})
@login_required
def update_profile(body: ProfileChanges) -> ViewResult:
    """Change who you are; only the given fields. Null leaves one as it is, an empty text clears it."""
    return commit_json(ProfileOut(**asdict(profile.update_profile(current_user_id(), body))))


@blueprint.get("/conversations/<int:conversation_id>/dependents", responses={200: Dependents})
@login_required
def conversation_dependents(path: ConversationPath) -> ViewResult:
    """The memories that rest on a conversation."""
    return _dependents(dependents.conversation_dependents(current_user_id(), path.conversation_id))


@blueprint.get("/messages/<int:message_id>/dependents", responses={200: Dependents})
@login_required
def message_dependents(path: MessagePath) -> ViewResult:
    """The memories that rest on a message."""
    return _dependents(dependents.message_dependents(current_user_id(), path.message_id))


def _dependents(dependent: dependents.DependentMemories) -> dict[str, Any]:
    return Dependents(
        memories=[MemoryOut.of(row) for row in dependent.memories], only_here=dependent.only_here
    ).model_dump(mode="json")


def _report(forgotten: Forgotten) -> dict[str, Any]:
    return ForgetReport.of(forgotten).model_dump(mode="json")


def _change_set(view: change_sets.ChangeSetView) -> ChangeSetOut:
    return ChangeSetOut.of(view.row, view.title, view.contents)
