"""JSON endpoints of tools: what admins set up of the web."""

from __future__ import annotations

import asyncio
from typing import Any

from webapp.accounts.auth import admin_only
from webapp.database import db
from webapp.extensions import limiter
from webapp.tools.schemas import WebAccessFields, WebAccessOut, WebTest
from webapp.tools.toolset import ToolFailed
from webapp.tools.web import service as web
from webapp.web import api_blueprint

blueprint = api_blueprint("tools_api", __name__, tag="Tools")


@blueprint.get("/web-access", responses={200: WebAccessOut})
@admin_only
def get_web_access() -> dict[str, Any]:
    """The search engine that replies may use."""
    return WebAccessOut.of(web.access()).model_dump(mode="json")


@blueprint.put("/web-access", responses={200: WebAccessOut})
@admin_only
def set_web_access(body: WebAccessFields) -> dict[str, Any]:
    """Set up the search engine, and switch the web on or off. The key goes in and never comes out."""
    answer = WebAccessOut.of(web.set_access(body)).model_dump(mode="json")
    db.session.commit()
    return answer


@blueprint.post("/web-access/test", responses={200: WebTest})
@admin_only
@limiter.limit("30 per minute")
def try_web_access() -> dict[str, Any]:
    """Search for a word with what is set up."""
    return run_web_test().model_dump(mode="json")


def run_web_test() -> WebTest:
    """Try the engine out, with nothing held meanwhile."""
    engine = web.engine_of(web.access())
    db.session.rollback()
    if engine is None:
        return WebTest(ok=True, detail="No search engine is set up; addresses that people write are read.")
    try:
        return WebTest(ok=True, detail=asyncio.run(web.try_out(engine)))
    except ToolFailed as error:
        return WebTest(ok=False, detail=str(error))
