"""Response headers that keep a page from doing anything we did not write: strict CSP, no framing, no sniffing; and
which other sites' pages may use the programs' addresses."""

from flask import Flask, Response, g, request
from flask.sessions import SecureCookieSessionInterface, SessionMixin

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


API_PATHS = (r"/v1/.*", r"/mcp.*", r"/api/.*", r"/\.well-known/.*")
"""The paths that pages of other sites may be let in to."""
EXPOSED_HEADERS = (
    "X-Commonplace-Conversation",
    "X-Request-ID",
    "Retry-After",
    "Idempotent-Replayed",
    "WWW-Authenticate",
)


def init_security(app: Flask, cors_origins: str = "") -> None:
    """Set headers on responses without a policy; pages of `cors_origins` may use API_PATHS, by token only."""
    app.session_interface = Sessions()
    if origins := [origin.strip().rstrip("/") for origin in cors_origins.split(",") if origin.strip()]:
        from flask_cors import CORS  # noqa: PLC0415  # only where other sites are let in

        CORS(
            app,
            resources={path: {"origins": origins} for path in API_PATHS},
            supports_credentials=False,
            expose_headers=list(EXPOSED_HEADERS),
            max_age=600,
        )

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
        is_announced = bool(response.content_length)  # to HEAD
        if response.is_sequence and not is_announced and not response.calculate_content_length():
            del headers["Content-Type"]  # Flask calls nothing HTML, too
        return response


class Sessions(SecureCookieSessionInterface):
    """Sends no session cookie with files that any cache may keep, or a shared one would pass it on; and one sent over
    TLS comes back only so.
    """

    def get_cookie_secure(self, app: Flask) -> bool:
        return super().get_cookie_secure(app) or request.is_secure

    def should_set_cookie(self, app: Flask, session: SessionMixin) -> bool:
        """Return whether the session has changed, or a visit is about to be recorded, which renews its days."""
        return session.modified or (session.permanent and "note_use" in g)

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """Set the cookie, and declare that the answer depends on it, unless the answer is public."""
        if not response.cache_control.public:
            super().save_session(app, session, response)
