"""Putting the room into the application."""

from __future__ import annotations

from flask_openapi3 import OpenAPI

from webapp.webhooks.api import blueprint as api
from webapp.webhooks.pages import blueprint as pages
from webapp.webhooks.service import init_webhooks


def init_events(app: OpenAPI) -> None:
    """Register the addresses, and note what happens from now on."""
    app.register_api(api)
    app.register_blueprint(pages)
    init_webhooks()
