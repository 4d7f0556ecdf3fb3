"""The access rules of views: of their blueprint, or marks under their route; webapp/accounts/auth.py asks for them."""

from collections.abc import Callable
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
    return _set_access(view, "public")


@overload
def login_required(view: View) -> View: ...
@overload
def login_required(*, services: bool = False, scope: Scope | None = None) -> Decorator: ...
def login_required(
    view: Callable[..., Any] | None = None, *, services: bool = False, scope: Scope | None = None
) -> Any:
    """Any user may call this view, a service token only if `services` says so; `scope`, unless the path implies it."""

    def mark(function: View) -> View:
        function.services = services  # type: ignore[attr-defined]
        function.scope = scope  # type: ignore[attr-defined]
        return _set_access(function, "user")

    return mark(view) if view else mark


def cookieless(view: View) -> View:
    """A public view with credentials of its own: cookies and tokens are ignored. Goes below the access rule."""
    view.cookieless = True  # type: ignore[attr-defined]
    return view


def session_only(view: View) -> View:
    """Only a signed-in browser may call this endpoint, and no token; goes below the access rule."""
    view.session_only = True  # type: ignore[attr-defined]
    return view


def writes(view: View) -> View:
    """The view writes although its method is a safe one; goes below the access rule."""
    view.writes = True  # type: ignore[attr-defined]
    return view


def password_required(view: View) -> View:
    """A session may call this view only shortly after the password was given in it; goes below the access rule."""
    view.recently_proved = True  # type: ignore[attr-defined]
    return view


def admin_only(view: View) -> View:
    """Only admins may call this view."""
    return _set_access(view, "admin")


def access_of(app: Flask, endpoint: str) -> str:
    """Return who may call a view, by its mark or its blueprint's rule; else only admins, for `static` anybody."""
    if endpoint in ("static", "asset") or endpoint.endswith(".static"):
        return "static"
    blueprint = app.blueprints.get(endpoint.rpartition(".")[0])
    mark = getattr(app.view_functions[endpoint], "access", None) or getattr(blueprint, "access", None)
    return mark or "admin"


def _set_access(view: View, access: str) -> View:
    view.access = access  # type: ignore[attr-defined]
    return view
