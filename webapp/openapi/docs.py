"""`/api/openapi.json` and `/api/docs`."""

from __future__ import annotations

from flask import Blueprint, Flask, current_app, render_template

from webapp.accounts.auth import public

blueprint = Blueprint("openapi", __name__)


@blueprint.get("/api/openapi.json")
@public
def document():
    """The description of the JSON API."""
    return current_app.api_doc


@blueprint.get("/api/docs")
@public
def page():
    """The page to browse the API and to try it."""
    return render_template("openapi/docs.html")


def init_docs(app: Flask) -> None:
    """Add the document and its page."""
    app.register_blueprint(blueprint)
