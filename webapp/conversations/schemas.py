"""Requests and responses for conversations, messages and ratings of replies."""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, Field

from webapp.conversations.journey_links import slug_of
from webapp.conversations.models import Conversation, Message
from webapp.http.validation import (
    MAX_ID,
    Changes,
    Flag,
    Id,
    Input,
    Instant,
    Integer,
    JsonObject,
    Line,
    ListOut,
    OptionalInteger,
    Output,
    PageQuery,
    SearchText,
)
from webapp.i18n.marks import N_, say
from webapp.parameters import Parameters

MAX_TAGS = 20


def _tags(values: list[str]) -> list[str]:
    """Return tags without repetitions, ignoring case. Raises ValueError for one that is empty or has several lines."""
    tags: dict[str, str] = {}
    for value in values:
        if not value or not value.isprintable():
            raise ValueError("a tag is one line of text")
        tags.setdefault(value.casefold(), value)
    if len(tags) > MAX_TAGS:
        raise ValueError(say("at most %(most_tags)s tags", most_tags=MAX_TAGS))
    return list(tags.values())


Tag = Annotated[Line, Field(min_length=1, max_length=50)]
Tags = Annotated[list[Tag], Field(max_length=100), AfterValidator(_tags)]


class FolderFields(Input):
    name: Line = Field(min_length=1, max_length=100)


class FolderOut(Output):
    folder_id: int
    name: str
    conversation_count: int
    created_at: Instant


class FolderList(ListOut):
    folders: list[FolderOut]


class DeleteConversationQuery(BaseModel):
    forget: Literal["memories"] | None = Field(None, description="`memories`: forget those with no other evidence.")


class ConversationQuery(PageQuery):
    q: Line | None = Field(None, max_length=200, description="Words to look for in titles and messages.")
    archived: bool = Field(False, description="List the archive instead.")
    space_id: Id | None = None
    journey: Line | None = Field(None, max_length=100)
    folder_id: Id | None = None
    tag: Line | None = Field(None, max_length=50)
    is_pinned: bool | None = None


class MessagesQuery(BaseModel):
    limit: Integer = Field(20, ge=1, le=100)
    before: Id | None = Field(None, description="Only messages older than this one.")
    after: OptionalInteger = Field(
        None, ge=0, le=MAX_ID, description="Only messages newer than this one, oldest first; 0 for all."
    )
    cursor: str | None = Field(
        None, max_length=20, pattern="^[0-9]+$", description="`next_cursor` of the previous page."
    )


class ConversationLimit(BaseModel):
    limit: Integer = Field(20, ge=1, le=100, description="How many of the newest messages to include.")


class NewConversation(Input):
    title: Line | None = Field(None, max_length=255)
    space_id: Id | None = None
    journey: Line | None = Field(None, max_length=100)
    persona: Line | None = Field(
        None, max_length=100, description="Of a legacy: who speaks in it. Anywhere else a label that changes nothing."
    )
    is_temporary: Flag = False
    uses_memory: Flag = Field(True, description="Whether its replies read and create memory.")
    makes_memory: Flag = Field(True, description="False: memory is read here but none is created.")
    metadata: JsonObject | None = None
    is_pinned: Flag = False
    folder_id: Id | None = None
    tags: Tags = []
    model: Line | None = Field(None, max_length=220, description="The id of the model that answers in it.")
    parameters: Parameters | None = Field(None, description="For that model, instead of what the admin set.")
    uses_web: Flag = Field(False, description="Whether replies may search the web, where that is set up.")


class ConversationChanges(Changes):
    """Only the given fields are changed. An empty title lets the assistant choose one again."""

    nullable = ("title", "space_id", "metadata", "folder_id", "model", "parameters")

    title: Line | None = Field(None, max_length=255)
    is_archived: Flag | None = None
    uses_memory: Flag | None = None
    space_id: Id | None = Field(None, description="Move it into a space, or, with null, out of its space.")
    confirm: Flag = Field(False, description="Move it even though memories that move with it are shared.")
    metadata: JsonObject | None = None
    is_pinned: Flag | None = None
    folder_id: Id | None = Field(None, description="Put it into a folder, or, with null, take it out of its folder.")
    tags: Tags | None = Field(None, description="All its tags; replaces the current ones.")
    model: Line | None = Field(None, max_length=220, description="The model that answers; null: the default.")
    parameters: Parameters | None = Field(
        None, description="All that are chosen; replaces the current choice. Null: the defaults."
    )
    uses_web: Flag | None = None


