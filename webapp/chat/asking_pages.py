"""The buttons under a call for which a turn needs permission."""

from flask import redirect, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.chat.schemas import ToolDecision
from webapp.chat.tool_answers import answer, pass_on
from webapp.db.base import db
from webapp.http.forms import read_form
from webapp.http.views import PageBlueprint, ViewResult, wants_partial

blueprint = PageBlueprint("asking_pages", __name__, access="user")


@blueprint.post("/turns/<int:message_id>/tools/<int:number>")
def decide(message_id: int, number: int) -> ViewResult:
    """Allow a call, allow the tool for good, or don't."""
    decision = read_form(ToolDecision).decision
    answer(current_user_id(), message_id, number, decision)
    db.session.commit()
    pass_on(message_id, number, decision)
    if wants_partial():
        return "", 204
    return redirect(request.referrer or url_for("conversations_pages.new"), 303)
