"""Importing a large ChatGPT export: time, peak memory of the worker, and how others are served meanwhile.

`python -m bench imports [CONVERSATIONS] [mariadb|sqlite] [large] [minutes=N]`: without arguments, 50,000 conversations
on MariaDB; `large` makes the export about 2 GB unpacked; after N minutes (90) it gives up and says how far it got.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

from bench.report import percentile, table, verdict
from bench.stack import Stack, family, resident, run_stack
from testkit.exports import chatgpt_conversation, node

CONVERSATIONS = 50_000
SHARD = 1_000
TURNS = 5
"""How many questions with answers are added to what the tests' generator makes."""
MOST_MB = 300.0
PAUSE = 0.2
LARGE_BYTES = 2 * 10**9
SENTENCES, SENTENCE_BYTES = 6, 75
"""Sentences in each added message, and roughly the bytes of each."""
MINUTES = 90.0
TOLD = 60.0
"""Seconds between two progress reports."""
SEARCHABLE = 10_000 / 60
"""The least number of messages per second that become searchable: ten thousand per minute."""
FLAT = 3.0
"""The most by which the median time of others' requests may be multiplied."""


def main(given: list[str]) -> bool:
    """Import an export into a fresh product; returns whether the worker stayed small and others were served."""
    count = next((int(word) for word in given if word.isdecimal()), CONVERSATIONS)
    database = "sqlite" if "sqlite" in given else "mariadb"
    minutes = next((float(word[8:]) for word in given if word.startswith("minutes=")), MINUTES)
    sentences = LARGE_BYTES // (count * TURNS * 2 * SENTENCE_BYTES) if "large" in given else SENTENCES
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-", dir="/tmp") as folder:  # noqa: S108
        path = Path(folder) / "chatgpt.zip"
        messages, size = write_export(path, count, max(SENTENCES, sentences))
        print(f"{count:,} conversations, {messages:,} messages, {size / 2**20:.0f} MB unpacked, "
              f"{path.stat().st_size / 2**20:.0f} MB as a ZIP", flush=True)  # fmt: skip
        with run_stack(database=database, worker=True) as stack:
            return _measure(stack, path, count, messages, database, time.monotonic() + minutes * 60)


def write_export(path: Path, count: int, sentences: int = SENTENCES) -> tuple[int, int]:
    """Write a ZIP of shards as ChatGPT does, with the tests' generator; returns visible messages and unpacked bytes."""
    messages = size = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for shard in range(0, count, SHARD):
            # One at a time into the archive, so that a large shard is not held in memory.
            with archive.open(f"conversations-{shard // SHARD:03}.json", "w", force_zip64=True) as file:
                for number in range(shard, min(count, shard + SHARD)):
                    data = json.dumps(_conversation(number, sentences)).encode()
                    file.write((b"[" if number == shard else b",") + data)
                    messages += 2 + 2 * TURNS
                    size += len(data) + 1
                file.write(b"]")
    return messages, size


def _conversation(number: int, sentences: int) -> dict[str, Any]:
    words = random.Random(number)  # noqa: S311 - the same every time
    made = chatgpt_conversation(number)
    parent = made["current_node"]
    for turn in range(TURNS):
        for role in ("user", "assistant"):
            key = f"{role[0]}{turn + 2}"
            text = "".join(
                f"{role} says something about topic {number % 977} and thing {words.randrange(10**9)}. "
                for _ in range(sentences)
            )
            made["mapping"][key] = node(key, parent, role, text, 1_700_000_100.0 + turn)
            parent = key
    made["current_node"] = parent
    return made


