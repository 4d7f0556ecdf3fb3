"""Is it up, is it ready, how is it doing: /healthz, /readyz, /metrics."""

from contextlib import suppress

from flask import Response, current_app, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import REGISTRY
from redis.exceptions import RedisError
from rq import Worker
from rq.registry import FailedJobRegistry
from sqlalchemy.pool import QueuePool

from webapp.accounts.auth import current_identity, public
from webapp.accounts.site import is_from_loopback
from webapp.admin.doctor import proxy
from webapp.background.job_specs import Queue, rq_queue
from webapp.chat import sse
from webapp.chat.turns.runtime import runtime
from webapp.db.base import db
from webapp.errors import Forbidden, NotFound
from webapp.extensions import redis
from webapp.http.views import PageBlueprint, ViewResult
from webapp.readiness import readiness
from webapp.telemetry.metrics import GatheredMetrics, shared_metrics

blueprint = PageBlueprint("service", __name__)


@blueprint.get("/healthz")
@public
def healthz() -> ViewResult:
    """The process answers."""
    return {"status": "ok"}


@blueprint.get("/readyz")
@public
def readyz() -> ViewResult:
    """Every dependency answers and the schema is current; 503 names what is not."""
    parts = readiness()
    ready = all(state == "ok" for state in parts.values())
    response = Response(
        current_app.json.dumps({"status": "ready" if ready else "not ready", **parts}),
        200 if ready else 503,
        mimetype="application/json",
    )
    if not ready:
        response.headers["Retry-After"] = "5"
    return response


@blueprint.get("/healthz/stream")
@public
def stream() -> ViewResult:
    """A short stream, once, for `flask doctor`, which has just left its key in Redis."""
    if not proxy.use(redis(), request.args.get("key", "")):
        raise NotFound("There is nothing at this address.")
    seen = {"scheme": request.scheme, "host": request.host, "forwarded": "X-Forwarded-For" in request.headers}
    return sse.response(proxy.pieces(seen))


@blueprint.get("/metrics")
@public
def metrics() -> ViewResult:
    """Prometheus metrics, for loopback and for service tokens."""
    identity = current_identity()
    if not (identity and (identity.is_service or identity.is_admin)) and not is_from_loopback():
        raise Forbidden("Metrics are only for loopback and service tokens.")
    registry = CollectorRegistry()
    chat = runtime()
    Gauge("commonplace_turns_running", "Turns this process runs", registry=registry).set(chat.runner.active)
    Gauge("commonplace_viewers", "Streams this process serves", registry=registry).set(chat.hub.viewers)
    queued = Gauge("commonplace_jobs_queued", "Jobs waiting", ["queue"], registry=registry)
    failed = Gauge("commonplace_jobs_failed", "Jobs that failed for good", ["queue"], registry=registry)
    open_connections = Gauge("commonplace_database_connections", "Connections this process uses now", registry=registry)
    if isinstance(pool := db.engine.pool, QueuePool):
        open_connections.set(pool.checkedout())
    workers = Gauge("commonplace_workers", "Workers that are registered", registry=registry)
    with suppress(RedisError):  # the process's own numbers are still worth having
        for name in Queue:
            queue = rq_queue(redis(), name)
            queued.labels(name.value).set(queue.count)
            failed.labels(name.value).set(FailedJobRegistry(queue=queue).get_job_count(cleanup=False))
        workers.set(len(Worker.all_keys(connection=redis())))
    registry.register(GatheredMetrics(shared_metrics(redis())))
    return Response(generate_latest(registry) + generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)
