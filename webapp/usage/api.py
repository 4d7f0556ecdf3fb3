"""JSON endpoints of usage: what was used, and for admins the limits of everybody and of one person."""

from webapp.accounts import service as accounts
from webapp.accounts.auth import current_user_id, login_required
from webapp.accounts.identity import is_admin
from webapp.errors import Forbidden
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id
from webapp.usage import service
from webapp.usage.schemas import Quotas, UsageQuery, UsageReport

blueprint = api_blueprint("usage_api", __name__, tag="Models", access="admin")


@blueprint.get("/usage")
@login_required
def read_usage(query: UsageQuery) -> UsageReport:
    """Return what you used; all users' for admins."""
    everyone = query.everyone or query.by == "user"
    if everyone and not is_admin():
        raise Forbidden("Only admins can see what everybody used.")
    return service.report(current_user_id(), query, everyone=everyone)


@blueprint.get("/quotas")
def read_quotas() -> Quotas:
    """The limits of everybody who has none of their own or of a group."""
    return _quotas_of(None)


@blueprint.put("/quotas")
def replace_quotas(body: Quotas) -> Quotas:
    """Set the limits of everybody who has none of their own or of a group, in place of those there are."""
    return _set(None, body)


@blueprint.get("/users/<int:user_id>/quotas")
def read_quotas_of(user_id: Id) -> Quotas:
    """The limits of one person's own; empty where a group's or everybody's hold."""
    return _quotas_of(accounts.get_user(user_id).user_id)


@blueprint.put("/users/<int:user_id>/quotas")
def replace_quotas_of(user_id: Id, body: Quotas) -> Quotas:
    """Set the limits of one person, in place of those they have; an empty list leaves them a group's or everybody's."""
    return _set(accounts.get_user(user_id).user_id, body)


def _quotas_of(user_id: int | None) -> Quotas:
    return Quotas.of(service.quotas_of(user_id))


def _set(user_id: int | None, body: Quotas) -> Quotas:
    service.set_quotas(user_id, body.quotas)
    return _quotas_of(user_id)
