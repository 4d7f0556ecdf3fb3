"""The pages of MCP servers: a person's own, and, for admins, everybody's."""

from typing import Any

from flask import flash, redirect, render_template, request, url_for

from webapp.accounts.identity import current_user_id, is_admin
from webapp.db.base import db
from webapp.errors import Conflict, Invalid
from webapp.http.forms import on_form, secret, sentences, validate
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.tools import servers
from webapp.tools.error_texts import translate_result
from webapp.tools.models import ToolServer
from webapp.tools.schemas import NewToolServer, ToolServerChanges
from webapp.tools.servers import limit_tries, refusals_by_tool, try_server

blueprint = PageBlueprint("tool_servers", __name__, url_prefix="/settings/tools/servers", access="user")
blueprint.add_app_template_filter(translate_result, "told_of_tools")

LABELS = N_({"name": "The name", "url": "The address", "token": "The token"})


@blueprint.app_context_processor
def _servers() -> dict[str, Any]:
    """Return what the pages of tools may need."""
    return {"tool_servers_of": servers.servers_of, "tool_grants_of": servers.grants_of}


@blueprint.post("")
@limit_tries
def create() -> ViewResult:
    """Add a server, and immediately ask it which tools it has."""
    fields: dict[str, Any] = {name: request.form.get(name, "").strip() for name in ("name", "url", "token")}
    for_everyone = "for_everyone" in request.form
    try:
        row = servers.create_server(
            current_user_id(), validate(NewToolServer, fields | {"for_everyone": for_everyone}), is_admin=is_admin()
        )
    except (Invalid, Conflict) as error:
        db.session.rollback()
        location = url_for("tools_admin.index" if for_everyone else "tools_pages.index")
        flash(" ".join(sentences(error, LABELS, otherwise="url").values()), "error")
        return redirect(f"{location}#servers", 303)
    db.session.commit()
    server_id = row.server_id
    try_server(row)
    return redirect(url_for(".show", server_id=server_id), 303)


@blueprint.get("/<int:server_id>")
def show(server_id: int) -> ViewResult:
    return _page(_row(server_id))


@blueprint.post("/<int:server_id>")
@on_form(lambda errors, server_id: _page(_row(server_id), " ".join(errors.values())), LABELS, otherwise="url")
def change(server_id: int) -> ViewResult:
    """Change a server, or which of its tools are on."""
    row = _row(server_id)
    form = request.form
    fields: dict[str, Any] = {}
    if "tools" in form:
        fields["tools_on"] = form.getlist("tool")
    else:
        fields = {"name": form.get("name", "").strip(), "url": form.get("url", "").strip()}
        fields |= {"is_enabled": "is_enabled" in form, **secret("token", "remove_token")}
    servers.update_server(row, validate(ToolServerChanges, fields))
    return commit_and_redirect(url_for(".show", server_id=server_id), _("Saved."))


@blueprint.post("/<int:server_id>/test")
@limit_tries
def test(server_id: int) -> ViewResult:
    try_server(_row(server_id))
    return redirect(url_for(".show", server_id=server_id), 303)


@blueprint.post("/<int:server_id>/delete")
def delete(server_id: int) -> ViewResult:
    row = _row(server_id)
    location = url_for("tools_admin.index" if row.user_id is None else "tools_pages.index")
    servers.delete_server(row)
    return commit_and_redirect(f"{location}#servers", _("Server deleted."))


@blueprint.post("/grants/<int:grant_id>/delete")
def revoke(grant_id: int) -> ViewResult:
    """Ask again before a tool is called."""
    servers.revoke(current_user_id(), grant_id)
    return commit_and_redirect(url_for("tools_pages.index", _anchor="grants"), _("You will be asked again."))


def _row(server_id: int) -> ToolServer:
    return servers.get_server(current_user_id(), server_id, is_admin=is_admin())


def _page(row: ToolServer, error: str = "") -> str:
    refusals = refusals_by_tool(row, current_user_id(), is_admin=is_admin())
    return render_template("tools/server.html", row=row, error=error, refused=refusals)
