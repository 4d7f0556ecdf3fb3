"""Tools that a model server refuses, found by asking it with ever fewer of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import ModelError, ModelNotFound, ModelUnavailable

MAX_TRIALS = 32
"""The most requests for one search; tools that were not reached are left out once, and tried in the next one."""
_REFUSALS = (400, 404, 422, 500, 501)

Tool = dict[str, Any]
AcceptsTools = Callable[[Sequence[Tool]], Awaitable[bool]]

ORDINARY: Tool = {
    "type": "function",
    "function": {
        "name": "calculate",
        "description": "Exact arithmetic.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
}
"""A tool that every server takes which takes any."""


def may_be_about_tools(error: ModelError) -> bool:
    """Return whether a server turned a request down for a reason that may lie in its tools."""
    if not isinstance(error, (ModelUnavailable, ModelNotFound)):
        return False
    return error.status in _REFUSALS or (error.status is None and not error.retryable)


@dataclass(slots=True)
class Search:
    """The search among some tools. `takes` says whether the server takes a request with such tools, or raises if that
    cannot be told; `refuse` is called with each tool that it refuses even alone. At the end `tools` are those that it
    takes; `takes_none` means that it takes no tools at all."""

    takes: AcceptsTools
    refuse: Callable[[Tool], None]
    tools: list[Tool] = field(default_factory=list)
    takes_none: bool = False
    _trials: int = 0

    async def run(self, tools: Sequence[Tool]) -> bool:
        if await self._try(tools):
            return False
        if not await self._try([ORDINARY]):
            self.takes_none = await self._try([])  # otherwise it answers nothing at all now
            return self.takes_none
        await self._search_halves(tools)
        return True

    async def _search_halves(self, tools: Sequence[Tool]) -> None:
        """Keep the tools that the server takes, of some that it refuses together."""
        if len(tools) == 1:
            # Alone, and not because the server takes nothing just now: this is held against it for a day.
            if not await self._try(tools) and await self._try([ORDINARY]):
                self.refuse(tools[0])
            return
        middle = (len(tools) + 1) // 2
        is_known = False  # if the first half is taken, it is known that the second is not
        for half in (tools[:middle], tools[middle:]):
            if self._trials >= MAX_TRIALS:
                return
            if not is_known and await self._try([*self.tools, *half]):
                self.tools += half
                is_known = True
            else:
                await self._search_halves(half)

    async def _try(self, tools: Sequence[Tool]) -> bool:
        self._trials += 1
        return await self.takes(tools)
