"""The screen tour's server within a test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from webapp.tour.server import TourServer


@contextmanager
def tour_in_thread() -> Iterator[str]:
    """Serve the tour on a free port until the block ends, as fast as it can; yields its address for clients."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(
        TourServer(pieces_per_second=100_000, first_delay=0).app(), handler_cancellation=True, shutdown_timeout=0.5
    )

    async def start() -> int:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return int(runner.addresses[0][1])

    port = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, name="screen-tour", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
