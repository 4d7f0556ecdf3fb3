"""The tools of one turn, composed of built-in ones and those of servers; pure."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from webapp.text.tokens import estimate_tokens

ROUNDS, REMOTE_ROUNDS = 4, 8
"""How often the model may call tools in one reply: if all of them are local, and if some reach out."""
MAX_CALLS = 8
"""The most calls at once."""
REMOTE_SECONDS = 120.0
"""The most time that calls which reach out may take together in one reply, not counting the wait for the person."""
MAX_TOKENS = 3_000
"""The most tokens of one result; a longer one is shortened with a mark."""
REMOTE_TOKENS = 8_000
"""The most tokens of all results from outside in one reply; fewer if the model's window is small."""
REMOTE_SHARE = 0.25

Kind = Literal["memory", "local", "remote", "client"]
Output = dict[str, Any]


class ToolFailed(Exception):
    """A call failed; the message is a sentence for the model and the reader."""


@dataclass(slots=True)
class ToolContext:
    """The surroundings of a call: the user's time, the tokens its result may have, and the texts from which a URL may
    be taken: what the user wrote and what tools returned. A tool that reaches out may add to these."""

    now: datetime
    tokens: int = MAX_TOKENS
    words: list[str] = field(default_factory=list)


Run = Callable[[dict[str, Any], ToolContext], Awaitable[Output]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is offered, and how it is carried out.

    `memory` tools run in the turn's database threads, `local` ones answer at once, `remote` ones reach out, shown and
    stoppable, with untrusted results; `client` ones end the turn. `writes`: it may change something; `asks`: the person
    first; `server` and `title` say to whom it goes.
    """

    definition: dict[str, Any]
    kind: Kind
    run: Run | None = None
    writes: bool = False
    asks: bool = False
    seconds: float = 20.0
    server: str = ""
    server_id: int | None = None
    title: str = ""

    @property
    def name(self) -> str:
        """Return the tool's name in calls."""
        return str(self.definition["function"]["name"])


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of a turn, the person's local time, and the other parameters of a request that offers the tools."""

    tools: Sequence[Tool] = ()
    now: datetime | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """Return the tools' definitions for the model, always in the same order, since providers cache them."""
        return [tool.definition for tool in self.tools]

    @property
    def asks_other_servers(self) -> bool:
        """Return whether some of them ask other servers."""
        return any(tool.kind == "remote" for tool in self.tools)

    @property
    def is_described_by_others(self) -> bool:
        """Return whether some of their descriptions come from other servers, and may demand something of the model."""
        return any(tool.server for tool in self.tools)

    @property
    def rounds(self) -> int:
        """Return how often the model may call tools."""
        return REMOTE_ROUNDS if self.asks_other_servers else ROUNDS

    @property
    def definition_tokens(self) -> int:
        """Return the tokens of the definitions of added tools, which must be kept free in the model's window, too."""
        return sum(estimate_tokens(str(tool.definition)) for tool in self.tools if tool.kind in ("remote", "client"))

    def result_tokens(self, window: int) -> int:
        """Return the tokens that must be kept free in the model's window for their results."""
        return min(REMOTE_TOKENS, int(window * REMOTE_SHARE)) if self.asks_other_servers else 0

    def get(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def without(self, names: Collection[str]) -> "Toolset":
        """Return the toolset without the tools of these names."""
        return Toolset([tool for tool in self.tools if tool.name not in names], self.now, self.parameters)
