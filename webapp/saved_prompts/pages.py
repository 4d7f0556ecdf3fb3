"""Pages of the prompt library, and what the composer asks of it."""

from datetime import datetime
from typing import Any

from flask import Response, flash, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.conversations.pages import render_new
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.http.forms import first_sentence, read_form, redisplay_form, require_version, sentences
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, download, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext, ngettext
from webapp.rendering import reader_zone
from webapp.saved_prompts import formats, service
from webapp.saved_prompts.formats import Variable, variables_to_fill
from webapp.saved_prompts.models import SavedPrompt
from webapp.saved_prompts.schemas import NewSavedPrompt, SavedPromptChanges
from webapp.spaces import current_space

blueprint = PageBlueprint("saved_prompts_pages", __name__, access="user")

LABELS = N_({"name": "The name", "description": "The description", "content": "The text", "space_id": "The space"})


@blueprint.get("/prompts")
def index() -> ViewResult:
    """The user's own prompts, and those of their spaces."""
    return _index()


@blueprint.get("/prompts/choose")
def choose() -> ViewResult:
    """Return what `/` in the composer offers."""
    if not wants_partial():
        return redirect(url_for(".index"), 303)
    return render_template("saved_prompts/_choose.html", **_groups_of_prompts())


@blueprint.get("/prompts/new")
def new() -> ViewResult:
    return _form({"content": request.args.get("content", "")[: formats.MAX_CONTENT_LENGTH]})


@blueprint.post("/prompts/new")
@redisplay_form(lambda errors: _form(request.form, errors=errors), LABELS, otherwise="name")
def create() -> ViewResult:
    prompt = service.create_prompt(current_user_id(), _fields())
    return commit_and_redirect(
        url_for(".index"), gettext("Saved “%(name)s”. Type / in a message to use it.", name=prompt.name)
    )


@blueprint.get("/prompts/<int:saved_prompt_id>")
def show(saved_prompt_id: int) -> ViewResult:
    prompt = service.get_prompt(current_user_id(), saved_prompt_id)
    return _form(_values(prompt), prompt=prompt)


@blueprint.post("/prompts/<int:saved_prompt_id>")
@redisplay_form(
    lambda errors, saved_prompt_id: _form(
        request.form, prompt=service.get_prompt(current_user_id(), saved_prompt_id, edit=True), errors=errors
    ),
    LABELS,
    otherwise="name",
)
def save(saved_prompt_id: int) -> ViewResult:
    prompt = service.get_prompt(current_user_id(), saved_prompt_id, edit=True)
    require_version(_values(prompt))
    values = _fields().model_dump()
    if prompt.user_id != current_user_id():
        del values["space_id"]
    service.update_prompt(current_user_id(), saved_prompt_id, SavedPromptChanges(**values))
    return commit_and_redirect(url_for(".index"), gettext("Saved."))


@blueprint.post("/prompts/<int:saved_prompt_id>/duplicate")
def duplicate(saved_prompt_id: int) -> ViewResult:
    """Copy a prompt into the user's own, and open the copy."""
    copy_id = service.duplicate_prompt(current_user_id(), saved_prompt_id).saved_prompt_id
    return commit_and_redirect(url_for(".show", saved_prompt_id=copy_id))


@blueprint.post("/prompts/<int:saved_prompt_id>/delete")
def delete(saved_prompt_id: int) -> ViewResult:
    name = service.delete_prompt(current_user_id(), saved_prompt_id)
    return commit_and_redirect(url_for(".index"), gettext("Deleted “%(name)s”.", name=name))


@blueprint.get("/prompts/<int:saved_prompt_id>/use")
def use(saved_prompt_id: int) -> ViewResult:
    """The form for a prompt's variables; a prompt without any starts a conversation at once."""
    prompt = service.get_prompt(current_user_id(), saved_prompt_id)
    variables = variables_to_fill(prompt.content)
    if not variables and not wants_partial():
        return render_new(content=_fill(saved_prompt_id, []), linked_draft=True)
    return _questions(prompt, variables, {}, {})


