"""The product's addition to a stream, compared with the same model server called directly in the same run."""

from __future__ import annotations

import asyncio
import time

from bench import load
from bench.first import first_tokens
from bench.report import percentile, table, verdict
from bench.stack import MODEL, Stack, running

RATE = 20
SECONDS = 10
LEVELS = (50, 150, 300, 512)
BURST = 150


def main() -> bool:
    """Measure first tokens alone, streams at each level, and a burst of new chats; returns if the promises held."""
    kept = []
    for database in ("sqlite", "mariadb"):
        with running(database=database) as stack:
            kept.append(_burst(stack, database))
            if database == "mariadb":
                kept.append(_levels(stack))
        kept.append(first_tokens(database))
    return all(kept)


def _burst(stack: Stack, database: str) -> bool:
    stack.script(tokens=RATE, stamp=True, tokens_per_second=RATE)
    streams = asyncio.run(
        load.run(stack.url, load.chat_request(stack.url, stack.token), BURST, spread=1.0, limit=30, tokens=RATE)
    )
    first = [stream.first_token for stream in streams if stream.first_token is not None]
    failed = sum(not stream.finished for stream in streams)
    table(
        f"{BURST} new chats within one second, {database}",
        ("failed", "first token p50 ms", "p95 ms", "max ms"),
        [
            (failed, percentile(first, 50), percentile(first, 95), max(first, default=float("nan"))),
        ],
    )
    return verdict(
        f"{database}: none of {BURST} new chats fails, first token p50 under 100 ms",
        not failed and percentile(first, 50) < 100,
    )


def _levels(stack: Stack) -> bool:
    stack.script(tokens=RATE * SECONDS, stamp=True, tokens_per_second=RATE)
    rows, held = [], True
    for streams in LEVELS:
        direct = asyncio.run(
            load.run(
                stack.model_url,
                load.model_request(stack.model_url, MODEL),
                streams,
                spread=2,
                limit=60,
                tokens=RATE * SECONDS,
            )
        )
        time.sleep(1)
        cpu, _ = stack.usage("web")
        started = time.monotonic()
        found = asyncio.run(
            load.run(
                stack.url, load.chat_request(stack.url, stack.token), streams, spread=2, limit=90, tokens=RATE * SECONDS
            )
        )
        elapsed = time.monotonic() - started
        after, memory = stack.usage("web")
        base = [value for stream in direct for value in stream.latencies]
        latencies = [value for stream in found for value in stream.latencies]
        lost = sum(RATE * SECONDS - stream.received for stream in found)
        disordered = sum(stream.disordered for stream in found)
        added95 = percentile(latencies, 95) - percentile(base, 95)
        rows.append(
            (
                streams,
                sum(stream.finished for stream in found),
                lost,
                disordered,
                percentile(base, 50),
                percentile(base, 95),
                percentile(latencies, 50),
                percentile(latencies, 95),
                added95,
                (after - cpu) / elapsed,
                memory,
                stack.largest("web"),
            )
        )
        if streams == 300:
            held = not lost and not disordered and added95 < 150
        time.sleep(2)
    table(
        f"{RATE} tokens/s a stream for {SECONDS} s, mariadb",
        (
            "streams",
            "completed",
            "tokens lost",
            "out of order",
            "direct p50 ms",
            "direct p95",
            "product p50",
            "product p95",
            "added p95",
            "web cores",
            "web PSS MB",
            "largest web RSS MB",
        ),
        rows,
    )
    return verdict("300 streams: every token in order, added p95 under 150 ms", held)


if __name__ == "__main__":
    main()
