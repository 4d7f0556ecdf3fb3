"""The application inside the benchmark's own process, on a database and a Redis of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from flask_migrate import upgrade

from tests.support.servers import test_servers
from webapp import create_app
from webapp.config import Settings


@contextmanager
def product(**wishes: object) -> Iterator[Flask]:
    """The application with its tables, with the packaged embedding model in this process unless wished otherwise."""
    with test_servers() as servers:
        values = {
            "var_dir": servers.directory,
            "database_url": servers.database_url,
            "redis_url": servers.redis_url,
            "secret_key": "only for benchmarks, and long enough",
            "embedder": "local",
            "log_level": "WARNING",
            # The model may be cold when the first question comes; the tables show what it takes.
            "embedding_query_seconds": 5.0,
        }
        app = create_app(Settings(**(values | wishes)))
        with app.app_context():
            upgrade()
        yield app
