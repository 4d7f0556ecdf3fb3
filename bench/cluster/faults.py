"""Faults of a cluster: a part of a host, or all of it, dies, freezes, or is shut down cleanly.

What was killed is started again once it is known how long the others took to serve without it.
"""

from __future__ import annotations

import random
import time
from functools import partial

from bench.chaos.faults import Fault, Heal, kill, stand_still
from bench.cluster.galera import Node
from bench.cluster.stack import HOSTS, ClusterStack
from testkit.processes import descendants, wait_until


def writer_killed(stack: ClusterStack, _random: random.Random) -> Heal:
    """kill -9 of the database node that everybody writes to."""
    return _lose(stack, stack.writer())


def reader_killed(stack: ClusterStack, random: random.Random) -> Heal:
    """kill -9 of one of the other nodes: the rest wait until they notice."""
    return _lose(stack, random.choice(_others(stack)))


def writer_suspended(stack: ClusterStack, random: random.Random) -> Heal:
    """The node that everybody writes to is frozen, excluded from the cluster, and comes back."""
    stand_still([stack.writer().pid], random.uniform(2, 12))
    return partial(_whole, stack)


def writer_ended(stack: ClusterStack, _random: random.Random) -> Heal:
    """The node that everybody writes to is shut down cleanly, as in an upgrade."""
    node = stack.writer()
    node.stop()
    return partial(_start, stack, node)


def redis_master_killed(stack: ClusterStack, _random: random.Random) -> Heal:
    """kill -9 of the master: another server takes over."""
    port = stack.redis.master
    stack.redis.kill(port)
    return partial(_start_redis, stack, [port])


def redis_master_suspended(stack: ClusterStack, random: random.Random) -> Heal:
    """The master is frozen, and comes back to find another one."""
    stand_still([stack.redis.pid(stack.redis.master)], random.uniform(1, 10))
    return partial(_whole, stack)


def sentinel_killed(stack: ClusterStack, random: random.Random) -> Heal:
    """kill -9 of a Sentinel: the others are enough."""
    port = random.choice(stack.redis.sentinel_ports)
    stack.redis.kill(port)
    return partial(_start_redis, stack, [port])


def web_host_killed(stack: ClusterStack, random: random.Random) -> Heal:
    """kill -9 of one of the webs with all its processes."""
    return _lose_processes(stack, [f"web{random.choice(HOSTS)}"])


def web_host_suspended(stack: ClusterStack, random: random.Random) -> Heal:
    """One of the webs is frozen, perhaps for longer than a lease."""
    pid = stack.processes[f"web{random.choice(HOSTS)}"].pid
    stand_still([pid, *descendants(pid)], random.uniform(3, 14))
    return partial(_whole, stack)


def worker_host_killed(stack: ClusterStack, random: random.Random) -> Heal:
    """kill -9 of one of the workers, its jobs and its scheduler."""
    return _lose_processes(stack, [f"worker{random.choice(HOSTS)}"])


def host_killed(stack: ClusterStack, random: random.Random) -> Heal:
    """A whole host: web, worker, scheduler, database node, Redis and Sentinel at once."""
    number = random.choice(HOSTS)
    node = stack.galera.nodes[number - 1]
    ports = [stack.redis.ports[number - 1], stack.redis.sentinel_ports[number - 1]]
    names = [f"web{number}", f"worker{number}"]
    node.kill()
    for port in ports:
        stack.redis.kill(port)
    for name in names:
        kill(stack, name)

    def heal() -> None:
        node.start()
        for port in ports:
            stack.redis.start_one(port)
        for name in names:
            stack.restart(name)
        _whole(stack)

    return heal


def proxy_killed(stack: ClusterStack, random: random.Random) -> None:
    """kill -9 of the proxy, with every connection to the web and to the database; started again after a while."""
    kill(stack, "proxy")
    time.sleep(random.uniform(0, 2))
    stack.restart("proxy")


FAULTS: tuple[Fault, ...] = (
    writer_killed,
    reader_killed,
    writer_suspended,
    writer_ended,
    redis_master_killed,
    redis_master_suspended,
    sentinel_killed,
    web_host_killed,
    web_host_suspended,
    worker_host_killed,
    host_killed,
    proxy_killed,
)  # type: ignore[assignment]  # they are for a ClusterStack


def _others(stack: ClusterStack) -> list[Node]:
    writer = stack.writer()
    return [node for node in stack.galera.nodes if node is not writer]


def _lose(stack: ClusterStack, node: Node) -> Heal:
    node.kill()
    return partial(_start, stack, node)


def _start(stack: ClusterStack, node: Node) -> None:
    node.start()
    _whole(stack)


def _start_redis(stack: ClusterStack, ports: list[int]) -> None:
    for port in ports:
        stack.redis.start_one(port)
    _whole(stack)


def _lose_processes(stack: ClusterStack, names: list[str]) -> Heal:
    for name in names:
        kill(stack, name)

    def heal() -> None:
        for name in names:
            stack.restart(name)
        _whole(stack)

    return heal


def _whole(stack: ClusterStack) -> None:
    wait_until(stack.is_whole, "the cluster", seconds=240)
