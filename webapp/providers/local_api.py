"""JSON endpoints of model servers on this machine, for admins."""

from dataclasses import asdict
from typing import Any

from webapp.accounts.auth import admin_only
from webapp.db.base import db
from webapp.errors import NotFound
from webapp.extensions import app_settings, limiter
from webapp.http.views import api_blueprint
from webapp.providers import downloads, local_servers
from webapp.providers.schemas import LocalServerList, LocalServerPath, PullOut, PullRequest

blueprint = api_blueprint("local_models_api", __name__, tag="Models")


@blueprint.post("/local-servers/detect", responses={200: LocalServerList})
@admin_only
@limiter.limit("60 per minute")
def detect() -> dict[str, Any]:
    """The model servers that answer on their usual ports on this machine."""
    db.session.rollback()
    servers = local_servers.discover(app_settings().local_servers)
    return {"servers": [asdict(server) for server in servers]}


@blueprint.post("/local-servers/<name>/pull", responses={202: PullOut})
@admin_only
def pull(path: LocalServerPath, body: PullRequest) -> tuple[dict[str, Any], int]:
    """Let Ollama fetch a model, or resume that. Read how far it has got at the same URL."""
    return asdict(downloads.start_pull(app_settings().local_servers, path.name, body.model)), 202


@blueprint.get("/local-servers/<name>/pull", responses={200: PullOut})
@admin_only
def show_pull(path: LocalServerPath) -> dict[str, Any]:
    """Return how far the last model that was asked for has been fetched."""
    pull = downloads.find_pull(path.name)
    if pull is None:
        raise NotFound("No model has been asked for.")
    return asdict(pull)


@blueprint.delete("/local-servers/<name>/pull", responses={204: None})
@admin_only
def cancel(path: LocalServerPath) -> tuple[str, int]:
    """Stop fetching. What has been fetched is kept for the next time."""
    downloads.cancel_pull(path.name)
    return "", 204
