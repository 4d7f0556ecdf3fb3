"""A site of somebody else's, and the web switched on."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.tools.servers import Site, serve
from webapp.db.base import write_transaction
from webapp.network import outbound
from webapp.tools.schemas import WebAccessFields
from webapp.tools.web import service as web


@pytest.fixture
def site() -> Iterator[Site]:
    """An HTTP server on this machine."""
    with serve() as found:
        yield found


@pytest.fixture
def open_house(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.1 counts as an address outside, and no other of this machine does."""
    judged = outbound.is_public
    monkeypatch.setattr(outbound, "is_public", lambda address: address == "127.0.0.1" or judged(address))


@pytest.fixture
def searxng(app: Flask, site: Site) -> Iterator[Site]:
    """The web is on, with the site as its search engine."""
    with app.app_context(), write_transaction():
        web.set_access(WebAccessFields(provider="searxng", address=site.url, is_enabled=True))
    yield site
    web.web_of_site.cache_clear()
