"""Measurements of jobs, turns, the database and Redis, in numbers that all processes share.

Processes add what they measure to a hash in Redis: the web from a thread, a job at its end. `/metrics` reports the
sums.
"""

import logging
import os
import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from webapp.loops import repeat

log = logging.getLogger(__name__)

KEY = "metrics"
FLUSH_SECONDS = 5.0
_SEPARATOR = "\x1f"

_WAITS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 5.0)
_TURNS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0)
_JOBS = (0.05, 0.2, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0)


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric: a histogram of seconds or, without buckets, a counter."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


JOB = Measure("commonplace_job_seconds", "One try of a job; outcome: done, again, failed", ("job", "outcome"), _JOBS)
QUEUE_WAIT = Measure("commonplace_job_wait_seconds", "From a queue to the start of a job", ("queue",), _JOBS)
TURN = Measure("commonplace_turn_seconds", "A turn, from its start to its last word", ("status",), _TURNS)
FIRST_TOKEN = Measure("commonplace_turn_first_token_seconds", "From the start of a turn to its first word", (), _TURNS)
MODEL_TIME = Measure("commonplace_turn_model_seconds", "What a turn waited for its model calls", (), _TURNS)
RETRIEVAL = Measure("commonplace_turn_retrieval_seconds", "What a turn spent on finding what to remember", (), _WAITS)
TOKENS = Measure("commonplace_turn_tokens", "Tokens of replies, as models report them", ("kind",))
DATABASE = Measure("commonplace_database_seconds", "One statement of the database", (), _WAITS)
REDIS = Measure("commonplace_redis_seconds", "One command or pipeline of Redis", (), _WAITS)
ALL = {
    measure.name: measure
    for measure in (JOB, QUEUE_WAIT, TURN, FIRST_TOKEN, MODEL_TIME, RETRIEVAL, TOKENS, DATABASE, REDIS)
}

_ADD = "for i = 1, #ARGV, 2 do redis.call('hincrbyfloat', KEYS[1], ARGV[i], ARGV[i + 1]) end"

Key = tuple[str, ...]
"""A measure's name and the values of its labels."""


class Recorder:
    """The measurements of this process since it last handed on its numbers: count, sum and count per bucket, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[Key, list[float]] = {}
        os.register_at_fork(after_in_child=self._reset_after_fork)

    def observe(self, measure: Measure, seconds: float, *labels: str) -> None:
        """Record how long something took."""
        with self._lock:
            numbers = self._numbers(measure, labels)
            numbers[0] += 1
            numbers[1] += seconds
            numbers[2 + bisect_left(measure.buckets, seconds)] += 1

    def count(self, measure: Measure, amount: float, *labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._numbers(measure, labels)[0] += amount

    def flush(self, client: Redis) -> None:
        """Hand everything on, in one command; if Redis is away, keep it."""
        with self._lock:
            pending, self._pending = self._pending, {}
        if not pending:
            return
        increments: list[str | float] = []
        for key, numbers in pending.items():
            for place, number in enumerate(numbers):
                if number:
                    increments += (_SEPARATOR.join((*key, str(place))), number)
        try:
            client.eval(_ADD, 1, KEY, *increments)
        except RedisError:
            self._restore_numbers(pending)

    def _numbers(self, measure: Measure, labels: tuple[str, ...]) -> list[float]:
        key = (measure.name, *labels)
        numbers = self._pending.get(key)
        if numbers is None:
            numbers = self._pending[key] = [0.0] * (3 + len(measure.buckets) if measure.buckets else 1)
        return numbers

    def _restore_numbers(self, pending: dict[Key, list[float]]) -> None:
        with self._lock:
            for key, numbers in pending.items():
                now = self._pending.setdefault(key, [0.0] * len(numbers))
                self._pending[key] = [a + b for a, b in zip(now, numbers, strict=True)]

    def _reset_after_fork(self) -> None:
        """Forget, in a forked child, the measurements that its parent reports."""
        self._lock = threading.Lock()
        self._pending = {}


recorder = Recorder()


def keep_flushing(client: Redis) -> None:
    """Hand on this process's measurements every few seconds, for as long as it lives."""

    def work() -> None:
        time.sleep(FLUSH_SECONDS)
        recorder.flush(client)

    loop = (work, log, "measures were not handed on", FLUSH_SECONDS)
    threading.Thread(target=repeat, args=loop, name="measures", daemon=True).start()


class GatheredMetrics(Collector):
    """Metrics gathered already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterator[Metric]:
        """Yield the gathered metrics."""
        return iter(self._metrics)


def shared_metrics(client: Redis) -> list[Metric]:
    """Return the sums of all processes, for `/metrics`; no samples while Redis is away."""
    recorder.flush(client)
    try:
        stored = cast(dict[bytes, bytes], client.hgetall(KEY))
    except RedisError:
        stored = {}
    return list(families({field.decode(): float(value) for field, value in stored.items()}))


def families(stored: dict[str, float]) -> Iterator[Metric]:
    """Return the fields of the hash as metrics; skip those unknown to this version."""
    values: dict[Key, list[float]] = {}
    for name, value in stored.items():
        *key, place = name.split(_SEPARATOR)
        measure = ALL.get(key[0])
        if measure is not None and len(key) == 1 + len(measure.labels):
            size = 3 + len(measure.buckets) if measure.buckets else 1
            numbers = values.setdefault(tuple(key), [0.0] * size)
            if int(place) < size:
                numbers[int(place)] = value
    for measure in ALL.values():
        of_it = [(key[1:], numbers) for key, numbers in values.items() if key[0] == measure.name]
        yield _histogram(measure, of_it) if measure.buckets else _counter(measure, of_it)


def _histogram(measure: Measure, series: Iterable[tuple[Key, list[float]]]) -> Metric:
    family = HistogramMetricFamily(measure.name, measure.help, labels=measure.labels)
    for labels, (_, total, *counts) in series:
        so_far, buckets = 0.0, []
        for edge, count in zip((*map(str, measure.buckets), "+Inf"), counts, strict=True):
            so_far += count
            buckets.append((edge, so_far))
        family.add_metric(labels, buckets, total)
    return family


def _counter(measure: Measure, series: Iterable[tuple[Key, list[float]]]) -> Metric:
    family = CounterMetricFamily(measure.name, measure.help, labels=measure.labels)
    for labels, (value,) in series:
        family.add_metric(labels, value)
    return family
