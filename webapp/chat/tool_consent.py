"""The person's answer to a running turn that asks to make a call."""

from webapp.chat.service import reply_of
from webapp.chat.turns import turnlog
from webapp.chat.turns.consent import ASK_SECONDS, Decision
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.extensions import redis
from webapp.tools import servers


def answer(user_id: int, turn_id: int, number: int, decision: Decision) -> None:
    """Record whether a call may be made; `always` is remembered. Raises NotFound; Conflict if it is no longer asked.

    The turn's stream decides which call was asked about, not what a page showed. The caller commits, and then calls
    `pass_on`.
    """
    reply = reply_of(user_id, turn_id)
    question = None
    if reply.status == "streaming":
        db.session.rollback()
        for item in turnlog.read(redis(), turn_id):
            if item.kind in ("tool_start", "tool") and item.data.get("number") == number:
                question = item.data if item.data.get("asks") else None
    tool = (int(question["server_id"]), str(question["title"])) if question else None
    # A tool that was removed or switched off since is not called any more.
    if tool is None or (decision != "never" and not servers.is_offered(user_id, *tool)):
        raise Conflict("This is no longer being asked.")
    if decision == "always":
        servers.grant(user_id, *tool)


def pass_on(turn_id: int, number: int, decision: Decision) -> None:
    redis().set(turnlog.consent_key(turn_id, number), decision.encode(), ex=int(ASK_SECONDS))
