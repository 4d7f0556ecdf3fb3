"""Which tools a turn has: those of memory, those that come with the program, and those that were added."""

from __future__ import annotations

from datetime import datetime

from webapp import dates
from webapp.accounts.schemas import UserSettings
from webapp.tools.memory import DEFINITIONS
from webapp.tools.toolset import BUILT_IN, Tool, Toolset

_MEMORY = tuple(Tool(definition, "memory") for definition in DEFINITIONS)


def toolset_for(wished: UserSettings, *, remembers: bool, builtin: bool = True) -> Toolset:
    """The tools of a turn of somebody with these settings; `builtin`: the model is to be offered arithmetic and dates.

    Costs no statement for somebody without tools of servers.
    """
    tools = [*(_MEMORY if remembers else ())]
    if builtin and wished.builtin_tools_enabled:
        tools += BUILT_IN
    return Toolset(tools, datetime.now(dates.zone(wished.timezone)))
