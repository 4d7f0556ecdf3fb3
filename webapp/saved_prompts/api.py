"""JSON endpoints of the prompt library. `/api/prompts` are the texts that the product itself sends to models."""

from datetime import datetime
from typing import Any

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required
from webapp.db.base import db
from webapp.http.answers import commit_empty
from webapp.http.views import ViewResult, api_blueprint
from webapp.rendering import reader_zone
from webapp.saved_prompts import service
from webapp.saved_prompts.schemas import (
    FilledPrompt,
    NewSavedPrompt,
    PromptExport,
    PromptsImported,
    PromptsToImport,
    RefusedPrompt,
    SavedPromptChanges,
    SavedPromptList,
    SavedPromptOut,
    SavedPromptPath,
    SavedPromptQuery,
    Values,
)
from webapp.saved_prompts.service import PromptForReader

blueprint = api_blueprint("library_api", __name__, tag="Prompt library")


@blueprint.get("/saved_prompts", responses={200: SavedPromptList})
@login_required
def list_saved_prompts(query: SavedPromptQuery) -> dict[str, Any]:
    """Your prompts and those shared in your spaces, by name."""
    page = service.list_prompts(current_user_id(), query)
    return {"prompts": [_out(prompt) for prompt in page.items], "next_cursor": page.next_cursor}


@blueprint.post("/saved_prompts", responses={201: SavedPromptOut})
@login_required
@idempotency.idempotent
def create_saved_prompt(body: NewSavedPrompt) -> tuple[Any, int]:
    """Save a prompt, for yourself or for the members of a space."""
    return idempotency.commit(_out(service.create_prompt(current_user_id(), body)), 201), 201


@blueprint.get("/saved_prompts/export", responses={200: PromptExport})
@login_required
def export_saved_prompts() -> dict[str, Any]:
    """All prompts that you made, as a file that can be imported again."""
    return service.export_prompts(current_user_id())


@blueprint.post("/saved_prompts/import", responses={200: PromptsImported})
@login_required
def import_saved_prompts(body: PromptsToImport) -> dict[str, Any]:
    """Take in prompts that were exported here or from Open WebUI; those that are there already are skipped."""
    imported, skipped, rejected = service.import_prompts(current_user_id(), body.prompts, space_id=body.space_id)
    db.session.commit()
    parts = [RefusedPrompt.from_row(part) for part in rejected]
    return PromptsImported(imported=imported, skipped=skipped, refused=parts).model_dump(mode="json")


@blueprint.get("/saved_prompts/<int:saved_prompt_id>", responses={200: SavedPromptOut})
@login_required
def get_saved_prompt(path: SavedPromptPath) -> dict[str, Any]:
    """One prompt, with the variables that it asks for."""
    return _out(service.get_prompt(current_user_id(), path.saved_prompt_id))


@blueprint.patch("/saved_prompts/<int:saved_prompt_id>", responses={200: SavedPromptOut})
@login_required
def update_saved_prompt(path: SavedPromptPath, body: SavedPromptChanges) -> dict[str, Any]:
    """Change a prompt of yours, or one in a space that you own."""
    answer = _out(service.update_prompt(current_user_id(), path.saved_prompt_id, body))
    db.session.commit()
    return answer


@blueprint.delete("/saved_prompts/<int:saved_prompt_id>", responses={204: None})
@login_required
def delete_saved_prompt(path: SavedPromptPath) -> ViewResult:
    """Delete a prompt of yours, or one in a space that you own."""
    service.delete_prompt(current_user_id(), path.saved_prompt_id)
    return commit_empty()


@blueprint.post("/saved_prompts/<int:saved_prompt_id>/duplicate", responses={201: SavedPromptOut})
@login_required
@idempotency.idempotent
def duplicate_saved_prompt(path: SavedPromptPath) -> tuple[Any, int]:
    """Copy a prompt for yourself."""
    return idempotency.commit(_out(service.duplicate_prompt(current_user_id(), path.saved_prompt_id)), 201), 201


@blueprint.post("/saved_prompts/<int:saved_prompt_id>/fill", responses={200: FilledPrompt})
@login_required
def fill_saved_prompt(path: SavedPromptPath, body: Values) -> dict[str, Any]:
    """The text of a prompt with its variables filled."""
    moment = datetime.now(reader_zone())
    return {"text": service.fill_prompt(current_user_id(), path.saved_prompt_id, body.values, moment)}


def _out(prompt: PromptForReader) -> dict[str, Any]:
    return SavedPromptOut.of(prompt.prompt, user_id=current_user_id(), can_edit=prompt.can_edit).model_dump(mode="json")
