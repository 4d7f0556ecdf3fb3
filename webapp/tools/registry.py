"""The tools that a turn has: those of memory, the built-in ones, and those that were added."""

from datetime import datetime

from webapp.accounts.schemas import UserSettings
from webapp.i18n import dates
from webapp.tools.built_in import BUILT_IN
from webapp.tools.memory import DEFINITIONS
from webapp.tools.servers import tools_for
from webapp.tools.toolset import Tool, Toolset
from webapp.tools.web.definitions import NAMES as WEB_NAMES
from webapp.tools.web.definitions import web_tools
from webapp.tools.web.service import web as kept_web

MIN_WINDOW = 4_096
"""In a model's window of fewer tokens, results from outside would leave no room for a prompt."""
DEFINITIONS_SHARE = 0.15

_MEMORY = tuple(Tool(definition, "memory") for definition in DEFINITIONS)
_OURS = {tool.name for tool in (*_MEMORY, *BUILT_IN)} | set(WEB_NAMES)


def toolset_for(
    settings: UserSettings,
    *,
    remembers: bool,
    builtin: bool = True,
    web: bool = False,
    servers_for: int = 0,
    window: int = 16_000,
) -> Toolset:
    """Return a turn's tools: `builtin` arithmetic and dates, the `web`, servers' tools of the user `servers_for`.

    In a small `window` there is no room for tools that reach out.
    """
    tools = [*(_MEMORY if remembers else ())]
    if builtin and settings.builtin_tools_enabled:
        tools += BUILT_IN
    roomy = window >= MIN_WINDOW
    if roomy and web and (access := kept_web.get()) is not None:
        tools += web_tools(access.engine)
    if roomy and servers_for:
        tools += tools_for(servers_for, int(window * DEFINITIONS_SHARE), _OURS)
    return Toolset(tools, datetime.now(dates.zone(settings.timezone)))
