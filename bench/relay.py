"""The product's addition to a stream, compared with the same model server called directly in the same run."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import load
from bench.first import first_tokens, people
from bench.report import percentile, table, verdict
from bench.stack import MODEL, Stack, run_stack

RATE = 20
SECONDS = 10
LEVELS = (50, 150, 300, 512)
BURSTS = {50: 150, 150: 600}
"""How many people ask within a second, and the milliseconds to the first token promised to half of them."""
LONE_TURNS = 15
LONE_PAUSE = 2.0


@dataclass(frozen=True)
class Peer:
    """Another program that speaks OpenAI's API and relays to a model: its base URL, a key, and the model's name."""

    url: str
    key: str
    model: str


def main(arguments: Sequence[str] = ()) -> bool:
    """Measure bursts of people, streams at each level, lone turns and first tokens; returns if the promises held."""
    peer = _peer(arguments)
    held = []
    for database in ("sqlite", "mariadb"):
        with run_stack(database=database, worker=True) as stack:
            stack.script(tokens=RATE, stamp=True, tokens_per_second=RATE)
            tokens = people(stack, max(BURSTS))
            held += [_burst(stack, database, tokens[:count]) for count in BURSTS]
            if database == "mariadb":
                held.append(_lone_turns(stack, tokens))
                held.append(_levels(stack, tokens))
            if peer and database == "sqlite":
                _peer_bursts(peer)
        held.append(first_tokens(database))
    return all(held)


def _peer(arguments: Sequence[str]) -> Peer | None:
    parser = argparse.ArgumentParser(prog="python -m bench relay", description=main.__doc__)
    parser.add_argument("--peer", help="base URL of another program, which is given the same bursts")
    parser.add_argument("--peer-key", default="bench")
    parser.add_argument("--peer-model", default=MODEL)
    given = parser.parse_args(list(arguments))
    return Peer(given.peer, given.peer_key, given.peer_model) if given.peer else None


def _burst(stack: Stack, database: str, tokens: Sequence[str]) -> bool:
    """Have each of these people begin a conversation within one second, with the jobs of all of them running."""
    request = load.chat_request(stack.url, *tokens)
    count, most = len(tokens), BURSTS[len(tokens)]
    title = f"{count} people begin to chat within a second, {database}"
    failed, half = _ask_at_once(title, stack.url, request, count, RATE)
    return verdict(
        f"{database}: none of {count} people fails, first token p50 under {most} ms", not failed and half < most
    )


def _peer_bursts(peer: Peer) -> None:
    """Ask another program the same, over http; whatever its model says counts."""
    for count in BURSTS:
        request = load.model_request(peer.url, peer.model, peer.key)
        _ask_at_once(f"{count} requests within a second, {peer.url}", peer.url, request, count, 0)


def _ask_at_once(title: str, url: str, request: Callable[[int], bytes], count: int, tokens: int) -> tuple[int, float]:
    streams = asyncio.run(load.run(url, request, count, spread=1.0, limit=60, tokens=tokens))
    first = [stream.first_token for stream in streams if stream.first_token is not None]
    failed = sum(not stream.finished for stream in streams)
    row = (failed, percentile(first, 50), percentile(first, 95), max(first, default=float("nan")))
    table(title, ("failed", "first token p50 ms", "p95 ms", "max ms"), [row])
    time.sleep(5)  # the jobs of one burst are not those of the next
    return failed, percentile(first, 50)


def _lone_turns(stack: Stack, tokens: Sequence[str]) -> bool:
    """Measure the CPU of a turn that nobody else's disturbs, by process."""
    stack.script(tokens=RATE, stamp=True)
    asyncio.run(load.run(stack.url, load.chat_request(stack.url, *tokens), 2, spread=1, limit=30, tokens=RATE))
    time.sleep(10)
    before = {name: stack.usage(name)[0] for name in ("web", "worker")}
    for number in range(LONE_TURNS):
        request = load.chat_request(stack.url, tokens[number])
        asyncio.run(load.run(stack.url, request, 1, spread=0, limit=30, tokens=RATE))
        time.sleep(LONE_PAUSE)
    each = {name: (stack.usage(name)[0] - before[name]) / LONE_TURNS * 1_000 for name in before}
    table(f"CPU of a lone turn of {RATE} tokens, mariadb (ms)", tuple(each), [tuple(each.values())])
    return verdict("a lone turn: web under 30 ms, jobs under 100 ms", each["web"] < 30 and each["worker"] < 100)


def _levels(stack: Stack, tokens: Sequence[str]) -> bool:
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
                stack.url, load.chat_request(stack.url, *tokens), streams, spread=2, limit=90, tokens=RATE * SECONDS
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
