"""The routes of tools."""

from flask_openapi3 import OpenAPI

from webapp.tools import admin_pages, api, pages, server_pages


def init_tools(app: OpenAPI) -> None:
    """Register the pages and endpoints of tools."""
    app.register_api(api.blueprint)
    for blueprint in (pages.blueprint, server_pages.blueprint, admin_pages.blueprint):
        app.register_blueprint(blueprint)
