"""The official Python SDK's client signs somebody in: discovery, registration or a document, PKCE, refresh."""

import asyncio
import ipaddress
import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from testkit.people import Person, csrf_token
from tests.memories.conversing import add_memory
from tests.oauth.helpers import CALLBACK
from tests.support.live import LiveServer
from tests.support.queries import execute
from tests.support.serving import Handler, run_server
from webapp.accounts.models import ApiToken
from webapp.db.base import db, now
from webapp.oauth.models import OAuthClient

pytestmark = pytest.mark.once  # about what two programs say to each other; test_flow asks both databases


class Storage:
    """Where the client keeps what it was given."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class Browser:
    """A person's browser, on the live server."""

    def __init__(self, live: LiveServer, person: Person) -> None:
        self.http = httpx2.Client(base_url=live.url, follow_redirects=False, timeout=30)
        page = self.http.get("/login").text
        form = {"email": person.email, "password": person.password, "csrf_token": csrf_token(page)}
        assert self.http.post("/login", data=form).status_code == 303

    def consent(self, url: str) -> str:
        """Let the program in that asks at this address; where it goes from there."""
        page = self.http.get(url)
        assert page.status_code == 200, page.text
        form = {"decision": "allow", "access": "mcp", "reach": "all", "csrf_token": csrf_token(page.text)}
        answer = self.http.post(url, data=form)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]


@pytest.fixture
def browser(live_web: LiveServer, user: Person) -> Iterator[Browser]:
    made = Browser(live_web, user)
    yield made
    made.http.close()


class Session:
    """The SDK's client with a person at its side."""

    def __init__(self, live: LiveServer, browser: Browser, document: str | None = None) -> None:
        self.storage = Storage()
        self.asked = 0
        self.url = f"{live.url}/mcp"
        self._browser = browser
        self._back: dict[str, str] = {}
        said = OAuthClientMetadata(
            client_name="SDK", redirect_uris=[CALLBACK], grant_types=["authorization_code", "refresh_token"]
        )
        self._make = lambda: OAuthClientProvider(
            self.url, said, self.storage, self._redirect, self._callback, client_metadata_url=document
        )

    async def _redirect(self, url: str) -> None:
        self.asked += 1
        where = await asyncio.to_thread(self._browser.consent, url)
        self._back = {name: found[0] for name, found in parse_qs(urlsplit(where).query).items()}

    async def _callback(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self._back["code"], state=self._back.get("state"), iss=self._back.get("iss")
        )

    def call(self, tool: str, *, again_late: bool = False, **arguments: Any) -> dict[str, Any]:
        """What a tool answers, from a client that was just started; asked once more after the token's end."""

        async def run() -> dict[str, Any]:
            provider = self._make()
            async with (
                httpx2.AsyncClient(auth=provider, timeout=30) as http,
                Client(streamable_http_client(self.url, http_client=http)) as client,
            ):
                found = (await client.call_tool(tool, arguments)).structured_content
                if again_late:
                    provider.context.token_expiry_time = 1.0
                    found = (await client.call_tool(tool, arguments)).structured_content
                assert found is not None
                return found

        return asyncio.run(run())


def test_it_registers_and_refreshes(app, user, live_web, browser):
    add_memory(app, user, "Keeps bees on the roof")
    session = Session(live_web, browser)
    assert len(session.call("search", query="bees")["results"]) == 1
    first = session.storage.tokens
    assert (session.asked, first.scope) == (1, "mcp")
    assert len(session.call("list_memories")["memories"]) == 1
    assert session.asked == 1
    assert len(session.call("list_memories", again_late=True)["memories"]) == 1
    assert session.asked == 1
    assert session.storage.tokens.access_token != first.access_token
    execute(app, db.update(ApiToken).where(ApiToken.is_delegated).values(revoked_at=now()))
    assert len(session.call("list_memories")["memories"]) == 1
    assert session.asked == 2  # the person was asked again, and let it in


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, live_web: LiveServer) -> Iterator[str]:
    """The address of a program's document on an https server that the live server may ask and trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime.now(UTC) - timedelta(hours=1))
        .not_valid_after(datetime.now(UTC) + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )

    class Document(Handler):
        def do_GET(self) -> None:
            said = {"client_id": address, "client_name": "By document", "redirect_uris": [CALLBACK]}
            if self.path != "/program.json":
                said["client_id"] = "https://elsewhere.example/program.json"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

    server = HTTPServer(("127.0.0.1", 0), Document)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, secret)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    address = f"https://127.0.0.1:{server.server_port}/program.json"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with run_server(server):
        live_web.restart_web(outbound_allow="127.0.0.1")
        yield address


def test_it_is_known_by_its_document(app, user, document, live_web):
    add_memory(app, user, "Keeps bees on the roof")
    browser = Browser(live_web, user)
    session = Session(live_web, browser, document)
    assert len(session.call("search", query="bees")["results"]) == 1
    with app.app_context():
        found = db.session.execute(db.select(OAuthClient.client_id, OAuthClient.name)).all()
    assert [tuple(row) for row in found] == [(document, "By document")]
    for client_id, said in (
        (document.replace("program", "other"), "another program"),
        ("https://10.0.0.1/program.json", "own network"),
    ):
        refused = browser.http.get("/oauth/authorize", params={"client_id": client_id})
        assert refused.status_code == 422
        assert said in refused.text
    browser.http.close()
