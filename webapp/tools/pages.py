"""The settings pages of the tools that replies may use: built-in ones, the web for admins, and MCP servers."""

from typing import Any

from flask import flash, redirect, render_template, request, url_for

from webapp.accounts import service as accounts
from webapp.accounts.auth import current_user_id
from webapp.accounts.identity import is_admin
from webapp.conversations.schemas import ConversationChanges
from webapp.conversations.service import update_conversation
from webapp.conversations.tool_records import arguments_line, sources_of
from webapp.db.base import db
from webapp.http.forms import redisplay_form, require_version, secret, validate
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.tools import servers
from webapp.tools.api import own_server, try_web_access
from webapp.tools.error_texts import translate_result
from webapp.tools.models import ToolServer
from webapp.tools.schemas import NewToolServer, ToolServerChanges, WebAccessFields
from webapp.tools.servers import limit_tries, refusals_by_tool, try_server
from webapp.tools.web import service
from webapp.tools.web.providers import PROVIDERS

blueprint = PageBlueprint("tools_pages", __name__, access="user")
blueprint.add_app_template_filter(sources_of, "tool_sources")
blueprint.add_app_template_filter(arguments_line, "tool_input")
blueprint.add_app_template_filter(translate_result, "translate_result")


@blueprint.post("/c/<int:conversation_id>/web")
def use_web(conversation_id: int) -> ViewResult:
    """Let replies in a conversation look on the web, or not."""
    update_conversation(current_user_id(), conversation_id, ConversationChanges(uses_web="uses_web" in request.form))
    db.session.commit()
    if wants_partial():
        return "", 204
    return redirect(url_for("conversations_pages.show", conversation_id=conversation_id), 303)


@blueprint.get("/settings/tools")
def index() -> ViewResult:
    """The tools that replies to the user may use."""
    return _own_page()


def _own_page(**extra: Any) -> str:
    return render_template("tools/index.html", user_settings=accounts.user_settings(current_user_id()), **extra)


@blueprint.post("/settings/tools")
def switch() -> ViewResult:
    """Switch the built-in tools on or off."""
    accounts.change_settings(current_user_id(), builtin_tools_enabled="builtin_tools" in request.form)
    return commit_and_redirect(url_for(".index"), _("Saved."))


admin_blueprint = PageBlueprint("tools_admin", __name__, url_prefix="/admin/tools", access="admin")

WEB_LABELS = N_({"provider": "The engine", "address": "The address", "api_key": "The key"})


@admin_blueprint.get("", endpoint="index")
def show_web() -> ViewResult:
    """Return what replies may use of the web."""
    return _web_page()


@admin_blueprint.post("/web")
@redisplay_form(lambda errors: _web_page(errors, _web_fields()), WEB_LABELS, otherwise="provider")
def set_web() -> ViewResult:
    """Set up the search engine, and switch the web on or off."""
    service.set_access(validate(WebAccessFields, _web_fields() | secret("api_key", "remove_key")))
    return commit_and_redirect(url_for(".index"), _("Saved."))


@admin_blueprint.post("/web/test")
def test_web() -> ViewResult:
    """Search for a word with what is set up."""
    flash(translate_result(try_web_access().detail), "message")
    return redirect(url_for(".index"), 303)


def _web_fields() -> dict[str, Any]:
    form = request.form
    address = form.get("address", "").strip()
    return {"provider": form.get("provider", ""), "address": address, "is_enabled": "is_enabled" in form}


def _web_page(errors: dict[str, str] | None = None, fields: dict[str, Any] | None = None, **extra: Any) -> str:
    row = service.access()
    now = {"provider": row.provider, "address": row.address, "is_enabled": row.is_enabled} if row else {}
    return render_template(
        "tools/admin.html",
        values=fields or now,
        key_set=bool(row and row.key_set),
        is_set=row is not None,
        providers=PROVIDERS,
        errors=errors,
        **extra,
    )


servers_blueprint = PageBlueprint("tool_servers", __name__, url_prefix="/settings/tools/servers", access="user")

SERVER_LABELS = N_({"name": "The name", "url": "The address", "token": "The token"})


def _page_to_add(errors: dict[str, str]) -> str:
    page = _web_page if "for_everyone" in request.form and is_admin() else _own_page
    return page(server_errors=errors)


@servers_blueprint.post("")
@limit_tries
@redisplay_form(_page_to_add, SERVER_LABELS, otherwise="url")
def create() -> ViewResult:
    """Add a server, and immediately ask it which tools it has."""
    fields: dict[str, Any] = {name: request.form.get(name, "").strip() for name in ("name", "url", "token")}
    fields["for_everyone"] = "for_everyone" in request.form
    row = servers.create_server(current_user_id(), validate(NewToolServer, fields), is_admin=is_admin())
    db.session.commit()
    server_id = row.server_id
    try_server(row)
    return redirect(url_for(".show", server_id=server_id), 303)


@servers_blueprint.get("/<int:server_id>")
def show(server_id: int) -> ViewResult:
    return _server_page(own_server(server_id))


@servers_blueprint.post("/<int:server_id>")
@redisplay_form(lambda errors, server_id: _server_page(own_server(server_id), errors), SERVER_LABELS, otherwise="url")
def change(server_id: int) -> ViewResult:
    """Change a server, or which of its tools are on."""
    row = own_server(server_id)
    require_version(_values(row))
    form = request.form
    fields: dict[str, Any] = {}
    if "tools" in form:
        fields["tools_on"] = form.getlist("tool")
    else:
        fields = {"name": form.get("name", "").strip(), "url": form.get("url", "").strip()}
        fields |= {"is_enabled": "is_enabled" in form, **secret("token", "remove_token")}
    servers.update_server(row, validate(ToolServerChanges, fields))
    return commit_and_redirect(url_for(".show", server_id=server_id), _("Saved."))


@servers_blueprint.post("/<int:server_id>/test")
@limit_tries
def test(server_id: int) -> ViewResult:
    try_server(own_server(server_id))
    return redirect(url_for(".show", server_id=server_id), 303)


@servers_blueprint.post("/<int:server_id>/delete")
def delete(server_id: int) -> ViewResult:
    row = own_server(server_id)
    location = url_for("tools_admin.index" if row.user_id is None else "tools_pages.index")
    servers.delete_server(row)
    return commit_and_redirect(f"{location}#servers", _("Server deleted."))


@servers_blueprint.post("/grants/<int:grant_id>/delete")
def revoke(grant_id: int) -> ViewResult:
    """Ask again before a tool is called."""
    servers.revoke(current_user_id(), grant_id)
    return commit_and_redirect(url_for("tools_pages.index", _anchor="grants"), _("You will be asked again."))


def _values(row: ToolServer) -> dict[str, Any]:
    tools = [tool["name"] for tool in row.tools if tool["is_on"]]
    return {"name": row.name, "url": row.url, "is_enabled": row.is_enabled, "tools": tools}


def _server_page(row: ToolServer, errors: dict[str, str] | None = None) -> str:
    stored = _values(row)
    return render_template(
        "tools/server.html",
        row=row,
        error=" ".join((errors or {}).values()),
        refused=refusals_by_tool(row, current_user_id(), is_admin=is_admin()),
        stored=stored,
        tools_on=request.form.getlist("tool") if "tools" in request.form else stored["tools"],
        values=request.form if "url" in request.form else stored,
    )


blueprint.add_globals(
    web_is_on=lambda: bool(service.web_of_site()),
    tool_servers_of=servers.servers_of,
    tool_grants_of=servers.grants_of,
)
