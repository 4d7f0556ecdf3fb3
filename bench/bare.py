"""`python -m bench.bare PORT HOST:PORT`: passes requests to the model server and its answers back, and nothing else.

It shows what any server between a browser and a model costs on this machine, to measure the product against.
"""

from __future__ import annotations

import asyncio
import sys


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # the reader has left
    finally:
        writer.close()


async def serve(port: int, host: str, model_port: int) -> None:
    """Relay until told to stop."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        model_reader, model_writer = await asyncio.open_connection(host, model_port)
        await asyncio.gather(_pipe(reader, model_writer), _pipe(model_reader, writer))

    server = await asyncio.start_server(relay, "127.0.0.1", port, backlog=4_096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    model_host, _, model_at = sys.argv[2].partition(":")
    asyncio.run(serve(int(sys.argv[1]), model_host, int(model_at)))
