"""rq-dashboard at /admin/rq, for admins, made to fit RQ 3, JSON arguments and this site's rules.

rq-dashboard 0.9.0 is written for RQ 2 and for trusted job data. Its blueprint and its module are singletons, so what
has to be different is set once, when this module is imported. It costs 1.6 MB of memory.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from flask import Flask, Response, current_app, request
from rq import Worker, requeue_job
from rq.job import Job
from rq.serializers import JSONSerializer
from rq_dashboard import web
from werkzeug.exceptions import MethodNotAllowed, NotFound

from webapp.jobspecs import Queue
from webapp.problems import present
from webapp.validation import parse_id

URL_PREFIX = "/admin/rq"

# Its pages are made of inline scripts, inline styles and templates compiled in the browser.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Its pages print these names into their scripts as they are.
_KNOWN = {
    "queue_name": {queue.value for queue in Queue},
    "registry_name": {"queued", "started", "finished", "failed", "deferred", "scheduled", "canceled"},
    "order": {"asc", "dsc"},
}
_ESCAPES = str.maketrans({"<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class _Job(Job):
    """A job whose arguments and notes are JSON, with the ids of its dependencies as RQ 2 gave them: bytes."""

    @classmethod
    def fetch(cls, id: str, connection: Any = None, serializer: Any = None) -> Job:  # noqa: A002
        return super().fetch(id, connection=connection, serializer=serializer or JSONSerializer)

    @property
    def dependency_ids(self) -> list[bytes]:  # type: ignore[override]
        return [job_id.encode() for job_id in super().dependency_ids]


class _Worker(Worker):
    """A worker whose current job is read as JSON."""

    @classmethod
    def all(cls, *args: Any, **wishes: Any) -> list[Any]:
        return super().all(*args, **{"serializer": JSONSerializer, **wishes})


def init_dashboard(app: Flask) -> None:
    """Mount the dashboard; it uses the application's own Redis client."""
    app.config.update(
        RQ_DASHBOARD_REDIS_URL=["Redis"],  # shown in the navigation bar; the address is nobody's business there
        RQ_DASHBOARD_POLL_INTERVAL=2_500,
    )
    app.redis_conn = app.extensions["redis"]  # type: ignore[attr-defined]
    app.register_blueprint(web.blueprint, url_prefix=URL_PREFIX)


def _guard() -> None:
    """One Redis only, and no change of state by GET."""
    given = {name: str(value) for name, value in (request.view_args or {}).items() if value is not None}
    if given.get("instance_number", "0") != "0":
        raise NotFound
    if any(given[name] not in known for name, known in _KNOWN.items() if name in given):
        raise NotFound
    if any(parse_id(given[name]) is None for name in ("per_page", "page") if name in given):
        raise NotFound
    if request.endpoint == "rq_dashboard.requeue_all" and request.method != "POST":
        raise MethodNotAllowed(valid_methods=["POST"])


def _missing_job(_error: Exception) -> Response:
    return present(404, "Not found", "This job is no longer kept.")


def _finish(response: Response) -> Response:
    """Its own policy, and data that cannot become markup: its pages insert job data into HTML unescaped."""
    response.headers["Content-Security-Policy"] = POLICY
    if response.is_json and request.path.endswith(".json"):
        response.set_data(current_app.json.dumps(_escaped(json.loads(response.get_data(as_text=True)))))
    return response


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    if isinstance(value, dict):
        return {_escaped(name): _escaped(item) for name, item in value.items()}
    return value


def _adapt() -> None:
    web.Job, web.Worker = _Job, _Worker
    web.requeue_job = partial(requeue_job, serializer=JSONSerializer)
    web.config.serializer = JSONSerializer
    blueprint = web.blueprint
    blueprint.access = "admin"  # type: ignore[attr-defined]
    # Its requests carry no CSRF token of ours; webapp/accounts/auth.py looks at where they come from instead.
    blueprint.csrf_by_origin = True  # type: ignore[attr-defined]
    # It would open another connection to Redis for every request, from an address, and swap it under other threads.
    blueprint.before_request_funcs[None].remove(web.push_rq_connection)
    blueprint.before_request(_guard)
    blueprint.after_request(_finish)
    blueprint.register_error_handler(web.NoSuchJobError, _missing_job)


_adapt()
