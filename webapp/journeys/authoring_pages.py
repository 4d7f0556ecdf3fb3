"""Pages for writing journeys: the author's list, the editor, versions, import and export, and a preview."""

from collections.abc import Collection, Mapping
from typing import Any

from flask import flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.extensions import this_app
from webapp.http.forms import redisplay_form, require_version, sentence
from webapp.http.problems import field_errors
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, language_of, translate
from webapp.journeys import authoring
from webapp.journeys.api import file_response
from webapp.journeys.authoring import TrialResult, preview_opening
from webapp.journeys.definitions import JourneyBody, read_definition

blueprint = PageBlueprint("journey_authoring", __name__, access="user")

NEW: dict[str, Any] = {"points": [{}]}
LABELS = N_(
    {
        "title": "Title",
        "description": "What it is for",
        "system_prompt": "Instructions for the assistant",
        "front_page": "Front page of the summary",
    }
)
POINT_LABELS = N_(
    {
        "title": "Title",
        "description": "What it is about",
        "elicitation_goals": "What to find out",
        "completion_criteria": "When it is done",
        "curiosity_prompt": "Text in the panel",
        "system_message_template": "How to approach it",
        "example_questions": "Example questions",
        "suggested_questions": "Suggested questions",
        "semantic_keywords": "Keywords",
        "confidence_threshold": "Required certainty (0.1 to 1)",
        "keeps": "Answers stay valid for",
    }
)
"""What the fields of the editor are called on its page; those of a topic follow its number there."""


@blueprint.get("/journeys/mine")
def my_journeys() -> ViewResult:
    return _render_own()


@blueprint.post("/journeys/mine")
@redisplay_form(lambda errors: _render_own(errors.values()), N_({"text": "The file"}))
def take_file() -> ViewResult:
    """Create a draft from a pasted file."""
    try:
        definition = read_definition(request.form.get("text", ""))
    except ValidationError as error:
        return _render_own([_line(item) for item in field_errors(error)]), 422
    work = authoring.create_draft(current_user_id(), definition, is_private="private" in request.form)
    return commit_and_redirect(url_for(".edit", slug=work.journey.slug))


@blueprint.get("/journeys/new")
def new() -> ViewResult:
    return _editor()


@blueprint.post("/journeys/new")
@redisplay_form(lambda errors: _editor(errors=errors, definition=read(request.form)), {})
def create() -> ViewResult:
    """Save a new draft, or change the form."""
    definition, state = _read_editor()
    if definition is None:
        return state
    work = authoring.create_draft(current_user_id(), definition, is_private="private" in request.form)
    return commit_and_redirect(url_for(".edit", slug=work.journey.slug), _("Saved as a draft."))


@blueprint.get("/journeys/<slug>/edit")
def edit(slug: str) -> ViewResult:
    """The editor of a journey, with its versions."""
    return _editor(slug)


@blueprint.post("/journeys/<slug>/edit")
@redisplay_form(lambda errors, slug: _editor(slug, errors, read(request.form)), {})
def save(slug: str) -> ViewResult:
    """Save the draft, publish it, try it, or change the form."""
    require_version(authoring.get_editable(current_user_id(), slug).definition)
    definition, state = _read_editor(slug)
    if definition is None:
        return state
    work = authoring.save_draft(current_user_id(), slug, definition)
    do = request.form.get("do", "")
    if do == "publish":
        authoring.publish(current_user_id(), slug)
    fixture = work.definition
    db.session.commit()
    if do == "try":
        db.session.remove()  # no connection is held while the model writes
        return _editor(slug, preview=preview_opening(fixture))
    flash(_("Published.") if do == "publish" else _("Saved as a draft."))
    return redirect(url_for(".edit", slug=slug), 303)


@blueprint.post("/journeys/<slug>/versions/<int:number>")
def roll_back(slug: str, number: int) -> ViewResult:
    authoring.publish(current_user_id(), slug, min(number, 1_000_000))
    return commit_and_redirect(url_for(".edit", slug=slug), _("Version %(number)s is published again.", number=number))


@blueprint.post("/journeys/<slug>/duplicate")
def duplicate(slug: str) -> ViewResult:
    copy = authoring.duplicate(current_user_id(), slug, language=language_of(this_app()).code).journey.slug
    return commit_and_redirect(url_for(".edit", slug=copy))


@blueprint.post("/journeys/<slug>/archive")
def archive(slug: str) -> ViewResult:
    """Withdraw a journey, or delete a draft."""
    authoring.archive(current_user_id(), slug)
    return commit_and_redirect(
        url_for(".my_journeys"), _("It is no longer published. Conversations that follow it can continue.")
    )


