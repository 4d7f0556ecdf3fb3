"""The extraction started with the button: its progress, stopping it, and its result."""

from flask import flash, redirect, render_template, url_for

from webapp.accounts.auth import current_user_id
from webapp.conversations.service import get_conversation
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.request_language import gettext as _
from webapp.memories.learning import requests
from webapp.memories.learning.later_domains import COUNTS
from webapp.memories.web.pages import fragment

blueprint = PageBlueprint("memory_extraction", __name__, access="user")


@blueprint.post("/c/<int:conversation_id>/memory/extract")
def extract(conversation_id: int) -> ViewResult:
    """Read a conversation for memories now; the response follows the progress."""
    job_id = requests.request_extraction(current_user_id(), conversation_id)
    if not wants_partial():
        flash(_("Reading the conversation. Whatever is found will appear in Memory."), "message")
        return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)
    return render_template("memories/_extraction.html", state="working", conversation_id=conversation_id, job_id=job_id)


@blueprint.get("/c/<int:conversation_id>/memory/extract/<job_id>")
def extraction_state(conversation_id: int, job_id: str) -> ViewResult:
    """The state of an extraction: working, waiting for a model, done with its numbers, or failed with nothing lost."""
    get_conversation(current_user_id(), conversation_id)
    progress = requests.progress_of(conversation_id, job_id)
    is_news = progress.state == "done" and any(progress.counts.get(name) for name in COUNTS)
    return (fragment if is_news else render_template)(
        "memories/_extraction.html",
        conversation_id=conversation_id,
        job_id=job_id,
        **vars(progress),
    )


@blueprint.post("/c/<int:conversation_id>/memory/extract/stop")
def stop_extraction(conversation_id: int) -> ViewResult:
    """Stop reading a long conversation after the current part."""
    requests.stop(current_user_id(), conversation_id)
    if wants_partial() and (run := requests.run_of(conversation_id)):
        return extraction_state(conversation_id, run.job_id)
    return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)
