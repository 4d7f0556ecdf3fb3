"""`/api/openapi.json` and the page to browse it, `/api/docs`."""

import re
from threading import Lock
from typing import Any

from flask import current_app, render_template
from flask_openapi3 import OpenAPI, PathItem

from webapp.accounts.access import access_of
from webapp.accounts.auth import public
from webapp.http.json_api import JsonBlueprint
from webapp.http.views import PageBlueprint, ViewResult
from webapp.openapi.document import METHODS, ViewFacts, refine

blueprint = PageBlueprint("openapi", __name__)

_making = Lock()


@blueprint.get("/api/openapi.json")
@public
def document() -> ViewResult:
    """Return the description of the JSON API."""
    return openapi_document(current_app)  # type: ignore[arg-type]


@blueprint.get("/api/docs")
@public
def page() -> ViewResult:
    """Show the page to browse and try the API, with the session or with a token."""
    return render_template("openapi/docs.html")


def openapi_document(app: OpenAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application, created on first use."""
    with _making:
        if "openapi_document" not in app.extensions:
            _describe(app)
            app.extensions["openapi_document"] = refine(app.api_doc, _facts(app))
        document: dict[str, Any] = app.extensions["openapi_document"]
        return document


def _describe(app: OpenAPI) -> None:
    """Merge the blueprints' descriptions into the application's; of two that share a path, the operations of both."""
    for blueprint in app.blueprints.values():
        if not isinstance(blueprint, JsonBlueprint):
            continue
        blueprint.describe()
        app.components_schemas.update(blueprint.components_schemas)
        app.tags += [tag for tag in blueprint.tags if tag not in app.tags]
        for path, item in blueprint.paths.items():
            for method in METHODS:
                if operation := getattr(item, method):
                    setattr(app.paths.setdefault(path, PathItem()), method, operation)


def _facts(app: OpenAPI) -> dict[tuple[str, str], ViewFacts]:
    facts = {}
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        path = re.sub(r"<(?:[^<>:]+:)?([^<>]+)>", r"{\1}", rule.rule)
        for method in rule.methods or ():
            facts[method.lower(), path] = ViewFacts(
                access=access_of(app, rule.endpoint),
                services=getattr(view, "services", False),
                session_only=getattr(view, "session_only", False),
                idempotent=getattr(view, "idempotent", False),
                bodies=getattr(view, "bodies", {}),
            )
    return facts
