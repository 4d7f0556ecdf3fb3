"""The screen tour's server within a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.serving import run_server
from webapp.tour.server import TourServer


@contextmanager
def tour_in_thread() -> Iterator[str]:
    """Serve the tour on a free port until the block ends, as fast as it can; yields its address for clients."""
    with run_server(TourServer(0, pieces_per_second=100_000, first_delay=0)) as server:
        yield f"http://127.0.0.1:{server.server_port}/v1"