class ConversationOut(Output):
    conversation_id: int
    title: str | None
    created_at: Instant
    updated_at: Instant
    is_archived: bool
    metadata: dict[str, Any] | None
    space_id: int | None = None
    journey: str | None = None
    persona: str | None
    is_temporary: bool
    uses_memory: bool
    message_count: int
    is_pinned: bool
    folder_id: int | None = None
    tags: list[str] = []
    model: str | None = None
    parameters: Parameters | None = Field(None, description="What was chosen for the model; null: the defaults.")
    uses_web: bool = False

    @classmethod
    def of(cls, row: Conversation, **more: Any) -> Self:
        """Return a conversation, with the rest of a longer response as `more`."""
        return cls.from_row(
            row,
            is_archived=bool(row.is_archived),
            metadata=row.extra,
            journey=slug_of(row.journey_id),
            parameters=Parameters.of(row.parameters) if row.parameters else None,
            **more,
        )


class SpanOut(BaseModel):
    start: int
    end: int
    origin: str


class MessageOut(Output):
    message_id: int
    id: int = Field(description="The same as `message_id`.")
    conversation_id: int
    role: str
    content: str
    status: str
    created_at: Instant
    tool_calls: list[dict[str, Any]] | None
    suggested_values: Any | None
    suggested_actions: Any | None
    custom_payload: dict[str, Any] | None
    model: str | None
    prompt_version: str | None
    error: str | None = Field(None, description="Why the reply failed, for a person.")
    spans: list[SpanOut] = Field([], description="What of it was pasted, quoted or spoken, as far as its sender said.")
    is_tainted: bool = Field(False, description="Whether others' words are in it or, of a reply, were in its prompt.")

    @classmethod
    def of(cls, row: Message, **more: Any) -> Self:
        """Return a message, with the rest of a longer response as `more`."""
        return cls.from_row(
            row,
            id=row.message_id,
            error=row.error_detail,
            spans=[SpanOut(start=start, end=end, origin=origin) for start, end, origin in row.provenance],
            **more,
        )


class ConversationList(ListOut):
    conversations: list[ConversationOut]


class MessageList(ListOut):
    messages: list[MessageOut]
    next_cursor: str | None = Field(description="Pass as `before` (or as `after` when paging forward).")


class ConversationWithMessages(ConversationOut):
    messages: list[MessageOut] = Field(description="The newest messages, oldest first.")
    messages_cursor: str | None = Field(description="Pass as `before` to get older messages; null when there are none.")


Reason = Literal["accurate", "helpful", "clear", "wrong", "incomplete", "too_long", "tone", "memory", "refused"]
WORDS: dict[str, dict[Reason, str]] = {
    "up": {"accurate": N_("Right"), "helpful": N_("Helpful"), "clear": N_("Well said")},
    "down": {
        "wrong": N_("Not right"),
        "incomplete": N_("Incomplete"),
        "too_long": N_("Too long"),
        "tone": N_("Wrong tone"),
        "memory": N_("Used memory wrongly"),
        "refused": N_("Refused for no reason"),
    },
}
"""The reasons that are offered for each rating, in words."""

Reasons = Annotated[list[Reason], Field(max_length=20), AfterValidator(lambda values: list(dict.fromkeys(values)))]


class NewFeedback(Input):
    rating: Literal["up", "down"]
    reasons: Reasons = []
    comment: SearchText = Field("", max_length=2_000)
    may_read: Flag = Field(False, description="Whether an admin may read this reply and what is said about it.")


class FeedbackOut(Output):
    message_id: int
    rating: str
    reasons: list[str]
    comment: str
    may_read: bool
    model: str | None
    prompt_version: str | None
    created_at: Instant
    updated_at: Instant


class FeedbackCount(BaseModel):
    day: str = Field(description="In UTC.")
    model: str | None
    prompt_version: str | None
    up: int
    down: int


class FeedbackCountQuery(BaseModel):
    days: Integer = Field(30, ge=1, le=365)


class FeedbackCounts(BaseModel):
    counts: list[FeedbackCount]


class ReadableFeedback(FeedbackOut):
    reply: str


class ReadableFeedbackList(ListOut):
    feedback: list[ReadableFeedback]


assert {reason for words in WORDS.values() for reason in words} == set(get_args(Reason))
