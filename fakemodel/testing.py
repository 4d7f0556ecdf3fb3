"""The fake model within a test: in a thread, on a free port, with its script at hand."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .providers import NO_QUIRKS, PROVIDERS
from .script import Hold, Rule, Script
from .server import FakeServer, serving


class ServerHandle:
    """A running server: `base_url` for clients, and its script if it has one."""

    def __init__(self, base_url: str, server: FakeServer) -> None:
        self.base_url = base_url
        self._server = server

    def script(self, **rule: Any) -> None:
        """Add a rule (see `script.Rule`), which takes precedence over the existing ones."""
        self._scripted().add(Rule.parse(rule))

    def hold_reply(self, after: int = 3, **rule: Any) -> Hold:
        """Script a reply that waits after some of its pieces for `release()`: it is not done before the test is."""
        hold = Hold(after)
        self.script(**{"reply": ["word "] * (after + 3), **rule}, hold=hold)
        return hold

    def imitate(self, provider: str) -> None:
        """Answer with the quirks of a kind of provider from now on (see `providers.PROVIDERS`)."""
        self._server.quirks = PROVIDERS[provider]

    def calls(self) -> list[dict[str, Any]]:
        """Return the requests so far, oldest first."""
        return self._scripted().calls()

    def reset(self) -> None:
        """Forget rules, calls and the provider to imitate."""
        self._scripted().reset()
        self._server.quirks = NO_QUIRKS

    def wait_for(
        self, condition: Callable[[list[dict[str, Any]]], bool], timeout: float = 10.0
    ) -> list[dict[str, Any]]:
        """Return the calls once `condition` holds for them. Raises AssertionError if it does not in time."""
        deadline = time.monotonic() + timeout
        while not condition(calls := self.calls()):
            assert time.monotonic() < deadline, f"calls did not become as expected: {calls}"
            time.sleep(0.005)
        return calls

    def _scripted(self) -> Script:
        assert self._server.script is not None, "the server was started without a script"
        return self._server.script


@contextmanager
def serve_in_thread(scripted: bool = True, **options: Any) -> Iterator[ServerHandle]:
    """Serve on 127.0.0.1 until the block ends; `remembers`: texts of which a vector is made once only; `slots`: how
    many answers are written at a time."""
    server = FakeServer(Script() if scripted else None, **options)
    ready = threading.Event()
    state: dict[str, Any] = {}

    async def serve() -> None:
        stop = asyncio.Event()
        async with serving(server, "127.0.0.1", 0) as bound:
            state.update(loop=asyncio.get_running_loop(), stop=stop, port=bound)
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as problem:  # shown to the test, which waits for it
            state["problem"] = problem
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="fake-model", daemon=True)
    thread.start()
    ready.wait(30)
    if "port" not in state:
        raise RuntimeError("the fake model did not start") from state.get("problem")
    try:
        yield ServerHandle(f"http://127.0.0.1:{state['port']}/v1", server)
    finally:
        state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join(30)
    if "problem" in state:
        raise RuntimeError("the fake model failed") from state["problem"]
