"""JSON endpoints of journeys: the list, a conversation's points, answers to them, its summary, and writing journeys."""

from typing import Any, Literal

from flask import Response, jsonify, url_for
from pydantic import BaseModel, Field, ValidationError

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.db.base import now
from webapp.errors import Invalid
from webapp.http.json_api import Responses, api_blueprint
from webapp.http.validation import Id, Input, Instant, OptionalInteger, Output, PageQuery
from webapp.http.views import ViewResult, download
from webapp.journeys import answers, authoring, reports, service
from webapp.journeys.authoring import EditableJourney
from webapp.journeys.definitions import MAX_TEXT, JourneyBody, read_definition, write_definition
from webapp.journeys.guides import pause
from webapp.journeys.journey_files import problems
from webapp.journeys.point_views import PointView
from webapp.journeys.report_content import as_dict, as_markdown, file_name
from webapp.journeys.reports import report_texts, wait_for_report
from webapp.journeys.schemas import (
    ConversationPoints,
    GuideState,
    JourneyDetail,
    JourneyList,
    JourneyOut,
    PointAnswer,
    PointOut,
    PointReset,
    ReopenRequest,
    SkipRequest,
    Slug,
    SummaryPending,
    SummaryQuery,
    SummaryStatus,
)

blueprint = api_blueprint("journeys_api", __name__, tag="Journeys", access="user")
authoring_blueprint = api_blueprint("journey_authoring_api", __name__, tag="Journeys", access="user")
points_blueprint = api_blueprint("journey_points_api", __name__, tag="Journeys", url_prefix="/memory", access="user")

