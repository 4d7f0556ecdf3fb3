"""JSON endpoints of the prompt library. `/api/prompts` are the texts that the product itself sends to models."""

from datetime import datetime

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id
from webapp.rendering import reader_zone
from webapp.saved_prompts import service
from webapp.saved_prompts.models import SavedPrompt
from webapp.saved_prompts.schemas import (
    FilledPrompt,
    NewSavedPrompt,
    PromptExport,
    PromptsImported,
    PromptsToImport,
    SavedPromptChanges,
    SavedPromptList,
    SavedPromptOut,
    SavedPromptQuery,
    Values,
)

blueprint = api_blueprint("library_api", __name__, tag="Prompt library", access="user")


@blueprint.get("/saved_prompts")
def list_saved_prompts(query: SavedPromptQuery) -> SavedPromptList:
    """Your prompts and those shared in your spaces, by name."""
    return SavedPromptList.of(service.list_prompts(current_user_id(), query).map(_out))


@blueprint.post("/saved_prompts", status=201)
@idempotency.idempotent
def create_saved_prompt(body: NewSavedPrompt) -> SavedPromptOut:
    """Save a prompt, for yourself or for the members of a space."""
    return _out(service.create_prompt(current_user_id(), body))


@blueprint.get("/saved_prompts/export")
def export_saved_prompts() -> PromptExport:
    """All prompts that you made, as a file that can be imported again."""
    return service.export_prompts(current_user_id())


@blueprint.post("/saved_prompts/import")
@idempotency.idempotent
def import_saved_prompts(body: PromptsToImport) -> PromptsImported:
    """Take in prompts that were exported here or from Open WebUI; those that are there already are skipped."""
    imported, skipped, refused = service.import_prompts(current_user_id(), body.prompts, space_id=body.space_id)
    return PromptsImported(imported=imported, skipped=skipped, refused=refused)


@blueprint.get("/saved_prompts/<int:saved_prompt_id>")
def get_saved_prompt(saved_prompt_id: Id) -> SavedPromptOut:
    """One prompt, with the variables that it asks for."""
    return _out(service.get_prompt(current_user_id(), saved_prompt_id))


@blueprint.patch("/saved_prompts/<int:saved_prompt_id>")
def update_saved_prompt(saved_prompt_id: Id, body: SavedPromptChanges) -> SavedPromptOut:
    """Change a prompt of yours, or one in a space that you own."""
    return _out(service.update_prompt(current_user_id(), saved_prompt_id, body))


@blueprint.delete("/saved_prompts/<int:saved_prompt_id>")
def delete_saved_prompt(saved_prompt_id: Id) -> None:
    """Delete a prompt of yours, or one in a space that you own."""
    service.delete_prompt(current_user_id(), saved_prompt_id)


@blueprint.post("/saved_prompts/<int:saved_prompt_id>/duplicate", status=201)
@idempotency.idempotent
def duplicate_saved_prompt(saved_prompt_id: Id) -> SavedPromptOut:
    """Copy a prompt for yourself."""
    return _out(service.duplicate_prompt(current_user_id(), saved_prompt_id))


@blueprint.post("/saved_prompts/<int:saved_prompt_id>/fill")
def fill_saved_prompt(saved_prompt_id: Id, body: Values) -> FilledPrompt:
    """The text of a prompt with its variables filled."""
    moment = datetime.now(reader_zone())
    return FilledPrompt(text=service.fill_prompt(current_user_id(), saved_prompt_id, body.values, moment))


def _out(row: SavedPrompt) -> SavedPromptOut:
    return SavedPromptOut.of(row, current_user_id())
