"""The process that makes vectors with a packaged model (200 MB, half a second to load) for all others on the machine.

`python -m webapp.llm.embedding_server SOCKET` listens on a Unix socket. A request is a JSON object {"model", "query":
bool, "texts"} behind its length (4 bytes); an answer is the number of rows and their length (4 bytes each), then the
float32 values. A request that cannot be met closes the connection.
"""

import argparse
import json
import logging
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

LENGTH, SHAPE = struct.Struct("!I"), struct.Struct("!II")
MAX_BYTES = 64 * 1024 * 1024
BATCH = 4
"""How many texts of a document are embedded while a question waits."""
AFTER_QUERIES, AFTER_PASSAGES = 600.0, 60.0
"""Seconds without a question, and without anything, after which the process begins anew, without a model."""
CHECK_SECONDS = 10.0
NICE = 5
"""The niceness of threads that embed passages, as that of the workers that ask for them."""


class PriorityLock:
    """A lock that threads with a query get before all threads that embed passages."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_taken = False
        self._queries = 0
        self.waiting = 0
        """How many wait for their turn."""

    @property
    def is_free(self) -> bool:
        """Return whether nobody computes, or waits to."""
        return not self._is_taken and not self.waiting

    @contextmanager
    def hold(self, *, query: bool) -> Iterator[None]:
        """Hold the lock; with `query`, ahead of those without."""
        with self._condition:
            self.waiting += 1
            self._queries += query
            self._condition.wait_for(lambda: not self._is_taken and (query or not self._queries))
            self._queries -= query
            self.waiting -= 1
            self._is_taken = True
        try:
            yield
        finally:
            with self._condition:
                self._is_taken = False
                self._condition.notify_all()


class EmbeddingServer:
    """Answers each connection in a thread of its own; `load` makes the embedder of a name, or raises."""

    def __init__(self, load: Callable[[str], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._load, self._clock = load, clock
        self.turns = PriorityLock()
        self._models: dict[str, Any] = {}
        self._queried = self._used = clock() - AFTER_QUERIES

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._answer_all, args=(connection,), daemon=True).start()

    @property
    def is_idle(self) -> bool:
        """Return whether a model is loaded that nobody has asked for in a while."""
        now = self._clock()
        is_quiet = now - self._queried >= AFTER_QUERIES and now - self._used >= AFTER_PASSAGES
        return is_quiet and self.turns.is_free and bool(self._models)

    def _answer_all(self, connection: socket.socket) -> None:
        is_nice = False
        with connection, suppress(ConnectionError, BrokenPipeError):
            while (head := receive(connection, LENGTH.size)) and LENGTH.unpack(head)[0] <= MAX_BYTES:
                try:
                    request = json.loads(receive(connection, LENGTH.unpack(head)[0]))
                    name, texts, query = str(request["model"]), list(map(str, request["texts"])), bool(request["query"])
                    if not query and not is_nice:
                        is_nice = True
                        with suppress(OSError):
                            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
                    connection.sendall(self._embed(name, texts, query=query))
                except ConnectionError:
                    return
                except Exception:
                    log.exception("a request for vectors could not be met")
                    return

    def _note(self, *, query: bool) -> None:
        self._used = self._clock()
        if query:
            self._queried = self._used

    def _embed(self, name: str, texts: list[str], *, query: bool) -> bytes:
        import numpy as np  # noqa: PLC0415 - for a process that may never embed

        self._note(query=query)  # loading may take longer than an idle server waits
        if name not in self._models:
            self._models[name] = self._load(name)
        model = self._models[name]
        rows = []
        for start in range(0, len(texts), 1 if query else BATCH):
            with self.turns.hold(query=query):
                self._note(query=query)
                if query:
                    rows.append(model.embed_query(texts[start])[None])
                else:
                    rows.append(model.embed_passages(texts[start : start + BATCH]))
        vectors = np.concatenate(rows).astype("<f4")
        return SHAPE.pack(*vectors.shape) + vectors.tobytes()


def receive(connection: socket.socket, size: int) -> bytes:
    """Return exactly `size` bytes; empty at the end of the connection. Raises ConnectionError in the middle of them."""
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            if parts:
                raise ConnectionResetError
            return b""
        parts += part
    return bytes(parts)


def load_model(name: str) -> Any:
    """Return the packaged model of this name. Raises KeyError."""
    # numpy, for a process that may never embed
    from webapp.llm.encoders import LocalEmbedder, MultilingualEmbedder  # noqa: PLC0415

    return {kind.model: kind for kind in (LocalEmbedder, MultilingualEmbedder)}[name]()


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    parser = argparse.ArgumentParser(prog="python -m webapp.llm.embedding_server")
    parser.add_argument("socket", type=Path, help="the Unix socket to listen on: EMBEDDER_SOCKET of the others")
    path = parser.parse_args().socket
    if path.is_socket():
        path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        os.umask(0o077)
        try:
            listener.bind(str(path))
        except OSError as error:
            parser.error(f"{path} cannot be listened on: {error.strerror or error}")
        listener.listen(128)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        server = EmbeddingServer(load_model)
        threading.Thread(target=server.serve, args=(listener,), daemon=True).start()
        while not server.is_idle:
            time.sleep(CHECK_SECONDS)
    # All memory goes back, libraries included. Whoever asks at this moment connects again.
    os.execv(sys.executable, [sys.executable, "-m", "webapp.llm.embedding_server", str(path)])


if __name__ == "__main__":
    main()