class Others:
    """Somebody else who keeps loading the list of conversations; also watches the size of the worker."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.times: list[float] = []
        self.peak = 0.0
        self.total = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Others:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(PAUSE):
            started = time.perf_counter()
            self.stack.client.ask("GET", "/api/conversations")
            self.times.append((time.perf_counter() - started) * 1000)
            sizes = []
            for pid in family(self.stack.processes["worker"].pid):
                try:
                    sizes.append(resident(pid))
                except OSError:
                    continue  # it has just ended
            self.peak = max(self.peak, *sizes, 0.0)
            self.total = max(self.total, sum(sizes))


def _measure(stack: Stack, path: Path, count: int, messages: int, database: str, end: float) -> bool:
    with Others(stack) as before:
        time.sleep(5)
    with Others(stack) as during:
        started = time.monotonic()
        number = _upload(stack, path)
        uploaded = time.monotonic()
        _wait(stack, number, ("ready",), end)
        looked = time.monotonic()
        stack.client.ask("POST", f"/api/imports/{number}/start", {"take": ["conversations"]})
        done = _wait(stack, number, ("done",), end)
        taken = time.monotonic()
        is_found = _wait_until_found(stack, count, end)
        found = time.monotonic()
    came = done["counts"].get("conversations imported", 0)
    table(
        f"{count:,} conversations of ChatGPT taken in, {database}",
        ("step", "seconds", "messages a second"),
        [
            ("uploaded", f"{uploaded - started:.1f}", ""),
            ("looked at", f"{looked - uploaded:.1f}", f"{messages / max(looked - uploaded, 0.01):,.0f}"),
            ("taken in", f"{taken - looked:.1f}", f"{messages / max(taken - looked, 0.01):,.0f}"),
            ("searchable after", f"{found - taken:.1f}" if is_found else "never", ""),
        ],
    )
    table(
        "The others meanwhile (ms)",
        ("", "requests", "p50", "p95", "worker's largest process, MB", "all of its processes, MB"),
        [
            (
                name,
                len(seen.times),
                percentile(seen.times, 50),
                percentile(seen.times, 95),
                f"{seen.peak:.0f}",
                f"{seen.total:.0f}",
            )
            for name, seen in (("before", before), ("during", during))
        ],
    )
    slower = percentile(during.times, 50) / max(percentile(before.times, 50), 0.1)
    return all(
        (
            verdict(f"all {count:,} conversations came in", came == count),
            verdict(
                f"found at {messages / max(found - looked, 0.01):,.0f} messages a second ({SEARCHABLE:.0f} at least)",
                is_found and messages / max(found - looked, 0.01) >= SEARCHABLE,
            ),
            verdict(f"no process of the worker above {MOST_MB:.0f} MB", during.peak < MOST_MB),
            verdict(f"the others' median at most {FLAT:.0f} times as long", slower <= FLAT),
        )
    )


def _upload(stack: Stack, path: Path) -> int:
    command = ["curl", "-sS", "-H", f"Authorization: Bearer {stack.token}", "-F", f"file=@{path}"]
    done = subprocess.run([*command, f"{stack.url}/api/imports"], capture_output=True, check=True)
    return int(json.loads(done.stdout)["import_id"])


def _wait(stack: Stack, number: int, statuses: tuple[str, ...], end: float) -> dict[str, Any]:
    """The import once it has one of the statuses. Raises RuntimeError if it fails, TimeoutError if time runs out."""
    told = time.monotonic()
    while True:
        row: dict[str, Any] = stack.client.ask("GET", f"/api/imports/{number}")
        if row["status"] in statuses:
            return row
        if row["status"] not in ("reading", "ready", "running"):
            raise RuntimeError(f"the import is {row['status']}: {row['error']}")
        if time.monotonic() > end:
            raise TimeoutError(f"time is up; the import is {row['status']}, so far: {row['counts']}")
        if time.monotonic() > told + TOLD:
            told = time.monotonic()
            print(f"{row['status']}: {row['counts']}", flush=True)
        time.sleep(0.5)


def _wait_until_found(stack: Stack, count: int, end: float) -> bool:
    """Return whether the last conversation is found before time runs out."""
    while not stack.client.ask("GET", f"/api/search?q=topic+{(count - 1) % 977}&kinds=message")["results"]:
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True
