"""Signing in at an OpenID provider (Authlib): discovery, PKCE, state and nonce."""

import logging
from contextlib import nullcontext, suppress
from typing import Any

from flask import Flask, current_app, flash, render_template, request, session, url_for

from webapp.accounts import auth, groups, identities, signals
from webapp.accounts.auth import public, writes
from webapp.accounts.identities import ProviderClaims, find_claim, find_email
from webapp.accounts.password_check_pages import complete_sign_in
from webapp.accounts.site import needs_setup_token
from webapp.config import ConfigError, Settings
from webapp.db.base import db
from webapp.errors import Forbidden, Unavailable, reason, require
from webapp.extensions import app_settings
from webapp.http.views import PageBlueprint, ViewResult, absolute_url
from webapp.i18n.request_language import gettext as _

log = logging.getLogger(__name__)

blueprint = PageBlueprint("oidc_pages", __name__)

NEXT = "oidc_next"


def init_oidc(app: Flask, settings: Settings) -> None:
    """Set up the provider, if one is configured; it is not contacted before somebody signs in."""
    app.jinja_env.globals["oidc_name"] = settings.oidc_name if settings.oidc_issuer else ""
    if not settings.oidc_issuer:
        return
    if not settings.oidc_client_id:
        raise ConfigError("OIDC_CLIENT_ID: is missing, although OIDC_ISSUER is set")
    # Megabytes that few installations need; it also has no types.
    from authlib.integrations.flask_client import OAuth  # noqa: PLC0415

    from webapp.accounts.oidc_client import OidcClient  # noqa: PLC0415

    oauth = OAuth(app)
    oauth.register(
        "provider",
        client_cls=OidcClient,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret or None,
        server_metadata_url=settings.oidc_issuer.rstrip("/") + "/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.oidc_scope,
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_basic" if settings.oidc_client_secret else "none",
        },
    )
    app.extensions["oidc"] = oauth.provider


@blueprint.get("/login/oidc")
@public
def begin() -> ViewResult:
    """Redirect to the provider, which returns to `callback`."""
    client = _client()
    next_url = auth.safe_next(request.args.get("next"))
    db.session.rollback()  # no connection is held while the provider is contacted
    try:
        answer: ViewResult = client.authorize_redirect(absolute_url(url_for(".callback")))
    except Exception as error:
        raise _unreachable(error) from error
    session[NEXT] = next_url
    return answer


@blueprint.get("/login/oidc/callback")
@public
@writes  # a new account, or a new session
def callback() -> ViewResult:
    """Sign in the person the provider vouches for."""
    client, settings = _client(), app_settings()
    next_url = auth.safe_next(session.pop(NEXT, None))
    needs_groups = groups.are_used()
    db.session.rollback()
    try:
        claims = _claims(client, needs_groups)
    except Exception as error:
        if type(error).__module__.startswith("requests"):
            raise _unreachable(error) from error
        # A forged or stale answer, a wrong nonce, a bad signature, or the person changed their mind.
        log.warning("sign-in at the provider failed", extra={"error": f"{type(error).__name__}: {reason(error)[:200]}"})
        return _show_refusal(_("Signing in did not work. Please try again.")), 401
    if not claims:
        return _show_refusal(_("The provider did not say who you are.")), 401
    try:
        provider_claims = ProviderClaims.of(str(claims["iss"]), claims, settings)
        user = identities.user_of(
            provider_claims, creates=_may_register(provider_claims), admin_group=settings.oidc_admin_group
        )
        if provider_claims.groups is None:
            log.warning("the provider did not send somebody's groups", extra={"user_id": user.user_id})
        elif user.is_active:
            signals.provider_sign_in.send(None, user_id=user.user_id, groups=provider_claims.groups)
        db.session.commit()
    except Forbidden as error:
        db.session.rollback()
        if isinstance(error, identities.UnprovenIdentity):
            identities.remember_claims(provider_claims)
        return _show_refusal(error.detail), 403
    answer = complete_sign_in(user, next_url)
    if provider_claims.groups is None:  # after a new session has begun
        flash(_("Your sign-in service did not send your groups. Your permissions have not changed."))
    return answer


def _claims(client: Any, needs_groups: bool) -> dict[str, Any]:
    """Return the claims of the ID token, with those of the provider's userinfo if what is needed is not in it."""
    token, settings = client.authorize_access_token(), app_settings()
    claims = dict(token.get("userinfo") or {})
    has_email = bool(find_email(claims, settings))
    needed = [settings.oidc_groups_claim] if needs_groups else []
    needed += [settings.oidc_email_verified_claim] if settings.oidc_email_verified == "claim" else []
    is_whole = has_email and all(find_claim(claims, name) is not None for name in needed)
    if claims and not is_whole and client.load_server_metadata().get("userinfo_endpoint"):
        with suppress(Exception) if has_email else nullcontext():
            profile = client.userinfo(token=token)
            if profile.get("sub") == claims.get("sub"):  # OpenID Connect Core, 5.3.2: another's is not to be used
                claims = {**profile, **claims}
    return claims


def _may_register(provider_claims: ProviderClaims) -> bool:
    """Return whether somebody without an account gets one. The first is an admin's: if its page would ask for the
    set-up token, only a member of the admin group gets it.
    """
    settings = app_settings()
    is_admin = bool(settings.oidc_admin_group) and settings.oidc_admin_group in (provider_claims.groups or ())
    return settings.oidc_create and (is_admin or not needs_setup_token())


def _client() -> Any:
    return require(current_app.extensions.get("oidc"), "There is nothing at this address.")


def _unreachable(error: Exception) -> Unavailable:
    log.warning("the OpenID provider cannot be reached", extra={"error": type(error).__name__})
    return Unavailable("The sign-in service cannot be reached. Try again soon, or sign in with your password.")


def _show_refusal(reason: str) -> str:
    return render_template("accounts/refused.html", reason=reason)
