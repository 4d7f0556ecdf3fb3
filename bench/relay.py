"""What the product adds to a stream: against the same model server called directly, in the same run."""

from __future__ import annotations

import asyncio
import time

from sqlalchemy import select

from bench import load
from bench.fill import fill_memories
from bench.report import percentile, table, verdict
from bench.stack import MODEL, Stack, running
from webapp import create_app
from webapp.accounts.models import User
from webapp.config import Settings
from webapp.database import db

RATE = 20
SECONDS = 10
LEVELS = (50, 150, 300, 512)
ALONE = 60
BURST = 150
PAUSE = 0.15
MEMORIES = 10_000


def main() -> bool:
    """Measure first tokens alone, streams at each level, and a burst of new chats; whether the promises held."""
    kept = []
    for database in ("sqlite", "mariadb"):
        with running(database=database) as stack:
            kept.append(_burst(stack, database))
            _remember(stack)
            kept.append(_first_token(stack, database))
            if database == "mariadb":
                kept.append(_levels(stack))
    return all(kept)


def _remember(stack: Stack) -> None:
    """Give the user so many memories, and let the web build its index of them."""
    settings = Settings.from_env(stack.environment)
    app = create_app(settings)
    with app.app_context():
        user_id = db.session.scalar(select(User.user_id))
        db.session.rollback()
        fill_memories(user_id, MEMORIES, model=settings.embedding_model, width=384)
    for _ in range(20):  # every web process meets the user at least once
        asyncio.run(load.run(stack.url, load.chat_request(stack.url, stack.token), 1, spread=0, limit=30, tokens=3))


def _first_token(stack: Stack, database: str) -> bool:
    stack.script(tokens=3, stamp=True)
    times: dict[str, list[float]] = {"direct": [], "product": []}
    requests = {
        "direct": (stack.model_url, load.model_request(stack.model_url, MODEL)),
        "product": (stack.url, load.chat_request(stack.url, stack.token)),
    }
    for round_ in range(ALONE + 5):
        time.sleep(PAUSE)  # alone means alone: the turn before has stored its reply and queued its jobs
        for name, (url, request) in requests.items():  # in turns, so that both see the same machine
            stream = asyncio.run(load.run(url, request, 1, spread=0, limit=10, tokens=3))[0]
            if round_ >= 5:
                times[name].append(stream.first_token if stream.first_token is not None else 10_000.0)
    direct, product = times["direct"], times["product"]
    added50 = percentile(product, 50) - percentile(direct, 50)
    added95 = percentile(product, 95) - percentile(direct, 95)
    table(
        f"First token with {MEMORIES:,} memories, {database} (ms)",
        ("", "p50", "p95"),
        [
            ("model server directly", percentile(direct, 50), percentile(direct, 95)),
            ("through Commonplace", percentile(product, 50), percentile(product, 95)),
            ("added", added50, added95),
        ],
    )
    return verdict(f"{database}: first token, added p50 under 15 ms, p95 under 40 ms", added50 < 15 and added95 < 40)


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