@blueprint.post("/prompts/<int:saved_prompt_id>/use")
def fill_variables(saved_prompt_id: int) -> ViewResult:
    """The filled text: as it is for the composer, otherwise at the start of a conversation."""
    prompt = service.get_prompt(current_user_id(), saved_prompt_id)
    variables = variables_to_fill(prompt.content)
    try:
        text = _fill(saved_prompt_id, variables)
    except Invalid as error:
        wrong = sentences(error, {variable.name: variable.name for variable in variables})
        return _questions(prompt, variables, request.form, wrong), 422
    return Response(text, mimetype="text/plain") if wants_partial() else render_new(content=text, linked_draft=True)


@blueprint.get("/prompts/export")
def export() -> ViewResult:
    """The user's own prompts as a file."""
    text = service.export_prompts(current_user_id()).model_dump_json(indent=2)
    return download(text, "prompts.json", "application/json")


@blueprint.post("/prompts/import")
@redisplay_form(lambda errors: _index(error=first_sentence(errors.values())), N_({"prompts": "The prompts"}))
def import_file() -> ViewResult:
    """Import a file of prompts."""
    file = request.files.get("file")
    try:
        items = formats.items_of(file.stream.read().decode("utf-8-sig") if file else "")
    except UnicodeDecodeError:
        raise Invalid("This file is not text.") from None
    except ValueError as error:
        raise Invalid(str(error)) from None
    space_id = parse_id(request.form.get("space"))
    imported, skipped, refused = service.import_prompts(current_user_id(), items, space_id=space_id)
    db.session.commit()
    flash(_account(imported, skipped), "message")
    return _index(refused=refused) if refused else redirect(url_for(".index"), 303)


def _fields() -> NewSavedPrompt:
    body = read_form(NewSavedPrompt, {"space_id": ""})
    return body.model_copy(update={"space_id": parse_id(request.form.get("space"))})


def _values(prompt: SavedPrompt) -> dict[str, str]:
    fields = {name: getattr(prompt, name) for name in ("name", "description", "content")}
    return fields | {"space": str(prompt.space_id or "")}


def _index(**extra: Any) -> str:
    context = {
        "error": "",
        "refused": [],
        "spaces": current_space.choices(current_user_id()).spaces,
        **_groups_of_prompts(),
        **extra,
    }
    return render_template("saved_prompts/index.html", **context)


def _groups_of_prompts() -> dict[str, Any]:
    """Return prompts in groups, the user's own first, then by space; with the variables they ask for."""
    names = {space.space_id: space.name for space in current_space.choices(current_user_id()).spaces}
    groups: dict[int | None, list[tuple[SavedPrompt, list[Variable]]]] = {}
    for prompt in service.all_prompts(current_user_id()):
        groups.setdefault(prompt.space_id, []).append((prompt, variables_to_fill(prompt.content)))
    order = sorted(groups, key=lambda space_id: (space_id is not None, names.get(space_id or 0, "").casefold()))
    return {"groups": [(space_id, names.get(space_id or 0, ""), groups[space_id]) for space_id in order]}


def _form(values: Any, *, prompt: SavedPrompt | None = None, errors: dict[str, str] | None = None) -> str:
    return render_template(
        "saved_prompts/prompt.html",
        values=values,
        stored=prompt and _values(prompt),
        found=prompt,
        is_yours=prompt is None or prompt.user_id == current_user_id(),
        spaces=current_space.choices(current_user_id()).spaces,
        longest=formats.MAX_CONTENT_LENGTH,
        errors=errors or {},
    )


def _questions(prompt: Any, variables: list[Variable], values: Any, errors: dict[str, str]) -> str:
    fields = [
        (index, v, values.get(f"v{index}", v.default or ""), errors.get(v.name, ""))
        for index, v in enumerate(variables)
    ]
    template = "_use.html" if wants_partial() else "use.html"
    return render_template(f"saved_prompts/{template}", prompt=prompt, fields=fields)


def _fill(saved_prompt_id: int, variables: list[Variable]) -> str:
    values = {
        variable.name: request.form[f"v{index}"].replace("\r\n", "\n").replace("\x00", "")
        for index, variable in enumerate(variables)
        if f"v{index}" in request.form
    }
    return service.fill_prompt(current_user_id(), saved_prompt_id, values, datetime.now(reader_zone()))


def _account(imported: int, skipped: int) -> str:
    sentence: str = ngettext("%(num)s prompt imported.", "%(num)s prompts imported.", imported)
    if skipped:
        sentence += " " + ngettext("%(num)s was already here.", "%(num)s were already here.", skipped)
    return sentence
