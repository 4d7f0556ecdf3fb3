"""The cancellation of a turn's task: how its end is brought to an end all the same."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end even if a stop arrives in the meantime: there is nothing left to stop."""
    task = asyncio.create_task(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            clear_cancellation()


def clear_cancellation() -> None:
    """Undo the cancellation of the current task, which has been dealt with."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
