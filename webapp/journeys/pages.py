"""Pages and fragments of journeys: the picker, the points beside a conversation, the summary, offers to continue."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import flash, g, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, now
from webapp.errors import Invalid, require
from webapp.extensions import this_app
from webapp.http.forms import validate
from webapp.http.views import PageBlueprint, ViewResult, download, wants_partial
from webapp.i18n import date_texts
from webapp.i18n.request_language import gettext as _, language_of
from webapp.journeys import answers, reports
from webapp.journeys.api import text_response
from webapp.journeys.definitions import questions_of
from webapp.journeys.guides import guide_of, pause
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view
from webapp.journeys.reports import wait_for_report
from webapp.journeys.schemas import PointAnswer
from webapp.journeys.service import journeys_with_progress

blueprint = PageBlueprint("journeys", __name__, access="user")


def _load_questions(view: JourneyView | None = None, point: PointView | None = None) -> list[str]:
    """Return what to offer above the composer, in the language of the page."""
    return questions_of(view.journey if view else None, point.point if point else None, language_of(this_app()).code)


def _load_points(conversation: Conversation | None) -> JourneyView | None:
    """Return the current state of a conversation's journey; loaded once for all parts of a page."""
    if conversation is None or conversation.journey_id is None:
        return None
    cache: dict[int, JourneyView] = g.setdefault("journey_views", {})
    if conversation.conversation_id not in cache:
        cache[conversation.conversation_id] = journey_view(conversation.user_id, conversation.journey_id, conversation)
    return cache[conversation.conversation_id]


def _load_next_point(conversation: Conversation, view: JourneyView) -> PointView | None:
    """Return the point to offer in a conversation: the next one apart from that it is at."""
    guide = guide_of(conversation.conversation_id)
    return view.next_point(
        next((item.point.slug for item in view.points if item.point.point_id == guide.point_id), None)
    )


@blueprint.get("/journeys")
def picker() -> ViewResult:
    """The published journeys, each with how far the user is."""
    return render_template("journeys/page.html", journeys=journeys_with_progress(current_user_id()))


@blueprint.get("/journeys/<slug>/restart")
def confirm_restart(slug: str) -> ViewResult:
    """Show what starting a finished journey over will do."""
    progress = next((item for item in journeys_with_progress(current_user_id()) if item.journey.slug == slug), None)
    return render_template("journeys/confirm_restart.html", item=require(progress, "There is no such journey."))


@blueprint.get("/c/<int:conversation_id>/points")
def points(conversation_id: int) -> ViewResult:
    """The points of a conversation: the panel as a fragment or, without scripts, as a page."""
    return _show(get_conversation(current_user_id(), conversation_id))


@blueprint.post("/c/<int:conversation_id>/points/<slug>/confirm")
def confirm_point(conversation_id: int, slug: str) -> ViewResult:
    """Confirm what other conversations established about a point, or ask again: `answer` is yes or no."""
    return _answer(conversation_id, slug, answer=request.form.get("answer"))


@blueprint.post("/c/<int:conversation_id>/points/<slug>/memories/<int:memory_id>")
def memory(conversation_id: int, slug: str, memory_id: int) -> ViewResult:
    """Confirm a memory from elsewhere as an answer to a point, or dismiss it: `answer` is yes or no."""
    return _answer(conversation_id, slug, answer=request.form.get("answer"), memory_id=memory_id)