PDF: Responses = {
    200: {
        "description": "The summary",
        "content": {
            "application/pdf": {"schema": {"type": "string", "format": "binary"}},
            "text/markdown": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    },
    202: SummaryPending,
    409: {"description": "Nothing to sum up yet"},
}


@blueprint.get("/journeys")
def list_journeys(query: PageQuery) -> JourneyList:
    """The published journeys."""
    return JourneyList.of(service.page_of_journeys(current_user_id(), query).map(JourneyOut.from_row))


@blueprint.get("/journeys/<slug>")
def get_journey(slug: Slug) -> JourneyDetail:
    """A journey with the definitions of its points; one that was never published only to who writes it."""
    return JourneyDetail.model_validate(service.get_journey(current_user_id(), slug))


@points_blueprint.get("/conversation/<int:conversation_id>/points/", strict_slashes=False)
def list_points(conversation_id: Id) -> ConversationPoints:
    """The points of a conversation's journey: completion, confidence, evidence, and what is known from elsewhere."""
    conversation, view = service.conversation_view(current_user_id(), conversation_id)
    return ConversationPoints.of(conversation.conversation_id, view)


@points_blueprint.get("/conversation/<int:conversation_id>/summary/status/", strict_slashes=False)
def summary_status(conversation_id: Id) -> SummaryStatus:
    """Return whether the PDF summary exists and reflects what is known now."""
    state = reports.report_state(current_user_id(), conversation_id)
    return SummaryStatus.of(state, url_for(".download_summary", conversation_id=conversation_id))


@points_blueprint.get("/conversation/<int:conversation_id>/summary/download/", responses=PDF, strict_slashes=False)
def download_summary(conversation_id: Id, query: SummaryQuery) -> ViewResult:
    """The current summary: the PDF, created if necessary (202 with Retry-After if that takes longer than a request),
    or the same as Markdown or JSON."""
    if query.format != "pdf":
        return text_response(current_user_id(), conversation_id, query.format)
    report = wait_for_report(current_user_id(), conversation_id)
    if report is None:
        response = jsonify(SummaryPending().model_dump())
        response.headers["Retry-After"] = "3"
        return response, 202
    return download(*report, "application/pdf")


def text_response(user_id: int, conversation_id: int, form: Literal["md", "json"]) -> Response:
    """Return the summary as a Markdown or JSON file."""
    _, report = reports.current_report(user_id, conversation_id)
    day = now().date()
    if form == "json":
        text, media_type = jsonify(as_dict(report, day)).get_data(), "application/json"
    else:
        text, media_type = as_markdown(report, day, report_texts(report.language)).encode(), "text/markdown"
    return download(text, file_name(report, day, form), media_type)


PLACE = "/conversations/<int:conversation_id>/points/<point>"


@blueprint.post(f"{PLACE}/answer")
def answer(conversation_id: Id, point: Slug, body: PointAnswer) -> PointOut:
    """Say whether something is still true, is not right, or what is right instead."""
    return _point_response(conversation_id, answers.answer(current_user_id(), conversation_id, point, body))


@blueprint.post(f"{PLACE}/skip")
def skip(conversation_id: Id, point: Slug, body: SkipRequest) -> PointOut:
    """Do not be asked about a point, or only after all others."""
    choice = "later" if body.until == "later" else "skip"
    return _point_response(conversation_id, answers.skip(current_user_id(), conversation_id, point, choice))


@blueprint.put("/conversations/<int:conversation_id>/guide")
def guide(conversation_id: Id, body: GuideState) -> GuideState:
    """Pause or resume the questions of a guided conversation."""
    pause(current_user_id(), conversation_id, paused=body.paused)
    return body


@blueprint.post(f"{PLACE}/reopen")
def reopen(conversation_id: Id, point: Slug, body: ReopenRequest) -> PointOut:
    """Be asked about a point again: a skip is undone, else what is known moves to its history; or undo that."""
    change = answers.undo if body.undo else answers.ask_again
    return _point_response(conversation_id, change(current_user_id(), conversation_id, point))


@blueprint.post(f"{PLACE}/reset", status=202)
@idempotency.idempotent
def reset(conversation_id: Id, point: Slug) -> PointReset:
    """Forget what is known of a point, including its history, and have the journey's conversations read again."""
    count = service.reset_here(current_user_id(), conversation_id, point)
    return PointReset(conversations_read_again=count)


def _point_response(conversation_id: int, view: PointView) -> PointOut:
    _, journey = service.conversation_view(current_user_id(), conversation_id)
    return PointOut.from_view(view, journey.next_slug if journey else None)


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
    def of(cls, work: EditableJourney) -> "JourneyWork":
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
    version: OptionalInteger = Field(
        None, ge=1, le=1_000_000, description="An earlier version to restore; without it the draft is published."
    )


class ImportBody(Input):
    text: str = Field(min_length=1, max_length=MAX_TEXT, description="A journey's file, JSON or YAML.")


class ExportQuery(BaseModel):
    format: Literal["json", "yaml"] = "json"


@authoring_blueprint.post("/journeys", status=201)
@idempotency.idempotent
def create_journey(body: JourneyBody, query: NewJourneyQuery) -> JourneyWork:
    """Write a journey: a draft, which people see once it is published."""
    return JourneyWork.of(authoring.create_draft(current_user_id(), body, is_private=query.private))


@authoring_blueprint.post("/journeys/import", status=201)
@idempotency.idempotent
def import_journey(body: ImportBody, query: NewJourneyQuery) -> JourneyWork:
    """Create a draft from a journey's file."""
    try:
        definition = read_definition(body.text)
    except ValidationError as error:
        raise Invalid.field("text", "\n".join(problems(error))) from None
    return JourneyWork.of(authoring.create_draft(current_user_id(), definition, is_private=query.private))


@authoring_blueprint.put("/journeys/<slug>")
def change_journey(slug: Slug, body: JourneyBody) -> JourneyWork:
    """Change the draft of a journey; what is published stays until the draft is."""
    return JourneyWork.of(authoring.save_draft(current_user_id(), slug, body))


@authoring_blueprint.get("/journeys/<slug>/draft")
def get_draft(slug: Slug) -> JourneyWork:
    """A journey as its author sees it: the draft, its versions, its state."""
    return JourneyWork.of(authoring.get_editable(current_user_id(), slug))


@authoring_blueprint.post("/journeys/<slug>/publish")
@idempotency.idempotent
def publish_journey(slug: Slug, body: PublishRequest) -> JourneyWork:
    """Publish the draft, or restore an earlier version."""
    return JourneyWork.of(authoring.publish(current_user_id(), slug, body.version))


@authoring_blueprint.post("/journeys/<slug>/duplicate", status=201)
@idempotency.idempotent
def duplicate_journey(slug: Slug, query: NewJourneyQuery) -> JourneyWork:
    """A copy, as your own draft."""
    return JourneyWork.of(authoring.duplicate(current_user_id(), slug, is_private=query.private))


@authoring_blueprint.delete("/journeys/<slug>")
def archive_journey(slug: Slug) -> None:
    """Withdraw a journey; a draft that was never published is deleted."""
    authoring.archive(current_user_id(), slug)


@authoring_blueprint.get("/journeys/<slug>/export", responses=FILE)
def export_journey(slug: Slug, query: ExportQuery) -> ViewResult:
    """A journey you may change, as a file."""
    return file_response(authoring.get_editable(current_user_id(), slug), query.format)


def file_response(work: EditableJourney, form: Literal["json", "yaml"]) -> Response:
    """Return a journey as a file to download."""
    return download(write_definition(work.definition, form), f"{work.journey.slug}.{form}", f"application/{form}")
