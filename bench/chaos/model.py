"""`python -m bench.chaos.model --port N`: a model server that says the same from the start.

One that is told what to say once it is running would, after each restart, say something else until then.
"""

from __future__ import annotations

import argparse
import asyncio

from bench.chaos.workload import TOKEN_DELAY, WORDS
from fakemodel.script import Rule, Script
from fakemodel.server import FakeServer, serving

RULES = (
    {"reply": WORDS, "token_delay": TOKEN_DELAY},
    {"match": "memory_operations", "structured": {"statements": [], "title": "A title"}},
    {"match": "conversation_title", "structured": {"title": "A title"}},
)
"""Later rules take precedence."""


async def serve(port: int) -> None:
    """Serve until killed."""
    script = Script()
    for rule in RULES:
        script.add(Rule.parse(rule))
    async with serving(FakeServer(script), "127.0.0.1", port):
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser("bench.chaos.model")
    parser.add_argument("--port", type=int, required=True)
    asyncio.run(serve(parser.parse_args().port))
