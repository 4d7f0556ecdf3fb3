"""Gunicorn's configuration, for `make run`, Procfile and container: threads, as streams and the MySQL driver block."""

import atexit
import ctypes
import gc
import itertools
import json
import logging
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import gunicorn.util  # type: ignore[import-untyped]
from gunicorn.http.unreader import SocketUnreader  # type: ignore[import-untyped]

from webapp.config import Settings, exit_on_config_error
from webapp.llm.process import return_free_memory
from webapp.llm.sdk import warm_up

with exit_on_config_error():
    settings = Settings.from_env()  # completes the environment, which the lines below read

M_ARENA_MAX = -8
libc = ctypes.CDLL(None)
if "MALLOC_ARENA_MAX" not in os.environ and hasattr(libc, "mallopt"):
    libc.mallopt(M_ARENA_MAX, 2)  # for so many threads glibc would create up to eight heaps per core
# On one core, more threads would only wait for each other. Must be set before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Somebody waiting for a page learns within five seconds that the database hangs; jobs and migrations may take longer.
os.environ["DATABASE_SECONDS"] = os.environ.get("DATABASE_SECONDS") or "4"

wsgi_app = "wsgi:app"
host = os.environ.get("HOST") or "127.0.0.1"
bind = f"{f'[{host}]' if ':' in host else host}:{settings.port}"
workers = settings.web_concurrency
worker_class = "gthread"
# A worker that may open no more files ends, with all its replies: not even a connection comes without one.
OTHER_FILES, CONNECTION_FILES = 128, 3  # a client's connection, the wait for its data, a model's connection
may_open, most_open = resource.getrlimit(resource.RLIMIT_NOFILE)
if may_open < 8_192:  # 1,024, as a rule
    may_open = min(8_192, most_open) if most_open != resource.RLIM_INFINITY else 8_192
    resource.setrlimit(resource.RLIMIT_NOFILE, (may_open, most_open))
worker_connections = min(2_000, max(2, (may_open - OTHER_FILES) // CONNECTION_FILES))
threads = min(settings.web_threads, worker_connections - 1)
os.environ["WEB_THREADS"] = str(threads)  # what the application shares out among streams
backlog = 4096
keepalive = 30
control_socket_disable = True
# The longest that gunicorn reads: 500 characters to search for are up to 6,000 bytes once percent-encoded.
limit_request_line = 8190


def refuse(connection: socket.socket, status: int, title: str, _reason: str) -> None:
    """Answer a request that is too malformed or too large to reach the application: what gunicorn sends is HTML."""
    details = {
        414: f"The address is longer than {limit_request_line:,} bytes.",
        431: "There are more than 100 header fields, or one is longer than 8,190 bytes.",
        500: "It is not your fault, and it has been written to the log.",
    }
    detail = details.get(status, "This is not a request that HTTP allows.")
    body = json.dumps({"type": "about:blank", "title": title.capitalize(), "status": status, "detail": detail}).encode()
    head = (
        f"HTTP/1.1 {status} {title}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    gunicorn.util.write_nonblock(connection, head.encode() + body)


gunicorn.util.write_error = refuse

PATIENCE_SECONDS, PATIENCE_BYTES = 10.0, 1_024


def receive(self: Any, size_hint: int | None = None) -> bytes:
    """Read from a client as gunicorn does, but count one as gone that holds up a thread for longer than ten seconds and
    one more for each kilobyte it has sent: a few hundred that send half a request would stop the site.
    """
    patience = getattr(self, "patience", PATIENCE_SECONDS)
    start, socket_poll = time.monotonic(), select.poll()
    socket_poll.register(self.sock, select.POLLIN)
    if not socket_poll.poll(1_000 * max(0.0, patience)):
        return b""
    data: bytes = self.sock.recv(max(self.mxchunk, min(size_hint or 0, self.max_body_chunk)))
    self.patience = patience + len(data) / PATIENCE_BYTES - (time.monotonic() - start)
    return data


SocketUnreader.chunk = receive

UNREAD_SECONDS = 60


def drop_stalled_clients(worker: Any) -> None:
    """Make the system close connections whose clients read nothing of what they are sent; browsers reconnect."""
    for each in worker.sockets:
        if each.sock.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
            each.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_SECONDS * 1_000)
    errors = logging.getLogger("gunicorn.error")  # a traceback for each would say nothing
    errors.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], TimeoutError)))


wait_for_end = gunicorn.util.close_graceful


def close_aside(worker: Any) -> None:
    """Make worker threads wait for clients to close, up to two seconds each; gunicorn's main thread would."""

    def close(client: socket.socket) -> None:
        try:
            worker.tpool.submit(wait_for_end, client)
        except RuntimeError:  # it is stopping
            client.close()

    gunicorn.util.close_graceful = close


UNREAD_BYTES = 65_536


