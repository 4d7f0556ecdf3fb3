"""Requests and responses for connections and models."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from webapp.http.validation import (
    Changes,
    Flag,
    Id,
    Input,
    Instant,
    Line,
    ListOut,
    OptionalAmount,
    OptionalInteger,
    Output,
)
from webapp.i18n.marks import say
from webapp.llm.settings import CHAT_PATH
from webapp.network.outbound import RequestRefused, check_url, with_scheme
from webapp.parameters import Parameters as Parameters
from webapp.providers.models import MemoryGrade, ModelConnection, ModelOffer

_OURS = {"authorization", "content-type", "content-length", "host", "accept", "accept-encoding"}


def server_url(value: str) -> str:
    """Return the URL of a server, completed and cleaned up. Raises ValueError."""
    value = with_scheme(value)
    try:
        has_query = check_url(value).query
    except RequestRefused as error:
        raise ValueError(error.reason) from None
    if has_query:
        raise ValueError("may contain only a host and a path; keys and headers have their own fields")
    return value.rstrip("/").removesuffix(CHAT_PATH)


def _headers(value: dict[str, str]) -> dict[str, str]:
    for name, content in value.items():
        if not name.isascii() or not name.replace("-", "").isalnum() or name.lower() in _OURS:
            raise ValueError(say("%(name)s is not a header you can set here", name=f"{name}"))
        if not content.isprintable() or not content.isascii():
            raise ValueError(say("the value of %(name)s has characters that a header cannot hold", name=name))
    return value


ServerUrl = Annotated[Line, Field(min_length=1, max_length=500), AfterValidator(server_url)]


def header_lines(text: str) -> dict[str, str]:
    """Return the headers in a form's text, one `Name: value` a line."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _colon, value in pairs}


Headers = Annotated[dict[str, str], Field(max_length=20), AfterValidator(_headers)]
Name = Annotated[Line, Field(min_length=1, max_length=100)]
ModelName = Annotated[Line, Field(min_length=1, max_length=200)]
BACKGROUND = (
    "Its model that does the background work (titles, memories, summaries) for the site: one connection does that, "
    "or else the default model."
)
EMBEDS = "Its model that makes the vectors for search and memory, for the whole site: one connection does that."


ModelId = Annotated[Line, Field(max_length=220, description="The id of a model.")]


class OfferFields(Input):
    """A model that people can choose."""

    model: ModelName = Field(description="Its name on the server.")
    label: Line | None = Field(None, max_length=100, description="Its name here.")
    icon: Line | None = Field(None, max_length=8, description="Shown before its name, such as an emoji.")
    audience: Literal["everyone", "admins"] = Field(
        "everyone", description="If left out, `admins` where there are groups."
    )
    group_ids: list[Id] = Field([], max_length=200, description="Groups whose members can use it besides admins.")
    context_window: OptionalInteger = Field(None, ge=512, le=100_000_000)
    parameters: Parameters = Parameters()
    input_price: OptionalAmount = Field(None, ge=0, le=1e6, description="Dollars per million input tokens.")
    output_price: OptionalAmount = Field(None, ge=0, le=1e6, description="Dollars per million output tokens.")
    is_default: Flag = Field(
        False, description="Used when nobody has chosen; the environment's model takes precedence."
    )
    fallback_rank: OptionalInteger = Field(
        None, ge=1, le=100, description="Its position in the order of fallbacks when the chosen model fails."
    )

    @model_validator(mode="after")
    def _keep_others_out(self) -> Self:
        if self.group_ids and "audience" not in self.model_fields_set:
            self.audience = "admins"
        return self


class NewConnection(Input):
    name: Name
    base_url: ServerUrl
    api_key: Line = Field("", max_length=2_000)
    headers: Headers = {}
    is_enabled: Flag = True
    builtin_tools: Flag = Field(True, description="Whether its models are offered arithmetic and dates.")
    embedding_model: ModelName | None = Field(None, description=EMBEDS)
    background_model: ModelName | None = Field(None, description=BACKGROUND)
    models: list[OfferFields] | None = Field(
        None,
        max_length=200,
        description="Left out: what the server lists, the most capable as the default, once a test of it has passed.",
    )


