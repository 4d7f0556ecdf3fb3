"""JSON endpoints for writing journeys: drafts, publishing, rolling back, duplicating, files in and out."""

from typing import Annotated, Any, Literal

from flask import Response
from pydantic import BaseModel, Field, ValidationError

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.errors import Invalid
from webapp.http.json_api import Responses, api_blueprint
from webapp.http.validation import Input, Instant, Integer, Output
from webapp.http.views import ViewResult, download
from webapp.journeys import authoring
from webapp.journeys.authoring import Work
from webapp.journeys.definitions import MAX_TEXT, JourneyBody, read_definition, write_definition
from webapp.journeys.journey_files import problems
from webapp.journeys.schemas import Slug

blueprint = api_blueprint("journey_authoring_api", __name__, tag="Journeys", access="user")

FILE: Responses = {
    200: {"description": "The journey as a file", "content": {"application/json": {}, "application/yaml": {}}}
}


class NewJourneyQuery(BaseModel):
    private: bool = Field(
        False, strict=False, description="Only for oneself; always the case unless one is an administrator."
    )


class JourneyVersionItem(Output):
    number: int
    created_at: Instant
    is_published: bool


class JourneyWork(BaseModel):
    """A journey as its author sees it; the fields of the definition are those of the draft, if there is one."""

    slug: str
    title: str
    description: str
    system_prompt: str
    front_page: str | None = None
    points: list[dict[str, Any]]
    status: Literal["draft", "published", "archived"]
    source: Literal["file", "editor"]
    is_private: bool
    has_draft: bool = Field(description="There are changes that are not published.")
    published_version: int | None
    versions: list[JourneyVersionItem]

    @classmethod
    def of(cls, work: Work) -> "JourneyWork":
        row = work.journey
        return cls(
            **work.definition,
            status=work.status,
            source=row.source,
            is_private=row.owner_id is not None,
            has_draft=row.draft is not None,
            published_version=row.published_version,
            versions=[
                JourneyVersionItem.from_row(version, is_published=version.number == row.published_version)
                for version in work.versions
            ],
        )


class PublishRequest(Input):
    version: Annotated[Integer, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="An earlier version to restore; without it the draft is published."
    )


class ImportBody(Input):
    text: str = Field(min_length=1, max_length=MAX_TEXT, description="A journey's file, JSON or YAML.")


class ExportQuery(BaseModel):
    format: Literal["json", "yaml"] = "json"


@blueprint.post("/journeys", status=201)
@idempotency.idempotent
def create_journey(body: JourneyBody, query: NewJourneyQuery) -> JourneyWork:
    """Write a journey: a draft, which people see once it is published."""
    return JourneyWork.of(authoring.create_draft(current_user_id(), body, is_private=query.private))


@blueprint.post("/journeys/import", status=201)
@idempotency.idempotent
def import_journey(body: ImportBody, query: NewJourneyQuery) -> JourneyWork:
    """Create a draft from a journey's file."""
    try:
        definition = read_definition(body.text)
    except ValidationError as error:
        raise Invalid.field("text", "\n".join(problems(error))) from None
    return JourneyWork.of(authoring.create_draft(current_user_id(), definition, is_private=query.private))


@blueprint.put("/journeys/<slug>")
def change_journey(slug: Slug, body: JourneyBody) -> JourneyWork:
    """Change the draft of a journey; what is published stays until the draft is."""
    return JourneyWork.of(authoring.save_draft(current_user_id(), slug, body))


@blueprint.get("/journeys/<slug>/draft")
def get_draft(slug: Slug) -> JourneyWork:
    """A journey as its author sees it: the draft, its versions, its state."""
    return JourneyWork.of(authoring.get_editable(current_user_id(), slug))


@blueprint.post("/journeys/<slug>/publish")
@idempotency.idempotent
def publish_journey(slug: Slug, body: PublishRequest) -> JourneyWork:
    """Publish the draft, or restore an earlier version."""
    return JourneyWork.of(authoring.publish(current_user_id(), slug, body.version))


@blueprint.post("/journeys/<slug>/duplicate", status=201)
@idempotency.idempotent
def duplicate_journey(slug: Slug, query: NewJourneyQuery) -> JourneyWork:
    """A copy, as your own draft."""
    return JourneyWork.of(authoring.duplicate(current_user_id(), slug, is_private=query.private))


@blueprint.delete("/journeys/<slug>")
def archive_journey(slug: Slug) -> None:
    """Withdraw a journey; a draft that was never published is deleted."""
    authoring.archive(current_user_id(), slug)


@blueprint.get("/journeys/<slug>/export", responses=FILE)
def export_journey(slug: Slug, query: ExportQuery) -> ViewResult:
    """A journey you may change, as a file."""
    return file_response(authoring.get_editable(current_user_id(), slug), query.format)


def file_response(work: Work, form: Literal["json", "yaml"]) -> Response:
    """Return a journey as a file to download."""
    return download(write_definition(work.definition, form), f"{work.journey.slug}.{form}", f"application/{form}")
