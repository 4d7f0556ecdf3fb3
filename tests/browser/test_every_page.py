"""Every page there is, at a desk in light and on a phone in the dark: accessible, no wider than the screen, no error.

The pages are those of the URL map: one that is added is looked at without anybody's doing.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from testkit.people import api_client, browser_client
from tests.openapi.existing import Existing
from tests.support.queries import execute
from webapp.background.job_specs import Queue
from webapp.conversations.models import Message

from .conftest import faults, look_over, read_source

QUERIES = {"/find": "?q=lisbon"}
CHOICES = {"name": "chat", "queue": next(iter(Queue)).value, "state": "failed", "form": "yaml"}
"""What stands in addresses and is no id."""

NO_PAGES_BELOW = ("/api/", "/memory/", "/static", "/v1/", "/mcp", "/healthz", "/offline")
NO_PAGE = {
    "/c/<int:conversation_id>/summary/file/<form>": "a file",
    "/exports/<int:export_id>/download": "a file",
    "/files/<int:file_id>/picture": "a picture",
    "/memories/portrait/pdf": "there once it is written",
    "/spaces/<int:space_id>/portrait/pdf": "there once it is written",
    "/image": "a frame, in test_rich",
    "/spaces/<int:space_id>/documents/<int:document_id>/content": "a file",
    "/spaces/<int:space_id>/documents/<int:document_id>/picture": "a picture",
    "/spaces/<int:space_id>/documents/<int:document_id>/pages/<int:number>": "of a file, in test_space_documents",
    "/imports/<int:import_id>/learning": "part of the import's page",
    "/messages/<int:message_id>/reasoning": "part of the prompt's page",
    "/admin/prompts/<name>/compare": "there with a second version, in test_prompts",
    "/oauth/authorize": "what a program asks, in test_programs",
    "/c/<int:conversation_id>/summary": "there when a journey has ended, in test_journeys",
    "/c/<int:conversation_id>/summary/page": "there when a journey has ended",
    **dict.fromkeys(("/forgot-password", "/join", "/reset-password", "/verify-email"), "from a mail"),
    **dict.fromkeys(("/login/oidc", "/login/oidc/callback"), "of another site"),
    "/schedules/<secret>.ics": "a calendar",
    "/deleted/<secret>": "of a closed account, in test_installing",
}
"""Addresses that a signed-in admin does not see as a page of their own."""


RICH = read_source("rich.md")
"""What stands in the reply of a conversation."""

TALLEST = 1_200
ROOMS = set(json.loads((Path(__file__).parents[1] / "accounts" / "rooms.json").read_text()))
ROOMS -= {"/admin/models", "/admin/prompts/chat"}
"""All pages of the rooms but two that are as long as what they list: none is longer than a screen and a bit."""


def every_page(app: Flask, existing: Existing, choices: dict[str, str]) -> tuple[list[str], set[str]]:
    """The addresses of whole pages, and the rules that should have had one."""
    client = browser_client(app, existing.person)
    pages, missing = [], set()
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        if "GET" not in (rule.methods or ()) or rule.rule.startswith(NO_PAGES_BELOW):
            continue
        values: dict[str, list[Any]] = {
            name: [choices[name]] if name in choices else existing.values(name) for name in rule.arguments
        }
        found = False
        for place in (-1, 0) if all(values.values()) else ():
            path = re.sub(r"<(?:[^:<>]+:)?(\w+)>", lambda match: str(values[match[1]][place]), rule.rule)  # noqa: B023
            address = path + QUERIES.get(rule.rule, "")
            with client.get(address) as answer:  # closed: what is downloaded is an open file
                found = found or answer.status_code < 400
                if answer.status_code == 200 and answer.mimetype == "text/html" and "<html" in answer.text:
                    pages.append(address)
                    break
        if not found:
            missing.add(rule.rule)
    return pages, missing


@pytest.mark.timeout(1200)
def test_every_page_can_be_used_by_everybody(app, make_user, open_tab):
    existing = Existing(app, make_user(is_admin=True), make_user())
    existing.fill()
    execute(app, update(Message).where(Message.message_id == existing.values("message_id")[1]).values(content=RICH))
    shared = api_client(app, existing.person).get("/api/shares").get_json()["shares"]
    pages, missing = every_page(app, existing, {**CHOICES, "token": shared[0]["url"].rpartition("/")[2]})
    made_meanwhile = {"/exports/<int:export_id>/download"}  # there once the worker has made it
    assert missing | made_meanwhile == set(NO_PAGE)
    assert set(pages) >= ROOMS
    # A program has signed in, and all that runs in the background is listed.
    tallest = dict.fromkeys(ROOMS, TALLEST) | {"/settings/programs": TALLEST + 100, "/admin/rq": TALLEST + 170}
    api_client(app, existing.person).put("/api/account", json={"settings": {"language": "de"}})  # of the longest words
    tab = open_tab(existing.person, path="")
    assert look_over(tab, pages, tallest) == []
    assert faults(tab.go(f"/c/{existing.values('conversation_id')[0]}")) == []
