"""The extraction that somebody asks for with the button: its work, its stop, and what came of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from flask import Blueprint, flash, redirect, render_template, url_for
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.serializers import JSONSerializer

from webapp.accounts.auth import current_user_id, signed_in
from webapp.conversations.service import get_conversation
from webapp.extensions import redis
from webapp.languages.speaking import gettext as _
from webapp.memories.activity_pages import fragment
from webapp.memories.learning import requests
from webapp.memories.learning.results import COUNTS
from webapp.web import ViewResult, wants_partial

blueprint = Blueprint("memory_extraction", __name__)

WORKING = ("queued", "started", "scheduled", "deferred", "created")


@blueprint.post("/c/<int:conversation_id>/memory/extract")
@signed_in
def extract(conversation_id: int) -> ViewResult:
    """Read a conversation for memories now; the answer follows the work."""
    job_id = requests.request_extraction(current_user_id(), conversation_id)
    if not wants_partial():
        flash(_("Reading the conversation. What is found appears in Memory."), "message")
        return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)
    return render_template("memories/_extraction.html", state="working", conversation_id=conversation_id, job_id=job_id)


@blueprint.get("/c/<int:conversation_id>/memory/extract/<job_id>")
@signed_in
def extraction_state(conversation_id: int, job_id: str) -> ViewResult:
    """How an extraction goes: working, done with its numbers, or failed with nothing lost."""
    get_conversation(current_user_id(), conversation_id)
    shown: dict[str, Any] = {"conversation_id": conversation_id, "job_id": job_id, "state": "failed", "counts": {}}
    run = requests.run_of(conversation_id)
    job = _job(job_id)
    if job is not None and run is not None and run.job_id:
        job = _job(run.job_id)  # one job of a run reads on where another ended
    if job is not None and job.kwargs.get("conversation_id") == conversation_id:
        status = job.get_status()
        result = job.return_value() if status == "finished" else None
        went_well = isinstance(result, dict) and "failed" not in result
        if status in WORKING or (went_well and run is not None and not run.ended):
            shown |= {"state": "working", "run": run}
        elif went_well:
            shown |= {"state": "done", "counts": run.counts if run else result, "run": run}
        else:
            shown["run"] = run
    is_news = shown["state"] == "done" and any(shown["counts"].get(name) for name in COUNTS)
    return (fragment if is_news else render_template)("memories/_extraction.html", **shown)


def _job(job_id: str) -> Job | None:
    with suppress(NoSuchJobError):
        return Job.fetch(job_id, connection=redis(), serializer=JSONSerializer)
    return None


@blueprint.post("/c/<int:conversation_id>/memory/extract/stop")
@signed_in
def stop_extraction(conversation_id: int) -> ViewResult:
    """End the reading of a long conversation with the part that is at work."""
    requests.stop(current_user_id(), conversation_id)
    if wants_partial() and (run := requests.run_of(conversation_id)):
        return extraction_state(conversation_id, run.job_id)
    return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)
