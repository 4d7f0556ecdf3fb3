"""`python -m bench.cluster.health PORT=SOCKET …`: tells by HTTP whether a Galera node serves, as clustercheck does.

A proxy that only checks the port would keep sending work to a node that has left its cluster.
"""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import MySQLdb


def is_synced(socket: str) -> bool:
    """Return whether the node behind a Unix socket is in sync and serves."""
    try:
        connection = MySQLdb.connect(unix_socket=socket, user="root", connect_timeout=1, read_timeout=1)
    except MySQLdb.Error:
        return False
    try:
        cursor = connection.cursor()
        cursor.execute("SHOW STATUS LIKE 'wsrep_local_state'")
        found = cursor.fetchone()
        return bool(found) and found[1] == "4"
    except MySQLdb.Error:
        return False
    finally:
        connection.close()


def serve(port: int, socket: str) -> None:
    """Answer 200 or 503 for ever."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if is_synced(socket) else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_OPTIONS = do_GET

        def log_message(self, *_args: object) -> None:
            """Log nothing: nobody reads it."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    pairs = [argument.split("=", 1) for argument in sys.argv[1:]]
    threads = [threading.Thread(target=serve, args=(int(port), socket)) for port, socket in pairs]
    for thread in threads:
        thread.start()