def pre_request(_worker: Any, request: Any) -> None:
    """Announce that the connection ends after a large body: otherwise a client's next request fails."""
    sent = dict(request.headers)
    if "TRANSFER-ENCODING" in sent or int(sent.get("CONTENT-LENGTH", 0)) >= UNREAD_BYTES:
        request.force_close()


# A worker that is told to stop finishes its turns, and is killed a little later.
drain_seconds = settings.turn_drain_seconds
graceful_timeout = int(drain_seconds) + 4
INTERRUPT_SECONDS = 1.0

# Several workers share what is loaded once, until one writes to a page; a single one has none to share with, and so
# its master stays small.
preload_app = workers > 1
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108

# Requests are logged by the application, with their ids.
accesslog = None
errorlog = "-"
loglevel = "warning"


def when_ready(server: Any) -> None:
    """Load what the first turn needs, shared by all workers; `make run` then closes a pipe when they may begin."""
    if preload_app:
        from webapp.readiness import newest_revision  # noqa: PLC0415

        warm_up(streams_only=settings.offline_model)
        newest_revision()
        # What the first request sets up, such as the URL map, would not be shared by the workers: 3 MB in all. Nobody
        # sent this request, so it is not logged.
        requests = logging.getLogger("webapp.access")
        requests.disabled = True
        server.app.wsgi().test_client().get("/healthz")
        requests.disabled = False
        gc.collect()
        return_free_memory()  # before it is shared, so that no worker holds it
        gc.freeze()
        wait_for_start(lambda: None)


def wait_for_start(notify: Callable[[], None]) -> None:
    """Wait until `make run` has migrated the database, if that started us; `notify` is called meanwhile."""
    if start := os.environ.get("START_FD"):
        while not select.select([int(start)], [], [], 1.0)[0]:
            notify()


def post_fork(_server: Any, _worker: Any) -> None:
    """Make sure that a worker does not outlive its master, however that ends."""
    libc.prctl(1, int(signal.SIGKILL), 0, 0, 0)


def pre_fork(server: Any, worker: Any) -> None:
    """Number the workers; a replacement gets the number of the one it replaces."""
    numbers = {other.number for other in server.WORKERS.values()}
    worker.number = next(number for number in itertools.count() if number not in numbers)


def stay_on_one_core(number: int) -> None:
    """Keep the threads of a process on one core: only one of them runs Python at a time, and passing the interpreter
    between cores was measured to slow a burst of turns down two to three times. WEB_PINNED=0 leaves it to the kernel.
    """
    if os.environ.get("WEB_PINNED", "1") != "0":
        cores = sorted(os.sched_getaffinity(0))
        # Not always starting with the first core: another Commonplace may run on this machine.
        os.sched_setaffinity(0, {cores[(os.getppid() + number) % len(cores)]})


def post_worker_init(worker: Any) -> None:
    """Set a worker up, and let it drain its turns as soon as it is told to stop, not once its last visitor has left."""
    from webapp.telemetry.metrics import keep_flushing  # noqa: PLC0415  (a master without preloading stays small)

    stay_on_one_core(worker.number)
    close_aside(worker)
    drop_stalled_clients(worker)
    warm_up(streams_only=settings.offline_model)  # what makes vectors is then on this machine
    if not preload_app:
        wait_for_start(worker.notify)  # loaded while the database is migrated
    chat = worker.wsgi.extensions["chat"]
    runner = chat.runner
    runner.start()
    chat.keeping_up.start()
    keep_flushing(worker.wsgi.extensions["redis"])

    def finish(seconds: float) -> None:
        worker.wsgi.extensions["end_event_streams"]()
        runner.drain(seconds)

    drain = threading.Thread(target=finish, args=(drain_seconds,), daemon=True)
    tell_gunicorn = signal.getsignal(signal.SIGTERM)
    worker.turns, worker.finish = drain, finish

    def stop_listening() -> None:
        worker.set_accept_enabled(False)
        for each in worker.sockets:
            each.close()  # otherwise whoever comes now would be connected, and wait for as long as turns are finished

    def on_term(number: int, frame: FrameType | None) -> None:
        if drain.ident is None:
            drain.start()
        if callable(tell_gunicorn):
            tell_gunicorn(number, frame)
            worker.method_queue.defer(stop_listening)

    signal.signal(signal.SIGTERM, on_term)


def worker_exit(_server: Any, worker: Any) -> None:
    """Wait for turns that nobody is watching, or after SIGINT (Ctrl-C) store them, and end at once: Python would first
    clear its memory, for seconds, and wait for every thread with a stream.
    """
    drain = getattr(worker, "turns", None)
    if drain is None:  # it never began
        return
    if drain.ident is None:
        worker.finish(INTERRUPT_SECONDS)
    else:
        drain.join(drain_seconds + 2)
    atexit._run_exitfuncs()
    os._exit(0)
