"""The pages of imports and exports: upload, preview, progress, report; exports and their files."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args

from flask import flash, make_response, redirect, render_template, request, send_file, url_for

from webapp.accounts.auth import current_user_id, password_required, writes
from webapp.db.base import db
from webapp.errors import Invalid, NotFound
from webapp.http.forms import first_sentence, read_form, redisplay_form, validate
from webapp.http.validation import PageQuery, parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, requested_cursor, wants_partial
from webapp.i18n.marks import N_, say
from webapp.i18n.request_language import gettext as _, values_in
from webapp.llm.errors import NoModel
from webapp.providers.catalogue import has_background_model
from webapp.spaces import current_space
from webapp.transfer import conversation_download, export_jobs, import_learning, proposals, service
from webapp.transfer.api import limit_transfers, send_export
from webapp.transfer.models import Import
from webapp.transfer.readers import READERS
from webapp.transfer.schemas import ImportedKind, ItemQuery, LearnFields, NewExport, Outcome, PastedImport, StartImport

blueprint = PageBlueprint("transfer_pages", __name__, access="user")

PAGE_ROWS = 20
ITEMS = 50
MAX_CHOSEN = 500
FIELD_LABELS = N_({"text": "The text", "format": "Format", "conversation_id": "The conversation"})
_STARTED_STATUSES = ("running", *import_learning.FINAL_STATUSES)
COUNT_LABELS = N_(
    {
        "conversations imported": "conversations imported",
        "conversations updated": "conversations with something new",
        "conversations unchanged": "conversations that were already there",
        "conversations skipped": "conversations skipped",
        "messages": "messages",
        "other versions left out": "other versions left out",
        "hidden messages left out": "hidden messages left out",
        "steps of tools left out": "steps of tools left out",
        "files that are not in the export left out": "files that are not in the export",
        "files that cannot be attached left out": "files that cannot be attached",
        "changes of documents that do not fit left out": "changes of documents that do not fit",
        "memories proposed": "memories proposed",
        "memories known": "memories already known",
        "memories forgotten": "memories that you had forgotten",
        "memories secret": "secrets left out",
        "projects imported": "projects as spaces",
        "projects updated": "projects with new documents",
        "projects unchanged": "projects that were already there",
        "folders restored": "folders",
        "journeys restored": "journeys of your own",
        "files restored": "files",
        "spaces restored": "spaces",
        "saved prompts restored": "saved prompts",
        "schedules restored": "schedules",
        "ratings of replies restored": "ratings of replies",
        "conversations restored": "conversations",
        "summaries restored": "summaries",
        "digests restored": "digests",
        "memories restored": "memories",
        "quotes restored": "quotes behind memories",
        "earlier states of memories restored": "memory states",
        "things forgotten restored": "things that stay forgotten",
        "answers in journeys restored": "answers in journeys",
        "summaries of journeys restored": "summaries of journeys",
        "receipts restored": "receipt entries",
        "problems skipped": "parts that could not be read",
    }
)


@blueprint.get("/transfer")
def index() -> ViewResult:
    """Imports and exports, and the forms for new ones."""
    return _page()


_on_page = redisplay_form(lambda errors: _page(error=first_sentence(errors.values())), FIELD_LABELS)


@blueprint.post("/imports")
@limit_transfers
@_on_page
def create_import() -> ViewResult:
    """Upload a file, or paste memories."""
    file = request.files.get("file")
    if file is not None and file.filename:
        row = service.upload(current_user_id(), file, request.form.get("format") or None)
    elif request.form.get("text", "").strip():
        row = service.paste(current_user_id(), read_form(PastedImport, {"format": "format_of_text"}))
    else:
        raise Invalid("Choose a file, or paste a list of memories.")
    return commit_and_redirect(url_for(".show_import", import_id=row.import_id))


@blueprint.get("/imports/<int:import_id>")
def show_import(import_id: int) -> ViewResult:
    """An import: what is in its file, its progress, and the outcome of every part."""
    row = service.get_import(current_user_id(), import_id)
    outcome = request.args.get("outcome", "")
    query = ItemQuery(
        limit=ITEMS,
        cursor=requested_cursor(),
        outcome=outcome if outcome in get_args(Outcome) else None,
    )
    page = service.list_items(current_user_id(), import_id, query)
    expected = (row.preview or {}).get("restore", {}).get("counts", {})
    context = {
        "row": row,
        "reader": READERS.get(row.format or ""),
        "waiting": proposals.group_of(row),
        "counted": [] if row.stage in ("undoing", "undone") else _with_labels(row.counts),
        "period": [datetime.fromisoformat(text) for text in (row.preview or {}).get("dates", {}).values() if text],
        "items": page.items,
        "as_sentence": as_sentence,
        "next_cursor": page.next_cursor,
        "outcome": outcome,
        "spaces": current_space.choices(current_user_id()).spaces,
        **_learning_section(row),
        "restorable": row.status == "ready" and service.is_restorable(row),
        "to_restore": _with_labels({f"{name} restored": count for name, count in expected.items()}),
    }
    if wants_partial() and request.args.get("part") == "progress":
        answer = make_response(render_template("transfer/_progress.html", **context))
        if not row.is_active:  # a page that was polling needs the rest now: what to import, or the outcome
            answer.headers["HX-Refresh"] = "true"
        return answer
    if wants_partial() and query.cursor:
        return render_template("transfer/_items.html", **context)
    return render_template("transfer/import.html", **context)


def _with_labels(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(label, counts[name]) for name, label in COUNT_LABELS.items() if counts.get(name)]


@blueprint.post("/imports/<int:import_id>/start")
def start(import_id: int) -> ViewResult:
    if "restore" in request.form:
        service.start(current_user_id(), import_id, StartImport(restore=True))
        return commit_and_redirect(url_for(".show_import", import_id=import_id))
    take = [name for name in get_args(ImportedKind) if name in request.form.getlist("take")]
    first, last = (request.form.get(name) or None for name in ("from", "to"))
    fields = StartImport.model_validate(
        {
            "take": take,
            "between": {"from": first, "to": f"{last}T23:59:59" if last else None} if first or last else None,
            "space_id": parse_id(request.form.get("space_id", "")),
            "restore": False,
        }
    )
    service.start(current_user_id(), import_id, fields)
    return commit_and_redirect(url_for(".show_import", import_id=import_id))


@blueprint.get("/imports/<int:import_id>/learning")
def show_learning(import_id: int) -> ViewResult:
    """The progress of learning from an import."""
    row = service.get_import(current_user_id(), import_id)
    context = _learning_section(row)
    if (
        row.learn_status not in _STARTED_STATUSES and context["estimate"] is None
    ):  # not taken in yet, undone, or a restore
        raise NotFound("There is no such import.")
    return render_template("transfer/_learning.html", row=row, **context)


@blueprint.post("/imports/<int:import_id>/learning/<action>")
def change_learning(import_id: int, action: str) -> ViewResult:
    """Start learning from an import, continue, pause or stop."""
    user_id = current_user_id()
    if action == "start":
        import_learning.begin(
            user_id, import_id, LearnFields(most_tokens=parse_id(request.form.get("most_tokens", "")))
        )
    elif action in ("pause", "stop"):
        import_learning.stop(user_id, import_id, for_good=action == "stop")
    else:
        raise NotFound("There is no such choice.")
    return commit_and_redirect(url_for(".show_import", import_id=import_id, _anchor="learning"))


def _learning_section(row: Import) -> dict[str, Any]:
    """Return what the section about learning shows; empty if there is nothing to learn from."""
    if row.stage not in ("done", "cancelled") or (row.options or {}).get("restore"):
        return {"learnable": False, "estimate": None}
    if row.learn_status in _STARTED_STATUSES:  # what it takes is told before, and measures every message
        return {"learnable": True, "estimate": None}
    estimate = import_learning.estimate(row.user_id, row.import_id)
    without_model = "" if has_background_model() else NoModel.default_detail
    return {"learnable": bool(estimate.conversations), "estimate": estimate, "without_model": without_model}


@blueprint.post("/imports/<int:import_id>/cancel")
def cancel(import_id: int) -> ViewResult:
    row = service.cancel(current_user_id(), import_id)
    if not row.position:
        return commit_and_redirect(url_for(".index"), _("The file has been discarded. Nothing was imported."))
    return commit_and_redirect(
        url_for(".show_import", import_id=import_id), _("Stopped. What has been imported so far can be undone.")
    )


@blueprint.post("/imports/<int:import_id>/undo")
def undo(import_id: int) -> ViewResult:
    row = service.undo(current_user_id(), import_id)
    db.session.commit()
    if row.stage == "undone":
        flash(_(row.error) if row.error else _("Everything this import brought in has been removed."), "message")
    return redirect(url_for(".show_import", import_id=import_id), 303)


@blueprint.post("/exports")
@password_required
@limit_transfers
@_on_page
def create_export() -> ViewResult:
    content = request.form.get("what", "account")
    form = request.form.get("format") or None
    values = {"what": content, "format": form, "conversation_id": parse_id(request.form.get("conversation_id", ""))}
    export_jobs.create_export(current_user_id(), validate(NewExport, values))
    return commit_and_redirect(url_for(".index", _anchor="exports"))


@blueprint.post("/exports/chosen")
@limit_transfers
def export_chosen() -> ViewResult:
    """The chosen conversations as an immediate download."""
    ids = [number for value in request.form.getlist("id")[:MAX_CHOSEN] if (number := parse_id(value)) is not None]
    try:
        name, media_type, file = conversation_download.write_chosen(current_user_id(), ids)
    except Invalid as error:
        flash(_(error.detail), "message")
        return redirect(url_for("bulk_pages.index"), 303)
    db.session.commit()
    return send_file(file, mimetype=media_type, as_attachment=True, download_name=name, max_age=0)


@blueprint.get("/exports/<int:export_id>/download")
@writes
def download(export_id: int) -> ViewResult:
    return send_export(export_id)  # type: ignore[no-any-return]  # a Response


def _page(*, error: str = "") -> str:
    user_id = current_user_id()
    exports = export_jobs.list_exports(user_id, PageQuery(limit=PAGE_ROWS)).items
    context: dict[str, Any] = {
        "imports": service.list_imports(user_id, PageQuery(limit=PAGE_ROWS)).items,
        "exports": exports,
        "waiting": any(row.status == "waiting" for row in exports),
        "readers": READERS,
        "error": error,
    }
    if wants_partial() and request.args.get("part") == "exports":
        return render_template("transfer/_exports.html", **context)
    return render_template("transfer/index.html", **context)


FORMS = N_(
    (
        "“%(name)s” was left out: %(why)s",
        "“%(name)s” in the ZIP is broken.",
        (
            "“%(name)s” in the ZIP is packed in a way that cannot be read here. Unpack it, pack it as an "
            "ordinary ZIP and upload that."
        ),
        "“%(name)s” is longer than %(size)s MB.",
        "The file is larger than %(size)s MB.",
        "You already have %(most_files)s files. Delete some first.",
        "%(name)s, part %(number)s",
        "%(name)s, line %(number)s",
        "memory %(number)s",
        "line %(number)s",
    )
)


def as_sentence(text: str) -> str:
    """Return a kept text as the sentence it was made from; the text itself if nothing was put into it."""
    for form in FORMS:
        if (values := values_in(form, text)) is not None:
            return say(form, **{name: as_sentence(value) if name == "why" else value for name, value in values.items()})
    return say(text) if "%" not in text else text
