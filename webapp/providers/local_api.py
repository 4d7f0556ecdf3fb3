"""JSON endpoints of model servers on this machine, for admins."""

from webapp.db.base import db
from webapp.errors import NotFound
from webapp.extensions import app_settings, limiter
from webapp.http.json_api import api_blueprint
from webapp.providers import downloads, local_servers
from webapp.providers.schemas import LocalServer, LocalServerList, LocalServerPath, PullOut, PullRequest

blueprint = api_blueprint("local_models_api", __name__, tag="Models", access="admin")


@blueprint.post("/local-servers/detect")
@limiter.limit("60 per minute")
def detect() -> LocalServerList:
    """The model servers that answer on their usual ports on this machine."""
    db.session.rollback()
    servers = local_servers.discover(app_settings().local_servers)
    return LocalServerList(servers=[LocalServer.from_row(server) for server in servers])


@blueprint.post("/local-servers/<name>/pull", status=202)
def pull(path: LocalServerPath, body: PullRequest) -> PullOut:
    """Let Ollama fetch a model, or resume that. Read how far it has got at the same URL."""
    return PullOut.from_row(downloads.start_pull(app_settings().local_servers, path.name, body.model))


@blueprint.get("/local-servers/<name>/pull")
def show_pull(path: LocalServerPath) -> PullOut:
    """Return how far the last model that was asked for has been fetched."""
    pull = downloads.find_pull(path.name)
    if pull is None:
        raise NotFound("No model has been asked for.")
    return PullOut.from_row(pull)


@blueprint.delete("/local-servers/<name>/pull")
def cancel(path: LocalServerPath) -> None:
    """Stop fetching. What has been fetched is kept for the next time."""
    downloads.cancel_pull(path.name)
