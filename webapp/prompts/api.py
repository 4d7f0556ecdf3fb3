"""JSON endpoints of prompts and their versions."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required
from webapp.http.json_api import api_blueprint
from webapp.http.paging import Keyset
from webapp.http.validation import Id, PageQuery
from webapp.prompts import service
from webapp.prompts.catalogue import CATALOGUE, NAMES
from webapp.prompts.schemas import (
    ActivateQuery,
    NewPromptVersion,
    PromptList,
    PromptName,
    PromptOut,
    PromptVersionOut,
    PromptWithVersions,
)

blueprint = api_blueprint("prompts_api", __name__, tag="Prompts", access="admin")

# Known names only, so that /prompts/render is not taken for a prompt.
NAMED = f"/prompts/<any({', '.join(NAMES)}):name>"


@blueprint.get("/prompts")
@login_required(services=True)
def list_prompts(query: PageQuery) -> PromptList:
    """Every prompt that the product sends to a model."""
    names = list(CATALOGUE)
    page = Keyset("prompts", query, int).page_of(service.list_prompts(), lambda prompt: (names.index(prompt.name),))
    return PromptList.of(page.map(PromptOut.of))


@blueprint.get(NAMED)
@login_required(services=True)
def get_prompt(name: PromptName) -> PromptWithVersions:
    """A prompt with the text in use and all its versions."""
    return PromptWithVersions.of_versions(service.get_prompt(name), service.versions(name))


@blueprint.post(f"{NAMED}/versions", status=201)
@idempotency.idempotent
def add_prompt_version(name: PromptName, query: ActivateQuery, body: NewPromptVersion) -> PromptVersionOut:
    """Add a version of a prompt. With `set_active` it is in use from the next turn on, in every process."""
    row = service.add_version(current_user_id(), name, body.prompt_text, set_active=query.set_active, note=body.note)
    return PromptVersionOut.of(row, service.get_prompt(name).active_version)


@blueprint.post(f"{NAMED}/versions/<int:version>/activate")
def activate_prompt_version(name: PromptName, version: Id) -> PromptOut:
    """Put a version into use, a newer or an older one."""
    return PromptOut.of(service.activate(current_user_id(), name, version))
