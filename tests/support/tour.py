"""The screen tour's server within a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from webapp.tour.server import TourServer


@contextmanager
def tour_in_thread() -> Iterator[str]:
    """Serve the tour on a free port until the block ends, as fast as it can; yields its address for clients."""
    with TourServer(0, pieces_per_second=100_000, first_delay=0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="screen-tour", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join(30)
