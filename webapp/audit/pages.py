"""The audit's pages: one's own activity, its download, and the events of the site for admins."""

import json
from collections.abc import Iterator
from typing import Any

from flask import Response, render_template

from webapp.accounts.auth import admin_only, current_user_id
from webapp.accounts.service import names_of
from webapp.audit import service
from webapp.audit.actions import words
from webapp.audit.models import AuditEvent
from webapp.audit.schemas import AuditEventOut
from webapp.audit.targets import conversation_of, describe_target
from webapp.db.base import db
from webapp.http.validation import Page, PageQuery
from webapp.http.views import PageBlueprint, download as download_file, requested_cursor, wants_partial

blueprint = PageBlueprint("audit_pages", __name__, access="user")

PAGE_LENGTH = 50
DOWNLOAD_LIMIT = 20_000


@blueprint.get("/settings/activity")
def activity() -> str:
    """Return what was read or changed about you; for HTMX only the next rows."""
    return _render(service.list_events(current_user_id(), _query()), "audit/activity.html")


@blueprint.get("/settings/activity/download")
def download() -> Response:
    """The newest events, one JSON object per line."""
    lines = list(_lines(current_user_id()))
    db.session.rollback()
    return download_file("".join(lines), "commonplace-activity.jsonl", "application/x-ndjson")


@blueprint.get("/admin/activity")
@admin_only
def site_activity() -> str:
    """Return what happened, to whom and by whom: without the names of things, which are the person's own."""
    page = service.list_events(None, _query())
    names = names_of(user_id for event in page.items for user_id in (event.user_id, event.actor_id))
    return _render(page, "audit/site.html", names=names)


def _render(page: Page[AuditEvent], layout: str, **extra: Any) -> str:
    context = {
        **extra,
        "events": page.items,
        "next_cursor": page.next_cursor,
        "words": words,
        "describe_target": describe_target,
        "conversation_of": conversation_of,
    }
    template = layout.replace("/", "/_", 1).replace(".html", "_rows.html") if wants_partial() else layout
    return render_template(template, **context)


def _query() -> PageQuery:
    return PageQuery(limit=PAGE_LENGTH, cursor=requested_cursor())


def _lines(user_id: int) -> Iterator[str]:
    cursor: str | None = None
    for _ in range(DOWNLOAD_LIMIT // 100):
        page = service.list_events(user_id, PageQuery(limit=100, cursor=cursor))
        for event in page.items:
            yield json.dumps(AuditEventOut.of(event).model_dump(mode="json"), ensure_ascii=False) + "\n"
        cursor = page.next_cursor
        if cursor is None:
            return
