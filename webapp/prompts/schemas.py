"""Requests and responses about prompts."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field

from webapp.http.validation import Id, Input, Instant, Lines, ListOut, Output, check_storable
from webapp.prompts.models import Prompt, PromptVersion


def _text_of_prompt(value: str) -> str:
    return check_storable(value).replace("\r\n", "\n")


PromptText = Annotated[str, Field(min_length=1, max_length=32_768), AfterValidator(_text_of_prompt)]
PromptName = Annotated[str, Field(min_length=1, max_length=100, pattern="^[a-z_]+$")]


class ActivateQuery(BaseModel):
    set_active: bool = Field(False, description="Activate the new version at once.")


class NewPromptVersion(Input):
    prompt_text: PromptText
    note: Annotated[Lines, Field(max_length=500)] | None = Field(None, description="Why it was changed.")


class RenderRequest(Input):
    prompt_text: PromptText
    conversation_id: Id


class Rendered(BaseModel):
    text: str = Field(description="The text with its placeholders filled in.")
    placeholders: list[str] = Field(description="The placeholders found in it, in order.")


class PromptVersionOut(Output):
    name: str
    version: int
    prompt_text: str
    is_active: bool
    origin: Literal["default", "admin"] = Field(description="Whether it was shipped or written by an admin.")
    note: str | None
    created_at: Instant | None
    created_by: int | None = Field(description="The admin who wrote it.")

    @classmethod
    def of(cls, row: PromptVersion, active_version: int) -> "PromptVersionOut":
        return cls.from_row(row, is_active=row.version == active_version)


class PromptOut(Output):
    name: str
    title: str
    purpose: str
    aliases: list[str] = Field(description="Other names it is known by.")
    active_version: int
    activated_at: Instant | None = Field(description="Null for the shipped version, which nobody activated.")
    activated_by: int | None
    allowed_placeholders: list[str]
    required_placeholders: list[str]

    @classmethod
    def of(cls, row: Prompt, **more: Any) -> Self:
        """Return a prompt, with the rest of a longer response as `more`."""
        prompt = row.definition
        return cls.from_row(
            row,
            title=prompt.title,
            purpose=prompt.purpose,
            aliases=prompt.aliases,
            allowed_placeholders=prompt.allowed,
            required_placeholders=prompt.required,
            **more,
        )


class PromptWithVersions(PromptOut):
    prompt_text: str = Field(description="The text in use.")
    versions: list[PromptVersionOut] = Field(description="Newest first.")

    @classmethod
    def of_versions(cls, prompt: Prompt, rows: Iterable[PromptVersion]) -> "PromptWithVersions":
        versions = [PromptVersionOut.of(row, prompt.active_version) for row in rows]
        text = next(version.prompt_text for version in versions if version.is_active)
        return cls.of(prompt, prompt_text=text, versions=versions)


class PromptList(ListOut):
    prompts: list[PromptOut]
