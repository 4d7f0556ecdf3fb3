"""The access rules of views: of their blueprint, or marks under their route; webapp/accounts/auth.py asks for them."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar, overload

from flask import Flask

from webapp.accounts.scopes import Scope
from webapp.i18n.marks import N_

BROWSER_ONLY = N_("This needs a signed-in browser: a token cannot do it.")
"""The refusal of a token where only a session counts."""

View = TypeVar("View", bound=Callable[..., Any])


class Decorator(Protocol):
    """A decorator that returns the view it is given."""

    def __call__(self, view: View, /) -> View:
        """Mark a view."""


def public(view: View) -> View:
    """Anybody may call this view."""
    return _mark(view, access="public")


@overload
def login_required(view: View) -> View: ...
@overload
def login_required(*, services: bool = False, scope: Scope | None = None) -> Decorator: ...
def login_required(
    view: Callable[..., Any] | None = None, *, services: bool = False, scope: Scope | None = None
) -> Any:
    """Any user may call this view, a service token only if `services` says so; `scope`, unless the path implies it."""

    marks = partial(_mark, access="user", services=services, scope=scope)
    return marks(view) if view else marks


def cookieless(view: View) -> View:
    """A public view with credentials of its own: cookies and tokens are ignored. Goes below the access rule."""
    return _mark(view, cookieless=True)


def session_only(view: View) -> View:
    """Only a signed-in browser may call this endpoint, and no token; goes below the access rule."""
    return _mark(view, session_only=True)


def writes(view: View) -> View:
    """The view writes although its method is a safe one; goes below the access rule."""
    return _mark(view, writes=True)


def password_required(view: View) -> View:
    """A session may call this view only shortly after the password was given in it; goes below the access rule."""
    return _mark(view, password_required=True)


def admin_only(view: View) -> View:
    """Only admins may call this view."""
    return _mark(view, access="admin")


def access_of(app: Flask, endpoint: str) -> str:
    """Return who may call a view, by its mark or its blueprint's rule; else only admins, for `static` anybody."""
    if endpoint in ("static", "asset") or endpoint.endswith(".static"):
        return "static"
    blueprint = app.blueprints.get(endpoint.rpartition(".")[0])
    mark = getattr(app.view_functions[endpoint], "access", None) or getattr(blueprint, "access", None)
    return mark or "admin"


def _mark(view: View, **marks: Any) -> View:
    vars(view).update(marks)
    return view
