"""Pages that keep conversations in order: a list with its filters in the URL, folders, and many at once."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import flash, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts.auth import current_user_id
from webapp.conversations import bulk_changes, folders, lists, service
from webapp.conversations.schemas import ConversationChanges, ConversationQuery, FolderFields
from webapp.db.base import db
from webapp.errors import DomainError, Invalid
from webapp.http.forms import first_sentence, read_form, redisplay_form, sentences, validate
from webapp.http.validation import parse_id, valid_fields
from webapp.http.views import (
    PageBlueprint,
    ViewResult,
    commit_and_redirect,
    redirect_to,
    requested_cursor,
    wants_partial,
)
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, translate
from webapp.providers.model_choice import check_choice, remember_choice
from webapp.spaces import current_space

blueprint = PageBlueprint("bulk_pages", __name__, access="user")
LABELS = N_({"name": "The name", "to_tag": "The tag"})

PAGE_LENGTH = 50


@blueprint.get("/organise")
def index() -> str:
    """Conversations by folder, tag, space, words, pin and archive; the filters are in the URL."""
    query = _query()
    page = lists.list_conversations(current_user_id(), query, pinned_first=not (query.q or query.archived))
    template = "_organise_rows.html" if wants_partial() and query.cursor else "organise.html"
    return render_template(
        f"conversations/{template}",
        conversations=page.items,
        next_cursor=page.next_cursor,
        query=query,
        filters=_filters(query),
        folders=folders.all_folders(current_user_id()),
        spaces=current_space.choices(current_user_id()).spaces,
    )


@blueprint.post("/organise")
def change_many() -> Any:
    """Apply one change to all selected conversations."""
    ids = [number for value in request.form.getlist("id")[:500] if (number := parse_id(value)) is not None]
    action = request.form.get("wish", "")
    query_filters = _filters(_query())
    if not ids:
        flash(_("Select at least one conversation."), "message")
        return redirect(url_for(".index", **query_filters), 303)
    try:
        result = bulk_changes.change_many(
            current_user_id(), ids, action, folder_id=_id("to_folder"), tag=request.form.get("to_tag", "").strip()
        )
    except Invalid as error:
        return _problem_sentence(error)
    undo = "message"
    if result.deleted_at:
        undo = url_for(".undelete_many", at=result.deleted_at.isoformat())
    elif word := bulk_changes.store_previous(current_user_id(), result.before):
        undo = url_for(".undo_many", word=word, **query_filters)
    return commit_and_redirect(url_for(".index", **query_filters), translate(result.text), undo)


@blueprint.post("/organise/undelete")
def undelete_many() -> Any:
    """Restore what was deleted together, identified by its time."""
    try:
        deleted_at = datetime.fromisoformat(request.args.get("at", "")).replace(tzinfo=UTC)
    except ValueError:
        raise Invalid.field("at", "is not a date and time") from None
    flash(translate(bulk_changes.undelete_many(current_user_id(), deleted_at)), "message")
    db.session.commit()
    return redirect_to(url_for(".index"))


@blueprint.post("/organise/undo/<word>")
def undo_many(word: str) -> Any:
    """Undo what was done to many conversations at once."""
    sentence = bulk_changes.restore_previous(current_user_id(), word)
    db.session.commit()
    flash(translate(sentence), "message")
    return redirect_to(url_for(".index", **_filters(_query())))


@blueprint.post("/c/<int:conversation_id>/pin")
def pin(conversation_id: int) -> Any:
    pinned = request.form.get("pinned") == "1"
    service.update_conversation(current_user_id(), conversation_id, ConversationChanges(is_pinned=pinned))
    return commit_and_redirect(
        url_for("conversations_pages.show", conversation_id=conversation_id),
        _("Pinned to the top of the list.") if pinned else _("Unpinned."),
    )


@blueprint.post("/c/<int:conversation_id>/model")
def choose_model(conversation_id: int) -> ViewResult:
    model = request.form.get("model", "").strip()[:220] or None
    check_choice(model)
    service.update_conversation(current_user_id(), conversation_id, ConversationChanges(model=model))
    remember_choice(model)
    db.session.commit()
    if wants_partial():
        return "", 204
    return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)


@blueprint.get("/c/<int:conversation_id>/organise")
def organise_form(conversation_id: int, errors: Mapping[str, str] | None = None) -> str:
    """Show the folder and the tags of a conversation: what is stored or, with errors, what was posted."""
    conversation = service.get_conversation(current_user_id(), conversation_id)
    return render_template(
        "conversations/organise_one.html",
        conversation=conversation,
        folder_id=_id("folder") if errors else conversation.folder_id,
        tags=_tags() if errors else conversation.tags,
        folders=folders.all_folders(current_user_id()),
        error=first_sentence((errors or {}).values()),
    )


@blueprint.post("/c/<int:conversation_id>/organise")
@redisplay_form(lambda errors, conversation_id: organise_form(conversation_id, errors), LABELS)
def change_one(conversation_id: int) -> Any:
    """Change the folder, to a new one if it is given a name, and the tags."""
    try:
        changes = ConversationChanges(folder_id=_id("folder"), tags=_tags())
    except ValidationError:
        raise Invalid("Tags are words or short phrases: at most 20 of them, each with at most 50 characters.") from None
    if name := request.form.get("new_folder", "").strip():
        changes.folder_id = folders.create_folder(current_user_id(), validate(FolderFields, {"name": name})).folder_id
    service.update_conversation(current_user_id(), conversation_id, changes)
    return commit_and_redirect(url_for("conversations_pages.show", conversation_id=conversation_id))


@blueprint.post("/folders")
def create_folder() -> Any:
    try:
        row = folders.create_folder(current_user_id(), read_form(FolderFields))
    except DomainError as error:
        return _problem_sentence(error)
    return commit_and_redirect(url_for(".index", folder_id=row.folder_id))


@blueprint.post("/folders/<int:folder_id>/rename")
def rename_folder(folder_id: int) -> Any:
    try:
        folders.rename_folder(current_user_id(), folder_id, read_form(FolderFields))
    except Invalid as error:
        return _problem_sentence(error)
    return commit_and_redirect(url_for(".index", folder_id=folder_id))


@blueprint.post("/folders/<int:folder_id>/delete")
def delete_folder(folder_id: int) -> Any:
    """Delete a folder; its conversations stay."""
    folders.delete_folder(current_user_id(), folder_id)
    return commit_and_redirect(url_for(".index"), _("Folder deleted. Its conversations are still in your list."))


def _problem_sentence(error: DomainError) -> Any:
    flash(first_sentence(sentences(error, LABELS).values()))
    return redirect(url_for(".index", **_filters(_query())), 303)


def _query() -> ConversationQuery:
    """Return the filters in the URL; nonsensical ones are left out."""
    values = {name: value for name, value in request.args.items() if value.strip()}
    return valid_fields(ConversationQuery, {**values, "cursor": requested_cursor(), "limit": PAGE_LENGTH})


def _filters(query: ConversationQuery) -> dict[str, Any]:
    """Return a query as it appears in the URL of the list."""
    return query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"cursor", "limit"})


def _tags() -> list[str]:
    return [tag for part in request.form.get("tags", "").split(",") if (tag := part.strip())]


def _id(name: str) -> int | None:
    return parse_id(request.form.get(name))
