"""Adds the MCP server to the application."""

from flask import Flask

from webapp.mcp_server.api import blueprint as api
from webapp.mcp_server.api import speak_mcp
from webapp.mcp_server.pages import blueprint as pages


def init_mcp(app: Flask) -> None:
    """Register the URLs and the shape of their errors."""
    app.register_blueprint(api)
    app.register_blueprint(pages)
    speak_mcp(app)
