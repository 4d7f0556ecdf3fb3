"""The scripted model server and clients that are closed with their test."""

from collections.abc import Iterator

import pytest

from fakemodel.testing import ServerHandle, serve_in_thread
from tests.llm.helpers import settings_for
from webapp.llm.capabilities import Capabilities
from webapp.llm.complete import CompletionClient
from webapp.llm.settings import ModelSettings


@pytest.fixture(scope="session")
def running_server() -> Iterator[ServerHandle]:
    with serve_in_thread() as server:
        yield server


@pytest.fixture
def server(running_server: ServerHandle) -> ServerHandle:
    running_server.reset()
    return running_server


@pytest.fixture
def settings(server: ServerHandle) -> ModelSettings:
    return settings_for(server)


@pytest.fixture
def capabilities() -> Capabilities:
    return Capabilities()


@pytest.fixture
def completions(settings: ModelSettings, capabilities: Capabilities) -> Iterator[CompletionClient]:
    client = CompletionClient(settings, capabilities)
    yield client
    client.close()
