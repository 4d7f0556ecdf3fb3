"""Models that do not get a tool because their server refuses it; found out in replies, and known for a day."""

from collections.abc import Iterable

from webapp.extensions import app_settings
from webapp.llm.capabilities import tool_fingerprint
from webapp.llm.settings import Target
from webapp.providers.catalogue import HOME_ID, catalogue, models_for_user
from webapp.providers.clients import completions
from webapp.tools.mcp_client.tool_schemas import definition_of
from webapp.tools.models import ToolServer


def refusals_by_tool(row: ToolServer, user_id: int, *, is_admin: bool) -> dict[str, list[str]]:
    """Return, by the names of a server's tools, which of the models that this user may choose refuse them."""
    refusals: dict[str, list[str]] = {}
    tools = _fingerprints(row)
    for offer in models_for_user(user_id, is_admin=is_admin) if tools else ():
        names = completions().capabilities.tools_refused(offer.target.settings.endpoint()[0], offer.target.model)
        for name in (name for name, fingerprint in tools.items() if fingerprint in names):
            refusals.setdefault(name, []).append(offer.label)
    return refusals


def forget(row: ToolServer) -> None:
    """Offer the tools of a server to all models again."""
    tools = _fingerprints(row)
    for target in _targets() if tools else ():
        completions().capabilities.forget_tools(target.settings.endpoint()[0], target.model, set(tools.values()))


def _fingerprints(row: ToolServer) -> dict[str, str]:
    return {tool["name"]: tool_fingerprint(definition_of("", tool)) for tool in row.tools}


def _targets() -> Iterable[Target]:
    home = app_settings().model
    return [Target(HOME_ID, home.chat_model, home), *(offer.target for offer in catalogue.all())]
