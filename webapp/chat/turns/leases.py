"""The leases of a process's turns: the marker in Redis that a live process runs them."""

import asyncio
import logging
import os
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Collection

from redis.asyncio import Redis
from redis.exceptions import RedisError

from webapp.chat.turns import turnlog

log = logging.getLogger(__name__)

MAX_RENEWAL_SECONDS = 2.0
"""Seconds between renewals, however long the leases are: recovery suspects a turn without one after 4 s."""

# Held (1), taken again after it had lapsed (0), or somebody else's (-1): a lease that lapsed may have been taken by
# recovery, which then stored what the stream held. Renewing it without checking would let this process write on.
_RENEW = """
local owner = redis.call('get', KEYS[1])
if owner == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end
if owner then return -1 end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 0
"""
_HELD, _LAPSED = 1, 0

Check = Callable[[Collection[int]], Awaitable[Collection[int]]]


class Leases:
    """The leases of one event loop; `still_ours` says which turns are being written, `lost` is called for others."""

    def __init__(self, client: Redis, *, seconds: float, still_ours: Check, lost: Callable[[int], None]) -> None:
        self._client = client
        self._milliseconds = int(seconds * 1000)
        self._seconds = seconds
        self._still_ours = still_ours
        self._lost = lost
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex}".encode()
        self._renewed_at = time.monotonic()
        self._lock = asyncio.Lock()
        self.turns: set[int] = set()

    async def acquire(self, turn_id: int) -> bool:
        """Return whether this process may run the turn; without Redis it may."""
        key = turnlog.lease_key(turn_id)
        try:
            is_taken = await self._client.set(key, self._owner, nx=True, px=self._milliseconds)
            # A command that was sent again because its answer was lost finds the lease of its first try.
            return bool(is_taken) or await self._client.get(key) == self._owner
        except RedisError as error:
            # The answer matters more than the lease: in the end the row's status is claimed in the database.
            log.warning("turn runs without a lease", extra={"turn_id": turn_id, "error": type(error).__name__})
            return True

    async def release(self, turn_id: int) -> None:
        """Release the lease of a finished turn."""
        await self._client.delete(turnlog.lease_key(turn_id))

    async def keep(self) -> None:
        """Renew the leases when it is time again. Raises RedisError."""
        await asyncio.sleep(min(self._seconds / 4, MAX_RENEWAL_SECONDS))
        await self.renew()

    async def renew_if_lapsed(self) -> None:
        """Renew the leases if they may have lapsed unnoticed, as in a process that was suspended for a while."""
        if self.turns and time.monotonic() - self._renewed_at > self._seconds:
            await self.renew()

    async def renew(self) -> None:
        """Renew every lease that is still this process's. Raises RedisError."""
        async with self._lock:
            turn_ids = list(self.turns)
            moment = time.monotonic()
            if turn_ids:
                async with self._client.pipeline(transaction=False) as pipe:
                    for turn_id in turn_ids:
                        pipe.eval(_RENEW, 1, turnlog.lease_key(turn_id), self._owner, self._milliseconds)
                    states = dict(zip(turn_ids, await pipe.execute(), strict=True))
                lapsed = {turn_id for turn_id, state in states.items() if state == _LAPSED}
                own_ids = set(await self._still_ours(lapsed)) if lapsed else set()
                for turn_id, state in states.items():
                    if state != _HELD and turn_id not in own_ids and turn_id in self.turns:
                        log.warning("turn is not ours any more", extra={"turn_id": turn_id})
                        self._lost(turn_id)
            self._renewed_at = moment