@blueprint.post("/journeys/<slug>/restore")
def restore(slug: str) -> ViewResult:
    authoring.publish(current_user_id(), slug)
    return commit_and_redirect(url_for(".my_journeys"))


@blueprint.get("/journeys/<slug>/file/<form>")
def export(slug: str, form: str) -> ViewResult:
    if form not in ("json", "yaml"):
        raise Invalid.field("form", "must be json or yaml")
    return file_response(authoring.get_editable(current_user_id(), slug), form)  # type: ignore[arg-type]


def _editor(
    slug: str | None = None,
    errors: Mapping[str, str] | None = None,
    definition: dict[str, Any] | None = None,
    preview: TrialResult | None = None,
) -> str:
    """Return the editor of a journey, or of a new one, with what is stored or, instead, a definition."""
    work = authoring.get_editable(current_user_id(), slug) if slug is not None else None
    shown = definition or (work.definition if work is not None else NEW)
    return render_template("journeys/editor.html", work=work, definition=shown, errors=errors or {}, preview=preview)


def _read_editor(slug: str | None = None) -> tuple[JourneyBody | None, ViewResult]:
    """Return the checked input; or None and the page to show, if a button changes the form or there are mistakes."""
    values = read(request.form)
    do = request.form.get("do", "")
    if do.partition("-")[0] in ("add", "remove", "up", "down"):
        return None, _editor(slug, definition=apply_button(values, do))
    try:
        body = JourneyBody.model_validate(values)
        body.complete()
    except ValidationError as error:
        return None, (_editor(slug, _errors(error), values), 422)
    return body, ""


def _errors(error: ValidationError) -> dict[str, str]:
    """Return a sentence for each field of the editor that is wrong, by its id; under no id what is about no field."""
    errors: dict[str, str] = {}
    for item in field_errors(error):
        first, *rest = item["loc"] or [""]
        point, name = (f"p{rest[0]}-", rest[1]) if first == "points" and len(rest) > 1 else ("", first)
        label = (POINT_LABELS if point else LABELS).get(name)
        words = _("“%(label)s”", label=translate(label)) if label else ""
        errors.setdefault(f"{point}{name}" if label else "", sentence(words, item))
    return errors


def _line(item: Mapping[str, Any]) -> str:
    """Return a sentence about a place in a file, such as “points[2].title”."""
    path = "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in item["loc"]).lstrip(".")
    return sentence(_("“%(label)s”", label=path) if path else "", item)


def _render_own(errors: Collection[str] = ()) -> str:
    rows = authoring.own_journeys(current_user_id())
    return render_template("journeys/mine.html", journeys=rows, text=request.form.get("text", ""), errors=errors)


HEAD = ("title", "description", "system_prompt", "front_page")
LINES = ("elicitation_goals", "completion_criteria", "example_questions", "suggested_questions", "semantic_keywords")
WORDS = ("slug", "title", "description", "curiosity_prompt", "system_message_template", "keeps")
MAX_POINTS = 100


def read(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the definition in a form; empty fields are left out, lists have one item per line."""
    count = min(int(form.get("count", "0")[:3] or 0) if form.get("count", "0").isdecimal() else 0, MAX_POINTS)
    values = {name: _clean(form.get(name, "")) for name in HEAD}
    points = []
    for number in range(count):
        point: dict[str, Any] = {name: _clean(form.get(f"p{number}.{name}", "")) for name in WORDS}
        point |= {name: _lines(form.get(f"p{number}.{name}", "")) for name in LINES}
        threshold = form.get(f"p{number}.confidence_threshold", "").strip()
        point["confidence_threshold"] = _number(threshold) if threshold else None
        points.append({name: value for name, value in point.items() if value not in (None, "", [])})
    return {**{name: value for name, value in values.items() if value}, "points": points}


def apply_button(definition: dict[str, Any], do: str) -> dict[str, Any]:
    """Return the definition after a button of the form: add, remove-2, up-2 or down-2; any other changes nothing."""
    points = list(definition["points"])
    action, _, place = do.partition("-")
    index = next((number for number in range(len(points)) if str(number) == place), None)
    if action == "add" and len(points) < MAX_POINTS:
        points.append({})
    elif action == "remove" and index is not None:
        del points[index]
    elif action in ("up", "down") and index is not None:
        other = index + (1 if action == "down" else -1)
        if 0 <= other < len(points):
            points[index], points[other] = points[other], points[index]
    return {**definition, "points": points}


def _clean(value: str) -> str:
    return value.replace("\r\n", "\n").strip()


def _lines(value: str) -> list[str]:
    return [line.strip() for line in value.splitlines() if line.strip()]


def _number(value: str) -> float | str:
    try:
        return float(value.replace(",", "."))
    except ValueError:
        return value
