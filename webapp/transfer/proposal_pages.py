"""The proposals of one import: looking through them, and keeping or dropping them as a whole."""

import time

from flask import flash, redirect, url_for

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n.request_language import ngettext
from webapp.memories.models import Memory
from webapp.memories.web.decision_pages import decided_text, requested_decision, show_queue
from webapp.transfer import proposals, service

blueprint = PageBlueprint("proposal_pages", __name__, access="user")

SECONDS = 8.0
"""How long a request works on a large group; then the person is told how many are left."""


@blueprint.get("/imports/<int:import_id>/proposals")
def show(import_id: int) -> ViewResult:
    """The memories from one import that are waiting for review."""
    group = proposals.group_of(service.get_import(current_user_id(), import_id))
    return show_queue(group.place, group.count, Memory.memory_id.in_(group.statement), part=group.place, group=group)


@blueprint.post("/imports/<int:import_id>/proposals")
def decide(import_id: int) -> ViewResult:
    """Keep or drop all of them, in batches; those that cannot be kept without replacing another memory are left."""
    user_id, decision = current_user_id(), requested_decision()
    end, done, left, last_id = time.monotonic() + SECONDS, 0, 0, 0
    while True:
        step = proposals.decide_batch(user_id, import_id, decision, after=last_id)
        db.session.commit()
        done, left = done + step.done, left + step.left
        if not step.last_id or time.monotonic() > end:
            break
        last_id = step.last_id
    group = proposals.group_of(service.get_import(user_id, import_id))
    sentence = decided_text(decision, done, left)
    if group.count > left:
        sentence += " " + ngettext("%(num)s is still waiting.", "%(num)s are still waiting.", group.count - left)
    flash(sentence, "message")
    return redirect(group.place if group.count else url_for("memory_activity.review"), 303)
