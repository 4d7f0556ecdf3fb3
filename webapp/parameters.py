"""Parameters sent to a model with each request, as an admin sets it for everybody and a person for a conversation."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from webapp.http.validation import Input, Lines, OptionalAmount, OptionalInteger, SearchText, valid_fields

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class JsonColumn(BaseModel):
    """The contents of a JSON column; every field has a default."""

    @classmethod
    def of(cls, stored: Any) -> Self:
        """Return the fields as stored; a value that this version cannot read falls back to its default."""
        items = stored.items() if isinstance(stored, Mapping) else ()
        return valid_fields(cls, {name: value for name, value in items if name in cls.model_fields})


class Parameters(Input, JsonColumn):
    """Parameters of each request to a model; the server chooses what is left out."""

    model_config = ConfigDict(frozen=True)  # as a default it would be copied each time otherwise

    temperature: OptionalAmount = Field(None, ge=0, le=2)
    top_p: OptionalAmount = Field(None, ge=0, le=1)
    max_tokens: OptionalInteger = Field(None, ge=16, le=1_000_000)
    reasoning_effort: Effort | None = None
    system: Lines | None = Field(None, max_length=4_000, description="Added to the instructions of every conversation.")

    @property
    def non_empty(self) -> dict[str, Any]:
        """Return the parameters that are set, by name."""
        return {name: value for name, value in self.model_dump().items() if value not in (None, "")}


Stop = Annotated[SearchText, Field(min_length=1, max_length=500)]


class RequestParameters(JsonColumn):
    """Parameters of one reply; `max_tokens` counts what is written, `max_completion_tokens` also what is thought."""

    temperature: OptionalAmount = Field(None, ge=0, le=2)
    top_p: OptionalAmount = Field(None, ge=0, le=1)
    max_tokens: OptionalInteger = Field(None, ge=1, le=1_000_000, description="Of what is written.")
    max_completion_tokens: OptionalInteger = Field(
        None, ge=1, le=1_000_000, description="Of the reply, and of the reasoning before it."
    )
    reasoning_effort: Effort | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=16)] | None = Field(
        None, description="The reply ends before any of these."
    )
    seed: OptionalInteger = Field(None, ge=-(2**63), lt=2**63)
    frequency_penalty: OptionalAmount = Field(None, ge=-2, le=2)
    presence_penalty: OptionalAmount = Field(None, ge=-2, le=2)

    @property
    def non_empty(self) -> dict[str, Any]:
        """Return the parameters that are set, by name."""
        values = {name: getattr(self, name) for name in RequestParameters.model_fields}
        return {name: value for name, value in values.items() if value not in (None, [])}


class ReplyParameters(RequestParameters):
    """The parameters of one reply, as a field of a request of ours."""

    model_config = ConfigDict(extra="forbid")


PAYLOAD = "parameters"
"""The field in which a message stores them: a question for every reply to it, a reply for itself."""


def reply_parameters(question: Mapping[str, Any] | None, reply: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what is sent for one reply besides the conversation's parameters; from restored files nothing else."""
    layers = [RequestParameters.of((message or {}).get(PAYLOAD)).non_empty for message in (question, reply)]
    return layers[0] | layers[1]


def longest_reply(parameters: Mapping[str, Any]) -> int:
    """Return the limit of tokens in a reply; 0 if none is set."""
    return int(parameters.get("max_completion_tokens") or parameters.get("max_tokens") or 0)
