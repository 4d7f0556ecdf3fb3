"""The pages on which people delete their account, change their mind, and see that nothing is left."""

from flask import make_response, redirect, render_template, request, url_for
from flask_babel import gettext

from webapp.accounts import auth, deletion, service
from webapp.accounts.auth import current_user_id, public
from webapp.accounts.password_check_pages import PASSWORD_LABELS, returning_owner
from webapp.db.base import db, now
from webapp.extensions import app_settings
from webapp.http.forms import redisplay_form
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.transfer.account_erasure import list_account_contents

blueprint = PageBlueprint("account_deletion_pages", __name__, access="user")


def _form(errors: dict[str, str] | None = None) -> str:
    user_id = current_user_id()
    return render_template(
        "transfer/delete.html",
        errors=errors or {},
        days=app_settings().account_grace_days,
        email=service.get_user(user_id).email,
        goes=list_account_contents(user_id),
    )


@blueprint.get("/settings/delete")
def ask() -> ViewResult:
    """Return what goes when the account is deleted, what stays, and a field for the password."""
    return _form()


@blueprint.post("/settings/delete")
@redisplay_form(_form, PASSWORD_LABELS)
def delete_account() -> ViewResult:
    """Close the account; it is deleted after the waiting time."""
    user_id = current_user_id()
    auth.count_attempt("password", str(user_id))
    secret = deletion.close(user_id, request.form.get("password", "")[:1_000])
    db.session.commit()
    auth.end_session()
    return redirect(url_for(".report", secret=secret), 303)


@blueprint.get("/deleted/<secret>")
@public
def report(secret: str) -> ViewResult:
    """Return when an account will be deleted, or that it has been, and that nothing is left of it."""
    row = deletion.find_by_secret(secret[:100])
    answer = make_response(render_template("transfer/deleted.html", row=row, now=now()))
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


@blueprint.get("/account/keep")
@public
def way_back() -> ViewResult:
    """Offer to keep the account, for somebody who signs in to one that is due to be deleted."""
    user = returning_owner()
    row = deletion.pending_deletion(user.user_id) if user else None
    if user is None or row is None:
        return redirect(url_for("accounts_pages.login"), 303)
    return render_template("transfer/keep.html", row=row)


@blueprint.post("/account/keep")
@public
def keep() -> ViewResult:
    """Keep the account, and sign its owner in, who has proved who they are as for signing in."""
    user = returning_owner()
    if user is None:
        return redirect(url_for("accounts_pages.login"), 303)
    deletion.cancel(user.user_id)
    auth.start_session(user)
    return commit_and_redirect(url_for("conversations_pages.new"), gettext("Your account stays as it was."))
