"""JSON endpoints of journeys: the list, the state of a conversation's points, its summary."""

from typing import Literal

from flask import Response, jsonify, url_for

from webapp.accounts.auth import current_user_id
from webapp.conversations.schemas import ConversationPath
from webapp.db.base import now
from webapp.http.answers import download
from webapp.http.json_api import Responses, api_blueprint
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult
from webapp.journeys import reports, service
from webapp.journeys.report_content import as_data, as_markdown, file_name
from webapp.journeys.reports import texts_in, wait_for_report
from webapp.journeys.schemas import (
    ConversationPoints,
    JourneyDetail,
    JourneyList,
    JourneyOut,
    JourneyPath,
    SummaryPending,
    SummaryQuery,
    SummaryStatus,
)

blueprint = api_blueprint("journeys_api", __name__, tag="Journeys", access="user")
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
}


@blueprint.get("/journeys")
def list_journeys(query: PageQuery) -> JourneyList:
    """The published journeys."""
    page = service.page_of_journeys(current_user_id(), query)
    journeys = [JourneyOut.from_row(row) for row in page.items]
    return JourneyList(journeys=journeys, next_cursor=page.next_cursor)


@blueprint.get("/journeys/<slug>")
def get_journey(path: JourneyPath) -> JourneyDetail:
    """A journey with the definitions of its points; one that was never published only to who writes it."""
    return JourneyDetail.model_validate(service.get_journey(current_user_id(), path.slug))


@points_blueprint.get("/conversation/<int:conversation_id>/points/", strict_slashes=False)
def list_points(path: ConversationPath) -> ConversationPoints:
    """The points of a conversation's journey: completion, confidence, evidence, and what is known from elsewhere."""
    conversation, view = service.conversation_view(current_user_id(), path.conversation_id)
    return ConversationPoints.of(conversation.conversation_id, view)


@points_blueprint.get("/conversation/<int:conversation_id>/summary/status/", strict_slashes=False)
def summary_status(path: ConversationPath) -> SummaryStatus:
    """Return whether the PDF summary exists and reflects what is known now."""
    state = reports.report_state(current_user_id(), path.conversation_id)
    url = url_for(".download_summary", conversation_id=path.conversation_id)
    return SummaryStatus.of(state, url)


@points_blueprint.get("/conversation/<int:conversation_id>/summary/download/", responses=PDF, strict_slashes=False)
def download_summary(path: ConversationPath, query: SummaryQuery) -> ViewResult:
    """The current summary: the PDF, created if necessary (202 with Retry-After if that takes longer than a request),
    or the same as Markdown or JSON."""
    if query.format != "pdf":
        return text_response(current_user_id(), path.conversation_id, query.format)
    report = wait_for_report(current_user_id(), path.conversation_id)
    if report is None:
        response = jsonify(SummaryPending().model_dump())
        response.headers["Retry-After"] = "3"
        return response, 202
    return pdf_response(*report)


def text_response(user_id: int, conversation_id: int, form: Literal["md", "json"]) -> Response:
    """Return the summary as a Markdown or JSON file that no cache may keep."""
    _, report = reports.current_report(user_id, conversation_id)
    day = now().date()
    if form == "json":
        text, media_type = jsonify(as_data(report, day)).get_data(), "application/json"
    else:
        text, media_type = as_markdown(report, day, texts_in(report.language)).encode(), "text/markdown"
    response = download(text, file_name(report, day, form), media_type)
    response.headers["Cache-Control"] = "no-store"
    return response


def pdf_response(pdf: bytes, name: str) -> Response:
    """Return a PDF to download under a name, which no cache may keep: what it rests on may be forgotten."""
    response = download(pdf, name, "application/pdf")
    response.headers["Cache-Control"] = "no-store"
    return response
