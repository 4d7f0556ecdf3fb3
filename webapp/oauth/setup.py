"""Adding OAuth to the application."""

from __future__ import annotations

from flask import Flask

from webapp.oauth.api import blueprint as api
from webapp.oauth.api import speak_oauth
from webapp.oauth.pages import blueprint as pages


def init_oauth(app: Flask) -> None:
    """Register the endpoints and the form of their errors."""
    app.register_blueprint(api)
    app.register_blueprint(pages)
    speak_oauth(app)
