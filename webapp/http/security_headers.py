"""Response headers that keep a page from doing anything we did not write: strict CSP, no framing, no sniffing."""

from __future__ import annotations

from flask import Flask, Response, request
from flask.sessions import SecureCookieSessionInterface, SessionMixin

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def init_security(app: Flask) -> None:
    """Set the headers on every response that has no policy of its own."""
    app.session_interface = Sessions()

    @app.after_request
    def _headers(response: Response) -> Response:
        headers = response.headers
        headers.setdefault("Content-Security-Policy", POLICY)
        headers.setdefault("X-Content-Type-Options", "nosniff")
        headers.setdefault("Referrer-Policy", "same-origin")
        headers.setdefault("X-Frame-Options", "DENY")
        headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=(self)")
        headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        if request.is_secure:
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")
        if not request.path.startswith("/static/"):
            # A page's contents belong to one person: no shared cache may keep it.
            headers.setdefault("Cache-Control", "private, no-store")
        return response


class Sessions(SecureCookieSessionInterface):
    """Sends no session cookie with files that any cache may keep.

    A shared cache would pass it on to others; and a browser, whose cookie differs with every answer, would fetch each
    file again.
    """

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """Set the cookie, and declare that the answer depends on it, unless the answer is public."""
        if not response.cache_control.public:
            super().save_session(app, session, response)
