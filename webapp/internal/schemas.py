"""Output for services."""

from pydantic import BaseModel, Field

from webapp.digests.schemas import ConversationMemoryOut
from webapp.http.validation import Id, Instant


class HistoryQuery(BaseModel):
    limit: int = Field(500, ge=1, le=1_000)
    after: Id | None = Field(None, description="Only messages newer than this one.")


class DigestsQuery(BaseModel):
    limit: int = Field(100, ge=1, le=500)
    after: Id | None = Field(None, description="`next_after` of the previous page.")


class SpokenMessage(BaseModel):
    id: int
    role: str
    content: str
    created_at: Instant


class MessagesForBrain(BaseModel):
    conversation_id: int
    user_id: int
    title: str | None
    messages: list[SpokenMessage] = Field(description="Finished messages, oldest first.")
    next_after: int | None = Field(description="Pass as `after` to get what follows; null at the end.")


class UserMemories(BaseModel):
    user_id: int
    memories: list[ConversationMemoryOut] = Field(description="The memories of the user's conversations.")
    next_after: int | None
