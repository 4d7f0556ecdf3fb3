"""Input and output of saved prompts."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from webapp.http.validation import (
    Changes,
    Id,
    Input,
    Instant,
    Integer,
    Line,
    ListOut,
    Output,
    PageQuery,
    SearchText,
    not_blank,
)
from webapp.saved_prompts.formats import (
    MAX_BATCH,
    MAX_CONTENT_LENGTH,
    MAX_DESCRIPTION_LENGTH,
    MAX_NAME_LENGTH,
    MAX_VALUE_LENGTH,
    FilePrompt,
    RefusedPrompt,
    Variable,
    variables_to_fill,
)
from webapp.saved_prompts.models import SavedPrompt

Name = Annotated[Line, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
Description = Annotated[Line, Field(max_length=MAX_DESCRIPTION_LENGTH)]
Content = Annotated[SearchText, Field(min_length=1, max_length=MAX_CONTENT_LENGTH), AfterValidator(not_blank)]


class SavedPromptQuery(PageQuery):
    q: Line | None = Field(None, max_length=200, description="Words to look for in names and descriptions.")
    space_id: Id | None = Field(None, description="Only those of this space.")


class NewSavedPrompt(Input):
    name: Name
    content: Content = Field(description="With `{{name}}`, `{{name: default}}` or `{{name: one | two}}` to fill in.")
    description: Description = ""
    space_id: Id | None = Field(None, description="Share it with the members of this space.")


class SavedPromptChanges(Changes):
    """Only the fields that are given are changed."""

    nullable = ("space_id",)

    name: Name | None = None
    content: Content | None = None
    description: Description | None = None
    space_id: Id | None = Field(None, description="Share it in this space, or, with null, with nobody.")


class Values(Input):
    values: dict[
        Annotated[SearchText, Field(max_length=400)], Annotated[SearchText, Field(max_length=MAX_VALUE_LENGTH)]
    ] = Field({}, description="What to put in, by the names of the variables.")


class PromptsToImport(Input):
    prompts: list[dict[str, Any]] = Field(
        max_length=MAX_BATCH, description="As exported from here, or as Open WebUI exports them."
    )
    space_id: Id | None = Field(None, description="Share them with the members of this space.")
    format: str | None = Field(None, description="As in the exported file; only the prompts count.")
    version: Integer | None = None


class SavedPromptOut(Output):
    saved_prompt_id: int
    name: str
    description: str
    content: str
    variables: list[Variable]
    space_id: int | None
    is_yours: bool
    can_edit: bool
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, row: SavedPrompt, user_id: int) -> "SavedPromptOut":
        return cls.from_row(row, variables=variables_to_fill(row.content), is_yours=row.user_id == user_id)


class SavedPromptList(ListOut):
    prompts: list[SavedPromptOut]


class FilledPrompt(BaseModel):
    text: str


class PromptExport(BaseModel):
    format: str = "commonplace-prompts"
    version: int = 1
    prompts: list[FilePrompt]


class PromptsImported(BaseModel):
    imported: int
    skipped: int = Field(description="Those that already existed with the same name and text.")
    refused: list[RefusedPrompt]
