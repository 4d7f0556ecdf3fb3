"""JSON endpoints of tasks: digests on demand, and the state of a job."""

from webapp.accounts import idempotency
from webapp.accounts.auth import login_required, require_identity
from webapp.background.queues import enqueue_or_find
from webapp.chat.api import message_rate
from webapp.digests import generation
from webapp.digests.service import get_digest, log_read, reachable_conversation, require_user
from webapp.extensions import limiter, redis
from webapp.http.json_api import Answer, api_blueprint
from webapp.http.validation import Id
from webapp.tasks.schemas import DigestMade, DigestsMade, JobId, SyncQuery, TaskQueued, TaskState, UserDigestsQuery
from webapp.tasks.service import job_state

blueprint = api_blueprint("tasks_api", __name__, tag="Tasks", access="service")


limit_tasks = limiter.shared_limit(message_rate, scope="tasks", key_func=lambda: f"user:{require_identity().user_id}")


@blueprint.post(
    "/tasks/generate-memory-for-conversation/<int:conversation_id>", responses={200: DigestMade, 202: TaskQueued}
)
@login_required(services=True)
@limit_tasks
@idempotency.idempotent
def generate_memory_for_conversation(conversation_id: Id, query: SyncQuery) -> Answer:
    """Make the memory (the digest) of a conversation. With `sync` at once, in the answer; else as a job."""
    identity = require_identity()
    owner_id = reachable_conversation(identity, conversation_id).user_id
    if not query.sync:
        return TaskQueued(job_id=enqueue_or_find("digest", conversation_id=conversation_id)), 202
    log_read(identity, owner_id, f"digest of conversation {conversation_id}")
    generation.generate_now(conversation_id)
    return DigestMade.of(get_digest(conversation_id))


@blueprint.post("/tasks/generate-memories-for-user/<int:user_id>", responses={200: DigestsMade, 202: TaskQueued})
@login_required(services=True)
@limit_tasks
@idempotency.idempotent
def generate_memories_for_user(user_id: Id, query: UserDigestsQuery) -> Answer:
    """Make the memories of a user's conversations. Which ones the filters say; `sync` waits for all of them."""
    require_user(require_identity(), user_id)
    filters = query.model_dump(exclude={"sync"})
    if query.sync:
        return DigestsMade(**generation.make_digests(user_id, **filters))
    return TaskQueued(job_id=enqueue_or_find("digests", user_id=user_id, **filters)), 202


@blueprint.post("/tasks/trigger-memory-generation", status=202)
@limit_tasks
@idempotency.idempotent
def trigger_memory_generation() -> TaskQueued:
    """Make the memories of all conversations that need one, as happens every night."""
    return TaskQueued(job_id=enqueue_or_find("digests"))


@blueprint.post("/tasks/trigger-memory-generation/sync")
@limit_tasks
def trigger_memory_generation_sync() -> DigestsMade:
    """Make the memories of all conversations that need one, and wait until they are made."""
    return DigestsMade(**generation.make_digests(None))


@blueprint.get("/tasks/<job_id>")
@login_required(services=True)
def get_task(job_id: JobId) -> TaskState:
    """The state of a job: queued, started, finished with its result, or failed with the reason."""
    return job_state(redis(), require_identity(), job_id)
