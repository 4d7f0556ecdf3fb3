"""Input and output of tasks."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from webapp.digests.schemas import ConversationMemoryOut
from webapp.http.validation import Integer

JobId = Annotated[str, Field(max_length=64, description="As the request for it was answered.")]


class SyncQuery(BaseModel):
    sync: bool = Field(False, description="Do it at once and answer with the result.")


class UserDigestsQuery(SyncQuery):
    only_needing: bool = Field(True, description="Only conversations idle for a while whose memory is absent or stale.")
    include_empty: bool = Field(False, description="Include conversations in which nothing was said.")
    clamp: Integer = Field(-1, ge=-1, le=10_000, description="At most this many conversations; -1 for no limit.")


class TaskQueued(BaseModel):
    job_id: str


class DigestsMade(BaseModel):
    conversation_ids: list[int] = Field(description="Conversations that now have a digest.")
    failed: list[int] = Field(description="Conversations whose digest could not be created.")


class TaskState(BaseModel):
    """A job as it stands; `result` once it is finished, `error` once it has failed for good."""

    job_id: str
    name: str
    status: Literal["queued", "started", "finished", "failed"]
    result: Any | None = None
    error: str | None = None


class DigestMade(ConversationMemoryOut):
    """A digest that was just made."""
