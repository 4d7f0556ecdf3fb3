"""HAProxy in front of the web and of the databases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

BEGIN = """\
global
    maxconn 4000
defaults
    timeout connect 1s
    timeout client 75s
    timeout server 75s
    timeout check 2s
    option redispatch 1
    retries 2
"""
# Comment lines come at least every 15 s, so 75 s cut off nobody. HAProxy buffers no responses.
# If a web dies before it has answered, the request goes to another one, as far as HAProxy has all of it and it is
# idempotent.
WEB = """\
listen web
    mode http
    bind 127.0.0.1:{port}
    balance leastconn
    option http-no-delay
    option http-buffer-request
    retry-on conn-failure empty-response
    http-request disable-l7-retry unless {{ method GET HEAD }} or {{ req.hdr(Idempotency-Key) -m found }}
    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 1s fall 2 rise 1
{servers}
"""
# Everybody writes to one node: locks that a statement takes (FOR UPDATE) are known on that node only. The node in use
# is kept until it fails, even if another one comes back.
DATABASE = """\
listen database
    mode tcp
    bind 127.0.0.1:{port}
    balance first
    stick-table type ip size 10
    stick on dst
    timeout client 1h
    timeout server 1h
    option httpchk GET /
    http-check expect status 200
    default-server check inter 500ms fall 2 rise 2 on-marked-down shutdown-sessions
{servers}
"""


def write(path: Path, web: tuple[int, Sequence[int]], database: tuple[int, Sequence[tuple[int, int]]]) -> None:
    """Write HAProxy's configuration.

    web: its port and those of the hosts; database: its port and, for each node, its port and its health check's.
    """
    hosts = "\n".join(f"    server web{number} 127.0.0.1:{port}" for number, port in enumerate(web[1], 1))
    nodes = "\n".join(
        f"    server db{number} 127.0.0.1:{port} port {health}" for number, (port, health) in enumerate(database[1], 1)
    )
    parts = [BEGIN, WEB.format(port=web[0], servers=hosts), DATABASE.format(port=database[0], servers=nodes)]
    path.write_text("\n".join(parts))
