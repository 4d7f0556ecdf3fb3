"""The RQ dashboard at /admin/rq: our own pages over RQ's API, under the site's policy and rules."""

from collections.abc import Callable

from flask import flash, redirect, render_template, request, url_for
from redis import Redis

from webapp.admin import jobs
from webapp.background.job_specs import Queue
from webapp.errors import NotFound
from webapp.extensions import redis
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, ngettext

blueprint = PageBlueprint("admin_jobs", __name__, url_prefix="/admin/rq", access="admin")

MAX_PAGE = 10_000
DONE: dict[str, tuple[Callable[[Redis, str], None], str]] = N_(
    {
        "requeue": (jobs.requeue, "The job is back in its queue."),
        "run": (jobs.run_now, "The job is now in its queue."),
        "cancel": (jobs.cancel, "The job has been cancelled."),
        "delete": (jobs.delete, "The job has been deleted."),
    }
)
LABELS = N_({"requeue": "Retry", "run": "Run now", "cancel": "Cancel", "delete": "Delete"})
STATE_WORDS = N_(
    {
        "queued": "waiting",
        "started": "running",
        "failed": "failed",
        "scheduled": "for later",
        "deferred": "held back",
        "finished": "finished",
        "canceled": "cancelled",
    }
)
WORKER_STATES = N_({"started": "starting", "idle": "free", "busy": "at work", "suspended": "paused"})


@blueprint.get("")
@blueprint.get("/")
def overview() -> ViewResult:
    """Queues, workers and the schedule; for HTMX only the part that refreshes itself."""
    template = "admin/jobs/_state.html" if wants_partial() else "admin/jobs/overview.html"
    return render_template(
        template,
        queues=jobs.queues(redis()),
        workers=jobs.workers(redis()),
        schedule=jobs.schedule(),
        states=STATE_WORDS,
        worker_states=WORKER_STATES,
    )


@blueprint.get("/queues/<queue>/<state>")
def list_jobs(queue: str, state: str) -> ViewResult:
    page = max(1, min(request.args.get("page", 1, type=int), MAX_PAGE))
    lines, has_more = jobs.jobs(redis(), _queue(queue), _state(state), page)
    context = {"queue": queue, "state": state, "jobs": lines, "page": page, "has_more": has_more, "states": STATE_WORDS}
    return render_template("admin/jobs/list.html", name_of=jobs.name_of, **context)


@blueprint.post("/queues/<queue>/failed/requeue")
def requeue_all(queue: str) -> ViewResult:
    """Put failed jobs of a queue back, a few hundred at a time."""
    count = jobs.requeue_all(redis(), _queue(queue))
    flash(ngettext("%(num)s job queued again.", "%(num)s jobs queued again.", count))
    return redirect(url_for(".list_jobs", queue=queue, state="failed"), 303)


@blueprint.post("/queues/<queue>/<state>/delete")
def delete_all(queue: str, state: str) -> ViewResult:
    """Delete jobs of a queue in one state, a few hundred at a time."""
    count = jobs.delete_all(redis(), _queue(queue), _state(state))
    flash(ngettext("%(num)s job deleted.", "%(num)s jobs deleted.", count))
    return redirect(url_for(".list_jobs", queue=queue, state=state), 303)


@blueprint.get("/jobs/<job_id>")
def job(job_id: str) -> ViewResult:
    """One job with its ids, its times and, if it failed, its traceback."""
    job = jobs.get_job(redis(), job_id)
    return render_template(
        "admin/jobs/job.html",
        job=job,
        name=jobs.name_of(job),
        status=jobs.status_of(job),
        actions=jobs.actions_of(job),
        result=job.latest_result(),
        labels=LABELS,
        states=STATE_WORDS,
    )


@blueprint.post("/jobs/<job_id>/<action>")
def act(job_id: str, action: str) -> ViewResult:
    """Put back, run, cancel or delete a job."""
    if action not in DONE:
        raise NotFound("There is no such action.")
    do, sentence = DONE[action]
    job = jobs.get_job(redis(), job_id)
    queue, state = job.origin, jobs.status_of(job)
    do(redis(), job_id)
    flash(_(sentence))
    if action != "delete":
        return redirect(url_for(".job", job_id=job_id), 303)
    is_listed = queue in {name.value for name in Queue} and state in jobs.STATES
    return redirect(url_for(".list_jobs", queue=queue, state=state) if is_listed else url_for(".overview"), 303)


@blueprint.post("/schedule/<name>")
def start(name: str) -> ViewResult:
    flash(_("It is in its queue.") if jobs.start(redis(), name) else _("It is already waiting."))
    return redirect(url_for(".overview"), 303)


def _queue(name: str) -> Queue:
    try:
        return Queue(name)
    except ValueError:
        raise NotFound("There is no such queue.") from None


def _state(name: str) -> str:
    if name not in jobs.STATES:
        raise NotFound("There is no such list of jobs.")
    return name
