"""Imports, exports and leaving, wired into an application."""

from __future__ import annotations

from flask_openapi3 import OpenAPI

from webapp.transfer.api import blueprint as api
from webapp.transfer.cli import register_commands
from webapp.transfer.leaving import init_leaving
from webapp.transfer.leaving_pages import blueprint as leaving_pages
from webapp.transfer.pages import blueprint as pages
from webapp.transfer.service import init_files


def init_transfer(app: OpenAPI) -> None:
    """Register endpoints, pages and commands, and follow accounts that end."""
    app.register_api(api)
    app.register_blueprint(pages)
    app.register_blueprint(leaving_pages)
    register_commands(app)
    init_files()
    init_leaving()
