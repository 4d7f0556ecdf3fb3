"""Input and output of turns."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from webapp.conversations.schemas import MessageOut
from webapp.http.validation import Id, Input, Integer, JsonObject, Line, MessageText
from webapp.parameters import PAYLOAD, ReplyParameters
from webapp.retrieval.schemas import ReceiptLine
from webapp.text.provenance import Origin

TurnId = Annotated[Id, Field(description="The assistant message being written.")]
CallNumber = Annotated[int, Field(ge=0, le=200, description="Of the call, as given in `tool_start`.")]


class ToolDecision(Input):
    decision: Literal["once", "always", "never"] = Field(
        description="Allow this call, allow the tool for good, or not."
    )


class AttachedFile(Input):
    file_id: Id
    mode: Literal["whole", "search"] = Field("whole", description="Put all of it into the prompt, or search it.")


FileIds = Annotated[
    list[Id | AttachedFile], Field(max_length=20, description="Files to attach: ids, or objects with a mode.")
]


class SpanFields(Input):
    """A range of characters of a message that was not typed, as far as the sender knows."""

    start: Integer = Field(ge=0)
    end: Integer = Field(ge=1)
    origin: Origin

    @field_validator("end")
    @classmethod
    def _check_order(cls, value: int, info: ValidationInfo) -> int:
        if value <= info.data.get("start", 0):
            raise ValueError("must be after the start")  # ignored, pasted words would count as typed
        return value


Spans = Annotated[list[SpanFields], Field(max_length=200, description="What of the text was pasted, quoted or spoken.")]


def spans_within(text: str, spans: Sequence[SpanFields]) -> list[tuple[int, int, str]]:
    """Return spans as they are stored, cut to the text; empty ones are left out."""
    bounds = [(span.start, min(span.end, len(text)), span.origin) for span in spans]
    return [span for span in bounds if span[0] < span[1]]


MESSAGE_ONLY = "For the replies to this message only, before what the conversation and the model set."


def _payload(parameters: ReplyParameters | None, **fields: Any) -> dict[str, Any]:
    values = parameters.non_empty if parameters else {}
    return {name: value for name, value in {**fields, PAYLOAD: values}.items() if value}


class NewMessage(Input):
    content: MessageText
    spans: Spans = []
    file_ids: FileIds = []
    purpose: Line | None = Field(None, max_length=100, description="Why it is sent; kept with the message.")
    model: Line | None = Field(None, max_length=200)
    parameters: ReplyParameters | None = Field(None, description=MESSAGE_ONLY)

    @property
    def payload(self) -> dict[str, Any]:
        """Return what is stored with the message besides its text."""
        return _payload(self.parameters, purpose=self.purpose)


class ChatRequest(Input):
    message: MessageText
    spans: Spans = []
    file_ids: FileIds = []
    conversation_id: Id | None = Field(None, description="Without one, a new conversation is created.")
    space_id: Id | None = Field(None, description="Of the new conversation, or the one it is in.")
    context: JsonObject | None = Field(None, description="Anything the client wants to keep with the message.")
    model: Line | None = Field(None, max_length=200)
    parameters: ReplyParameters | None = Field(None, description=MESSAGE_ONLY)

    @property
    def payload(self) -> dict[str, Any]:
        """Return what is stored with the message besides its text."""
        return _payload(self.parameters, context=self.context)


class EditedMessage(Input):
    content: MessageText
    spans: Spans = []


class Again(Input):
    """The wishes for another version of a reply."""

    instruction: Line = Field("", max_length=500, description="For this version only, such as “shorter”.")
    model: Line | None = Field(None, max_length=220, description="The model that writes this version.")
    parameters: ReplyParameters | None = Field(None, description="For this version only.")


class FollowOnly(BaseModel):
    follow: str | None = Field(None, max_length=20, description="`jobs`: stay until the background work is done.")


class FollowQuery(FollowOnly):
    after: str | None = Field(None, max_length=60, description="The id of the last event received.")


class WaitQuery(BaseModel):
    wait: float = Field(0, ge=0, le=30, allow_inf_nan=False, description="Seconds to wait for the reply.")


class ResponseStarted(BaseModel):
    response_id: int


class MessageStarted(ResponseStarted):
    message: MessageOut


class StillWriting(BaseModel):
    status: str
    response_id: int


class Version(MessageOut):
    is_current: bool


class Versions(BaseModel):
    versions: list[Version] = Field(description="Oldest first.")


class Restored(BaseModel):
    message: MessageOut


class PipelineStepOut(BaseModel):
    name: str
    model: str | None
    duration_ms: int | None
    prompt: list[dict[str, Any]] | None = Field(None, description="The messages sent to the model.")
    data: dict[str, Any]


class PipelineSteps(BaseModel):
    message_id: int
    pipeline_steps: list[PipelineStepOut]
    receipt: list[ReceiptLine] = Field(description="What was considered for the reply, and which of it the model saw.")


class Reasoning(BaseModel):
    message_id: int
    text: str = Field(description="The model's reasoning; left out of prompts, search and shared links.")
    duration_ms: int
