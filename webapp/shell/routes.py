"""Wires what is served: endpoints and pages, and with them the commands, none of which a worker process needs."""

from importlib import import_module
from types import ModuleType

from flask import Blueprint
from flask_openapi3 import APIBlueprint, OpenAPI

from webapp.gateway.api import init_openai_errors
from webapp.mcp_server.api import init_mcp_errors
from webapp.oauth.api import init_oauth
from webapp.shell import commands
from webapp.webhooks import events_api

SERVED = {
    "accounts": "api pages settings_pages password_check_pages passkey_pages mail_pages oidc_pages",
    "admin": "feedback groups jobs_pages journeys pages prompts",
    "arrivals": "pages",
    "audit": "api pages",
    "chat": "api frames pages parameter_pages start_pages turn_pages",
    "conversations": "api bulk_pages feedback_pages pages",
    "digests": "api pages",
    "files": "api pages",
    "gateway": "api responses_api embeddings_api",
    "internal": "api",
    "journeys": "api authoring_pages pages",
    "legacies": "api pages",
    "mcp_server": "api",
    "memories": "web.activity_pages web.api web.decision_pages web.extraction_pages web.pages web.picture_pages "
    "web.pictures_api",
    "oauth": "api pages",
    "openapi": "docs",
    "prompts": "api",
    "providers": "api connect_pages pages",
    "push": "api",
    "retrieval": "api pages",
    "saved_prompts": "api pages",
    "schedules": "api pages",
    "sharing": "api pages",
    "shell": "manifest service_endpoints",
    "spaces": "api pages",
    "tasks": "api",
    "tools": "api pages",
    "transfer": "account_deletion_pages api pages portrait_files proposal_pages",
    "usage": "api pages",
    "webhooks": "api pages",
}
"""The modules of each room whose blueprints are registered once all are loaded: some add to those of another."""


def import_served() -> list[ModuleType]:
    """Import every module that is served, all before the first of them is registered."""
    return [import_module(f"webapp.{room}.{name}") for room, names in SERVED.items() for name in names.split()]


def register(app: OpenAPI) -> None:
    """Register everything that people and programs can reach, and the commands."""
    app.extensions["end_event_streams"] = events_api.ending.set
    for module in import_served():
        for blueprint in vars(module).values():
            if isinstance(blueprint, APIBlueprint) and blueprint.import_name == module.__name__:
                app.register_api(blueprint)
            elif isinstance(blueprint, Blueprint) and blueprint.import_name == module.__name__:
                app.register_blueprint(blueprint)
    init_openai_errors(app)
    init_mcp_errors(app)
    init_oauth(app)
    commands.register(app)
