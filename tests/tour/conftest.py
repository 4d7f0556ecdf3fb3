"""A running screen tour."""

from collections.abc import Iterator

import pytest

from tests.support.serving import run_server
from webapp.tour.server import TourServer


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    """Its base URL for clients; it answers as fast as it can."""
    with run_server(TourServer(0, pieces_per_second=100_000, first_delay=0)) as server:
        yield f"http://127.0.0.1:{server.server_port}/v1"
