"""What the test of a connection says where it does not work: each fault by its own words."""

import socket

import pytest

from fakemodel.testing import ServerHandle
from tests.tools.conftest import site  # noqa: F401 - a fixture
from tests.tools.servers import Asked, Site
from webapp.llm.settings import ModelSettings
from webapp.providers.connection_check import NO_PICTURES, NOBODY, NOT_SPOKEN, probe

pytestmark = pytest.mark.once


def tried(address: str) -> str:
    """What is said of the list of models at an address."""
    settings = ModelSettings(base_url=address, connect_timeout=2, request_timeout=2, max_retries=0)
    found = probe(settings, None)["models"]
    assert found["ok"] is False
    return str(found["detail"])


def test_each_fault_has_its_words(site: Site) -> None:  # noqa: F811 - the fixture
    def answer(asked: Asked) -> tuple[int, dict[str, str], object]:
        if asked.path.startswith("/page"):
            return 200, {"Content-Type": "text/html"}, "<html>Hello</html>"
        if asked.path.startswith("/other"):
            return 200, {}, {"status": "fine"}
        if asked.path.startswith("/auth"):
            return 401, {}, {"error": {"message": "Incorrect key sk-123", "code": "invalid_api_key"}}
        return 404, {}, {"detail": "Not Found"}

    site.answer = answer
    for place in ("page", "other", "nowhere"):
        assert tried(f"{site.url}/{place}") == NOT_SPOKEN, place
    assert tried(f"{site.url}/auth") == "The server did not accept the key. Check the key and what it may be used for."
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert tried(f"http://127.0.0.1:{free.getsockname()[1]}/v1") == NOBODY


def test_a_model_that_takes_no_pictures_is_said_to(model_server: ServerHandle) -> None:
    model_server.script(fault={"refuse_images": True}, times=None)
    try:
        found = probe(ModelSettings(base_url=model_server.base_url), "test-chat")
    finally:
        model_server.reset()
    assert found["chat"]["ok"]
    assert found["images"] == {"ok": False, "detail": NO_PICTURES}
