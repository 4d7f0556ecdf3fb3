"""Asks the person, in the middle of a turn, whether a tool that writes may be called; Redis carries the answer."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal

from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import RedisError

from webapp.chat.turns import turnlog

ASK_SECONDS = 120.0
"""How long a turn waits for an answer."""
UNREACHABLE_SECONDS = 10.0
"""How long it waits while Redis is unreachable, since nobody can be asked then."""
POLL = 0.2
NO_ANSWER, UNREACHABLE = "silence", "away"
Consent = Literal["ask", "given", "none"]
"""Which calls that may change something a turn makes: on request, only those allowed for good, or none."""
Decision = Literal["once", "always", "never"]
_WORDS = ("once", "always", "never")

Ask = Callable[[int, int], Awaitable[str]]
"""What the person answers about a call of a turn, by its number: a Decision, NO_ANSWER or UNREACHABLE."""


class ConsentWaiter:
    """Waits for people's answers; belongs to one event loop."""

    def __init__(self, client: AsyncRedis) -> None:
        self._client = client

    async def ask(self, turn_id: int, number: int) -> str:
        """Return the answer to a question that is on the turn's stream."""
        start = last_seen = time.monotonic()
        key = turnlog.consent_key(turn_id, number)
        while time.monotonic() - start < ASK_SECONDS:
            try:
                decision = await self._client.getdel(key)
                answer = decision.decode() if isinstance(decision, bytes) else decision
                last_seen = time.monotonic()
            except RedisError:
                answer = None
                if time.monotonic() - last_seen > UNREACHABLE_SECONDS:
                    return UNREACHABLE
            if answer in _WORDS:
                return str(answer)
            await asyncio.sleep(POLL)
        return NO_ANSWER