class ConnectionChanges(Changes):
    """Only the given fields are changed. An empty key removes it; `models` replaces all of them."""

    nullable = ("embedding_model", "background_model")

    name: Name | None = None
    base_url: ServerUrl | None = None
    api_key: Line | None = Field(None, max_length=2_000)
    headers: Headers | None = None
    is_enabled: Flag | None = None
    builtin_tools: Flag | None = None
    embedding_model: Line | None = Field(None, max_length=200, description=f"{EMBEDS} Null or empty: no longer.")
    background_model: Line | None = Field(None, max_length=200, description=f"{BACKGROUND} Null or empty: no longer.")
    models: list[OfferFields] | None = Field(None, max_length=200)


class OfferOut(OfferFields, Output):
    id: str = Field(description="What to pass as `model` in other requests.")

    @classmethod
    def of_row(cls, row: ModelOffer, group_ids: list[int]) -> "OfferOut":
        return cls.from_row(
            row,
            id=offer_id(row.connection_id, row.model),
            group_ids=group_ids,
            parameters=Parameters(**row.parameters),
        )


class ConnectionOut(Output):
    connection_id: int
    name: str
    base_url: str
    key_set: bool = Field(description="Whether there is a key. The key itself is never returned.")
    header_names: list[str]
    is_enabled: bool
    builtin_tools: bool
    embedding_model: str | None = Field(description=EMBEDS)
    background_model: str | None = Field(description=BACKGROUND)
    models: list[OfferOut]
    test_result: dict[str, Any] | None
    tested_at: Instant | None
    created_at: Instant

    @classmethod
    def of(cls, row: ModelConnection, offers: list[ModelOffer], groups: dict[int, list[int]]) -> "ConnectionOut":
        return cls.from_row(row, models=[OfferOut.of_row(offer, groups.get(offer.offer_id, [])) for offer in offers])


class ConnectionList(ListOut):
    connections: list[ConnectionOut]


class Price(BaseModel):
    input: float | None = Field(description="Dollars per million input tokens.")
    output: float | None = Field(description="Dollars per million output tokens.")


class MemoryGradeOut(Output):
    """A model's grade in the exam of those that write memories."""

    recall: float = Field(description="The share of right statements that it finds.")
    false_share: float = Field(description="The share of wrong ones that it makes.")
    policy: Literal["trusted", "own_words"] = Field(
        description="How memories are worded: by a trusted model, or in people's own words."
    )
    examined_at: Instant

    @classmethod
    def of(cls, grade: MemoryGrade | None) -> "MemoryGradeOut | None":
        if grade is None:
            return None
        return cls.from_row(grade, policy="trusted" if grade.is_trusted else "own_words")


class ModelOut(BaseModel):
    id: str
    name: str
    icon: str | None
    connection_id: int | None
    context_window: int | None
    capabilities: list[str]
    price: Price | None
    is_default: bool
    memory_grade: MemoryGradeOut | None = Field(
        description="For admins: what it reached in the exam of models that write memories, if it was examined."
    )


class ExamQueued(BaseModel):
    job_id: str


class ModelList(BaseModel):
    models: list[ModelOut]


def offer_id(connection_id: int, model: str) -> str:
    """Return the id by which a model of a connection is chosen."""
    return f"{connection_id}/{model}"


LocalServerName = Annotated[str, Field(min_length=1, max_length=100)]


class LocalServer(BaseModel):
    """A model server that answers on this machine."""

    name: str
    base_url: str
    models: list[str] = Field(description="Its chat models, the most capable first.")
    can_pull: bool = Field(description="Whether it can fetch models.")


class LocalServerList(BaseModel):
    servers: list[LocalServer]


class PullRequest(Input):
    model: ModelName = Field(description="Its name in Ollama's library, such as qwen3:1.7b.")


class PullOut(BaseModel):
    """A model being fetched."""

    model: str
    state: Literal["running", "done", "failed", "cancelled"]
    completed: int = Field(description="Bytes fetched so far.")
    total: int = Field(description="Bytes altogether, as far as known.")
    problem: str = Field(description="Why it failed: unknown_model, disk_full, interrupted, refused; else empty.")