@blueprint.post("/c/<int:conversation_id>/points/<slug>/change")
def change(conversation_id: int, slug: str) -> ViewResult:
    """Change a point by hand; `do` says how."""
    key, evidence_id = (current_user_id(), conversation_id, slug), request.form.get("evidence_id", "")
    match request.form.get("do"):
        case "skip" | "later" as choice:
            answers.skip(*key, choice)
        case "stop" | "resume" as choice:
            pause(current_user_id(), conversation_id, paused=choice == "stop")
        case "again":
            answers.ask_again(*key)
        case "undo":
            answers.undo(*key)
        case "both":
            return _answer(conversation_id, slug, answer="both")
        case "not-right":
            return _answer(conversation_id, slug, answer="no", evidence_id=evidence_id)
        case "holds":
            return _answer(conversation_id, slug, answer="yes", evidence_id=evidence_id)
        case "correct":
            text = " ".join(request.form.get("text", "").split())
            return _answer(conversation_id, slug, text=text, evidence_id=evidence_id)
        case _:
            raise Invalid.field("do", "is not a change to a point")
    return _respond(conversation_id)


@blueprint.get("/c/<int:conversation_id>/summary")
def summary(conversation_id: int) -> ViewResult:
    """The PDF summary, created if necessary."""
    report = wait_for_report(current_user_id(), conversation_id)
    if report is not None:
        return download(*report, "application/pdf")
    flash(_("The summary is being created. Try again in a moment."))
    return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)


@blueprint.get("/c/<int:conversation_id>/summary/page")
def summary_page(conversation_id: int) -> ViewResult:
    """The summary as a page to read and print."""
    conversation, report = reports.current_report(current_user_id(), conversation_id)
    day = date_texts.full_date(now().date(), language_of(this_app()).code)
    return render_template("journeys/summary.html", conversation=conversation, report=report, day=day)


@blueprint.get("/c/<int:conversation_id>/summary/file/<form>")
def summary_text(conversation_id: int, form: str) -> ViewResult:
    """The summary as Markdown or JSON."""
    if form not in ("md", "json"):
        raise Invalid.field("form", "must be md or json")
    return text_response(current_user_id(), conversation_id, form)  # type: ignore[arg-type]


def _answer(conversation_id: int, slug: str, **given: Any) -> ViewResult:
    answers.answer(current_user_id(), conversation_id, slug, validate(PointAnswer, given))
    return _respond(conversation_id)


def _respond(conversation_id: int) -> ViewResult:
    db.session.commit()
    if not wants_partial():
        return redirect(url_for(".points", conversation_id=conversation_id), 303)
    return _show(get_conversation(current_user_id(), conversation_id))


def _show(conversation: Conversation) -> str:
    template = "journeys/_points_moved.html" if wants_partial() else "journeys/points.html"
    return render_template(template, conversation=conversation, journey=_load_points(conversation))


MAX_OFFERED = 4
MAX_JOURNEYS = 2


@dataclass(frozen=True, slots=True)
class ConversationToContinue:
    """A conversation to continue, with its journey as far as that has come."""

    conversation: Conversation
    journey: JourneyView | None = None


def conversations_to_continue(conversations: Sequence[Conversation]) -> list[ConversationToContinue]:
    """Return up to four conversations of a list, newest first: at most two are journeys, each once, unfinished."""
    newest = sorted(conversations, key=lambda row: row.updated_at or now(), reverse=True)
    last_of = {row.journey_id: row for row in reversed(newest) if row.journey_id is not None}
    guided = [row for row in newest if row.journey_id is not None and last_of[row.journey_id] is row]
    views = (
        ConversationToContinue(row, journey_view(row.user_id, row.journey_id, row, prefill=False))
        for row in guided[:MAX_OFFERED]
    )
    under_way = [item for item in views if item.journey is not None and not item.journey.is_complete][:MAX_JOURNEYS]
    others = [ConversationToContinue(row) for row in newest if row.journey_id is None][: MAX_OFFERED - len(under_way)]
    return sorted([*under_way, *others], key=lambda item: item.conversation.updated_at or now(), reverse=True)


blueprint.add_globals(
    load_begun=conversations_to_continue,
    load_points=_load_points,
    load_next_point=_load_next_point,
    is_guide_paused=lambda conversation: guide_of(conversation.conversation_id).is_paused,
    load_report=lambda conversation: reports.report_state(conversation.user_id, conversation.conversation_id),
    load_questions=_load_questions,
)
