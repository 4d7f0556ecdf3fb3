"""Pages of the prompt editor: versions, comparison, preview on a real conversation, replay of a stored reply."""

from typing import Any

from flask import flash, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id, require_identity
from webapp.accounts.service import names_of
from webapp.admin import prompt_trials as trials
from webapp.db.base import db
from webapp.digests.service import existing_conversation, log_read
from webapp.errors import DomainError, Invalid, NotFound, require
from webapp.extensions import app_settings
from webapp.http.forms import read_form, redisplay_form, sentences
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.prompts import service
from webapp.prompts.catalogue import changes_the_prefix
from webapp.prompts.diff import compare as compare_texts
from webapp.prompts.schemas import NewPromptVersion

blueprint = PageBlueprint("admin_prompts", __name__, url_prefix="/admin/prompts", access="admin")


@blueprint.get("")
def index() -> ViewResult:
    """Every prompt, with the version in use."""
    prompts = service.list_prompts()
    people = names_of(prompt.activated_by for prompt in prompts)
    return render_template("prompts/index.html", prompts=prompts, people=people)


@blueprint.get("/<name>")
def editor(name: str) -> ViewResult:
    """One prompt: its text to edit, its versions, and ways to try it."""
    return _render(name, version=_number(request.args.get("version")))


@blueprint.post("/<name>/versions")
@redisplay_form(
    lambda errors, name: _render(name, draft=_draft(), errors=errors),
    N_({"prompt_text": "The prompt", "note": "The note"}),
    otherwise="prompt_text",
)
def save(name: str) -> ViewResult:
    """Save the text as a new version, and put it into use if that was the button."""
    data = read_form(NewPromptVersion)
    row = service.add_version(
        current_user_id(), name, data.prompt_text, set_active=request.form.get("set_active") == "1", note=data.note
    )
    db.session.commit()
    is_active = service.get_prompt(name).active_version == row.version
    flash(
        _("Version %(version)s is saved and in use.", version=row.version)
        if is_active
        else _("Version %(version)s is saved, not in use yet.", version=row.version)
    )
    return redirect(url_for(".editor", name=name, version=row.version), 303)


@blueprint.post("/<name>/versions/<int:version>/activate")
def activate(name: str, version: int) -> ViewResult:
    """Put a version into use."""
    service.activate(current_user_id(), name, version)
    return commit_and_redirect(url_for(".editor", name=name), _("Version %(version)s is in use.", version=version))


@blueprint.get("/<name>/compare")
def compare(name: str) -> ViewResult:
    """Return what changed between two versions."""
    before, after = (_require_number(_number(request.args.get(side))) for side in ("a", "b"))
    lines = compare_texts(service.get_version(name, before).prompt_text, service.get_version(name, after).prompt_text)
    context: dict[str, Any] = {"lines": lines, "before": before, "after": after}
    return render_template("prompts/_comparison.html", **context) if wants_partial() else _render(name, **context)


@blueprint.post("/<name>/preview")
def preview(name: str) -> ViewResult:
    """Return what would be sent for a conversation with the text as it stands in the editor."""
    prompt = service.definition(name)
    text = _draft()
    context: dict[str, Any] = {}
    try:
        service.check(name, text)
        conversation_id = _require_number(_number(request.form.get("conversation_id")), "conversation")
        log_read(require_identity(), existing_conversation(conversation_id).user_id, f"conversation {conversation_id}")
        context["preview"] = trials.preview(prompt.name, text, conversation_id, app_settings())
    except DomainError as error:
        db.session.rollback()
        context["preview_error"] = _error_text(error)
    return _part("prompts/_preview.html", name, draft=text, **context)


@blueprint.post("/<name>/replay")
def replay(name: str) -> ViewResult:
    """One stored reply generated again with two versions, side by side."""
    if service.definition(name).name != "chat":
        raise NotFound("Only replies can be regenerated.")
    context: dict[str, Any] = {}
    try:
        versions = [_require_number(_number(request.form.get(side))) for side in ("a", "b")]
        message_id = _require_number(_number(request.form.get("message_id")), "reply")
        conversation_id = trials.find_reply(message_id).conversation_id
        log_read(require_identity(), existing_conversation(conversation_id).user_id, f"conversation {conversation_id}")
        context["replay"] = trials.replay(message_id, versions, app_settings())
    except DomainError as error:
        db.session.rollback()
        context["replay_error"] = _error_text(error)
    return _part("prompts/_replay.html", name, **context)


def _part(template: str, name: str, **context: Any) -> ViewResult:
    status = 422 if any(key.endswith("_error") for key in context) else 200
    return (render_template(template, **context) if wants_partial() else _render(name, **context)), status


def _render(name: str, *, version: int | None = None, draft: str | None = None, **extra: Any) -> str:
    prompt = service.get_prompt(name)
    versions = list(service.versions(name))
    shown_version = version if version in {row.version for row in versions} else prompt.active_version
    text = next(row for row in versions if row.version == shown_version).prompt_text if draft is None else draft
    activations = service.activations(name)
    context: dict[str, Any] = {
        "prompt": prompt,
        "definition": prompt.definition,
        "versions": versions,
        "shown_version": shown_version,
        "text": text,
        "volatile": changes_the_prefix(text),
        "activations": activations,
        "people": names_of([*(row.created_by for row in versions), *(row.activated_by for row in activations)]),
        "errors": {},
        "conversations": trials.recent_conversations(current_user_id()),
        "form": request.form,
    }
    return render_template("prompts/editor.html", **{**context, **extra})


def _draft() -> str:
    return request.form.get("prompt_text", "").replace("\r\n", "\n")


def _number(value: str | None) -> int | None:
    return parse_id((value or "").strip().lstrip("#"))


def _require_number(number: int | None, label: str = "version") -> int:
    return require(number, "There is no such %(what)s.", what=label)


def _error_text(error: DomainError) -> str:
    if isinstance(error, Invalid):
        return " ".join(sentences(error, N_({"prompt_text": "The prompt"})).values())
    return error.detail or error.title
