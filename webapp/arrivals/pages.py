"""The row on the page of a new conversation that says what came since last time."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from flask import Blueprint, make_response, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id, login_required
from webapp.arrivals.service import arrivals_of
from webapp.http.validation import parse_id
from webapp.http.views import ViewResult, wants_partial

blueprint = Blueprint("arrivals", __name__, url_prefix="/arrivals")

COOKIE = "arrivals"
COOKIE_SECONDS = 365 * 24 * 3_600
KINDS = ("schedule", "review", "shared")


@blueprint.get("")
@login_required
def row() -> ViewResult:
    """Return the row; nothing if nothing came."""
    if not wants_partial():
        return redirect(url_for("conversations_pages.new"), 303)
    return render_template("arrivals/_row.html", arrivals=arrivals_of(current_user_id(), dismissed()))


@blueprint.post("/dismiss")
@login_required
def dismiss() -> ViewResult:
    """Say no more of what came up to now of one kind; this browser remembers it."""
    kind, newest = request.form.get("kind", ""), parse_id(request.form.get("newest", ""))
    known = dismissed()
    if kind in KINDS and newest:
        known[kind] = max(newest, known.get(kind, 0))
    if wants_partial():
        answer = make_response(render_template("arrivals/_row.html", arrivals=arrivals_of(current_user_id(), known)))
    else:
        answer = make_response(redirect(url_for("conversations_pages.new"), 303))
    value = urlencode({"user": current_user_id(), **known})
    answer.set_cookie(COOKIE, value, max_age=COOKIE_SECONDS, samesite="Lax", httponly=True)
    return answer


def dismissed() -> dict[str, int]:
    """Return what this browser's user has dismissed: by kind, the newest of then."""
    value = dict(parse_qsl(request.cookies.get(COOKIE, "")[:200]))
    if parse_id(value.get("user", "")) != current_user_id():
        return {}
    return {kind: number for kind in KINDS if (number := parse_id(value.get(kind, "")))}
