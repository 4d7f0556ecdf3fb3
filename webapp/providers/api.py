"""JSON endpoints of connections and of servers on this machine, for admins, and of the models users may choose."""

from webapp.accounts import idempotency
from webapp.accounts.auth import login_required
from webapp.accounts.identity import is_admin
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.extensions import app_settings, limiter
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery
from webapp.http.views import commit
from webapp.i18n.marks import say
from webapp.llm.settings import ModelSettings
from webapp.providers import connection_check, connection_setup, downloads, grades, model_choice, service
from webapp.providers.models import ModelConnection
from webapp.providers.repository import server_settings, settings_at
from webapp.providers.schemas import (
    ConnectionChanges,
    ConnectionList,
    ConnectionOut,
    ExamQueued,
    LocalServerList,
    LocalServerName,
    MemoryGradeOut,
    ModelId,
    ModelList,
    ModelOut,
    NewConnection,
    Price,
    PullOut,
    PullRequest,
)

blueprint = api_blueprint("models_api", __name__, tag="Models", access="admin")


@blueprint.get("/models")
@login_required
def list_models() -> ModelList:
    """The models you can choose."""
    tests = {row.connection_id: row.test_result for row in db.session.scalars(db.select(ModelConnection))}
    offers = model_choice.choices()
    grade_by_key = grades.grades_of([offer.target for offer in offers]) if is_admin() else {}
    models = [
        ModelOut(
            id=offer.target.id,
            name=offer.label,
            icon=offer.icon,
            connection_id=offer.connection_id,
            context_window=offer.target.context_window,
            capabilities=connection_check.capabilities_of(tests.get(offer.connection_id or 0), offer.target.model),
            price=None
            if offer.input_price is None and offer.output_price is None
            else Price(input=offer.input_price, output=offer.output_price),
            is_default=offer.is_default,
            memory_grade=MemoryGradeOut.of(grade_by_key.get(offer.target.id)),
        )
        for offer in offers
    ]
    return ModelList(models=models)


@blueprint.post("/models/<path:model_id>/exam", status=202)
@idempotency.idempotent
def examine_model(model_id: ModelId) -> ExamQueued:
    """Examine how well a model writes memories, in a few minutes; the grade is then among the models."""
    return ExamQueued(job_id=grades.request_exam(model_id))


@blueprint.get("/connections")
def list_connections(query: PageQuery) -> ConnectionList:
    """The connections to model servers."""
    return ConnectionList.of(service.list_connections(query).map(_out))


@blueprint.post("/connections", status=201)
@idempotency.idempotent
def create_connection(body: NewConnection) -> ConnectionOut:
    """Connect a model server. Its key is write-only. Without `models` it is tested first, and offers what it lists."""
    db.session.rollback()  # nothing is held while the server answers
    _check_roles(connection_setup.settings_of(body), body)
    return _out(connection_setup.connect_listed(body) if body.models is None else service.create_connection(body))


@blueprint.get("/connections/<int:connection_id>")
def get_connection(connection_id: Id) -> ConnectionOut:
    """One connection."""
    return _out(service.get_connection(connection_id))


@blueprint.patch("/connections/<int:connection_id>")
def update_connection(connection_id: Id, body: ConnectionChanges) -> ConnectionOut:
    """Change a connection or the models it offers."""
    return _out(change_connection(connection_id, body))


def change_connection(connection_id: int, changes: ConnectionChanges) -> ModelConnection:
    """Change a connection; a model that is to take a role is tested first. Raises NotFound, Invalid."""
    if changes.embedding_model or changes.background_model:
        row = service.get_connection(connection_id)
        settings = settings_at(changes.base_url or row.base_url, service.secrets_after(row, changes))
        db.session.rollback()
        _check_roles(settings, changes)
    return service.update_connection(connection_id, changes)


def _check_roles(settings: ModelSettings, fields: NewConnection | ConnectionChanges) -> None:
    """Raise Invalid for a model that cannot do what it was chosen for."""
    if (model := fields.embedding_model) and (
        problem := connection_check.embedding_problem(settings.with_embeddings(model))
    ):
        raise Invalid.field(
            "embedding_model", say("cannot be used for search by meaning: %(trouble)s", trouble=problem)
        )
    if (model := fields.background_model) and (problem := connection_check.background_problem(settings, model)):
        raise Invalid.field("background_model", say("cannot do this: %(trouble)s", trouble=problem))


@blueprint.delete("/connections/<int:connection_id>")
def delete_connection(connection_id: Id) -> None:
    """Delete a connection with its models."""
    service.delete_connection(connection_id)


@blueprint.post("/connections/<int:connection_id>/test")
@limiter.limit("30 per minute")
def try_connection(connection_id: Id) -> ConnectionOut:
    """Test what works on a connection, and why something does not."""
    return _out(run_test(connection_id))


def run_test(connection_id: int) -> ModelConnection:
    """Test a connection by the model that answers, with nothing held meanwhile, and store the result."""
    row = service.get_connection(connection_id)
    settings = server_settings(row)
    offers = sorted(service.offers_of(connection_id), key=lambda offer: not offer.is_default)
    model, vectors_by = offers[0].model if offers else None, row.embedding_model
    db.session.rollback()
    result = connection_check.probe(settings, model, vectors_by)
    return commit(service.note_test(connection_id, result, settings.base_url))


def _out(row: ModelConnection) -> ConnectionOut:
    return ConnectionOut.of(row, service.offers_of(row.connection_id), service.groups_of_offers(row.connection_id))


@blueprint.post("/local-servers/detect")
@limiter.limit("60 per minute")
def detect() -> LocalServerList:
    """The model servers that answer on their usual ports on this machine."""
    db.session.rollback()
    return LocalServerList(servers=connection_setup.discover(app_settings().local_servers))


@blueprint.post("/local-servers/<name>/pull", status=202)
def pull(name: LocalServerName, body: PullRequest) -> PullOut:
    """Let Ollama fetch a model, or resume that. Read how far it has got at the same URL."""
    return downloads.start_pull(app_settings().local_servers, name, body.model)


@blueprint.get("/local-servers/<name>/pull")
def show_pull(name: LocalServerName) -> PullOut:
    """Return how far the last model that was asked for has been fetched."""
    return downloads.get_pull(name)


@blueprint.delete("/local-servers/<name>/pull")
def cancel(name: LocalServerName) -> None:
    """Stop fetching. What has been fetched is kept for the next time."""
    downloads.cancel_pull(name)
