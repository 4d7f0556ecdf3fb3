"""The pages on which a person authorises programs, sees what they did, and disconnects them."""

from typing import Any

from flask import Response, make_response, render_template, request, url_for
from sqlalchemy import select

from webapp.accounts.auth import current_user_id, password_required, writes
from webapp.accounts.scopes import SCOPE_LABELS
from webapp.audit.actions import Action, words
from webapp.audit.models import AuditEvent
from webapp.db.base import db
from webapp.errors import Invalid, NotFound
from webapp.extensions import limiter
from webapp.http.forms import sentences
from webapp.http.security_headers import POLICY
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, absolute_url, commit, commit_and_redirect
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, translate_stored
from webapp.oauth import clients, registry, service
from webapp.oauth.api import server
from webapp.spaces.schemas import SpaceQuery
from webapp.spaces.service import list_spaces

blueprint = PageBlueprint("oauth_pages", __name__, access="user")

PERSONAL = 0
"""Among spaces, stands for everything that is in none."""
MAX_SPACES = 100
MAX_EVENTS = 20
PLACES = N_(("this computer", "an app (%(scheme)s:)"))
"""Where people are sent, when it is no host."""


@blueprint.get("/oauth/authorize")
@writes
@password_required
@limiter.limit("60 per minute", key_func=lambda: f"oauth:{current_user_id()}")
def ask() -> ViewResult:
    """The consent page: which program asks, what it asks for, and what the person can grant it."""
    consent_request = _consent_request()
    return consent_request if isinstance(consent_request, Response) else _form(*consent_request)


def _form(client: Any, redirect_uri: str, scope: str | None, errors: dict[str, str] | None = None) -> Response:
    """Return the consent form; after a mistake, as it was filled in."""
    widest = service.widest_scope(scope)
    default = "mcp_read" if widest == "mcp_read" else "mcp"
    to = clients.redirect_label(redirect_uri)
    ticks = request.form.getlist("spaces") if errors else [str(PERSONAL)]
    page = render_template(
        "oauth/consent.html",
        client=client,
        publisher=clients.redirect_label(client.client_id) if clients.is_document_id(client.client_id) else "",
        to=translate_stored(to, PLACES) or to,
        widest=widest,
        access=request.form.get("access", default),
        wants_schedules=service.SCHEDULES in service.scopes_in(scope),
        schedules=service.SCHEDULES in (request.form if errors else service.scopes_in(scope)),
        everywhere=request.form.get("reach") == "all",
        ticks=ticks,
        spaces=_spaces(),
        errors=errors or {},
    )
    response = make_response(page, 422 if errors else 200)
    # The form ends with a redirect to the program, which browsers check against the policy.
    target = clients.form_target(redirect_uri)
    response.headers["Content-Security-Policy"] = POLICY.replace("form-action 'self'", f"form-action 'self' {target}")
    return response


@blueprint.post("/oauth/authorize")
@password_required
def decide() -> ViewResult:
    """Redirect to the program with the decision."""
    consent_request = _consent_request()
    if isinstance(consent_request, Response):
        return consent_request
    provider = server()
    consent = None
    if request.form.get("decision") == "allow":
        access = request.form.get("access", "")
        try:
            if access not in service.ACCESS:
                raise Invalid.field("access", N_("Choose what the program may do."))
            scopes = [access, *([service.SCHEDULES] if service.SCHEDULES in request.form else [])]
            consent = provider.Consent(current_user_id(), " ".join(scopes), _chosen_spaces())
        except Invalid as error:
            return _form(*consent_request, errors=sentences(error, {"access": "", "spaces": ""}))
    answer: Response = provider.authorize(consent)
    return commit(answer)


decide.asks_again = True  # type: ignore[attr-defined]  # its answer leads to the program, which only its page allows


@blueprint.get("/settings/programs")
def index() -> str:
    """Show URLs, set-up instructions for common programs, and what programs have read or changed lately."""
    wanted = (Action.MEMORIES_READ, Action.MEMORIES_CHANGED, Action.SCHEDULES_CHANGED)
    events = db.session.scalars(
        select(AuditEvent)
        .where(AuditEvent.user_id == current_user_id(), AuditEvent.actor_kind == "token", AuditEvent.action.in_(wanted))
        .order_by(AuditEvent.event_id.desc())
        .limit(MAX_EVENTS)
    ).all()
    names = {space.space_id: space.name for space in _spaces()}
    connected = [
        {
            "grant_id": grant.grant_id,
            "name": client.name,
            "rights": [SCOPE_LABELS[one] for one in service.scopes_in(grant.scope)],
            "proposes": "mcp" in service.scopes_in(grant.scope),
            "writes": "mcp_write" in service.scopes_in(grant.scope),
            "places": None if token.space_ids is None else [names.get(one, "") for one in token.space_ids if one],
            "is_personal": token.space_ids is None or 0 in token.space_ids,
            "since": grant.created_at,
            "used": token.last_used_at,
        }
        for grant, client, token in service.list_grants(current_user_id())
    ]
    return render_template("oauth/programs.html", host=absolute_url(), events=events, words=words, connected=connected)


@blueprint.post("/settings/programs/<int:grant_id>/disconnect")
def disconnect(grant_id: int) -> ViewResult:
    service.disconnect(current_user_id(), grant_id)
    return commit_and_redirect(url_for(".index"), _("Disconnected. Its tokens no longer work."))


@blueprint.post("/settings/programs/<int:grant_id>/trust")
def trust(grant_id: int) -> ViewResult:
    """Let a program write to memory without asking each time, or let it only propose again."""
    service.trust(current_user_id(), grant_id, request.form.get("on") == "1")
    return commit_and_redirect(url_for(".index"), _("Saved."))


def _consent_request() -> tuple[Any, str, str | None] | Response:
    """Return the program, its redirect URL and the scope it asks for; or the response to a request that is refused."""
    provider = server()
    client_id = request.args.get("client_id", "")
    try:
        if registry.find_or_fetch_client(client_id) is None:
            raise NotFound("This program is unknown here. Connect it again from the program itself.")
        db.session.commit()
        consent_request: tuple[Any, str, str | None] = provider.consent()
    except provider.OAuth2Error as error:
        if error.redirect_uri:
            answer: Response = provider.refusal_response(error)
            return answer
        reason = error.description or error.error
        raise Invalid.field("request", "The program’s request cannot be answered: %(reason)s", reason=reason) from None
    return consent_request


def _spaces() -> list[Any]:
    spaces = list_spaces(current_user_id(), SpaceQuery(limit=MAX_SPACES)).items
    return [space for space in spaces if not space.invited_by]


def _chosen_spaces() -> frozenset[int] | None:
    """Return the ids of the user's spaces that were ticked; None for everything. Raises Invalid if there are none."""
    if request.form.get("reach") == "all":
        return None
    own_ids = {PERSONAL, *(space.space_id for space in _spaces())}
    ticks = {PERSONAL if value == "0" else parse_id(value) for value in request.form.getlist("spaces")}
    reach = frozenset(space_id for space_id in ticks if space_id in own_ids and space_id is not None)
    if not reach:
        raise Invalid.field("spaces", N_("Choose at least one place the program may look in."))
    return reach
