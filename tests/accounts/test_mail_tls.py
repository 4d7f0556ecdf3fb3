"""Mail goes out encrypted, to the server that it is for: STARTTLS, TLS from the first byte, and certificates."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from testkit.processes import free_port
from webapp.accounts import smtp
from webapp.accounts.smtp import MailUnavailable, send
from webapp.config import Settings


class Postman:
    """What a server was told, and how."""

    def __init__(self) -> None:
        self.letters: list[bytes] = []
        self.over_tls: list[bool] = []
        self.logins: list[tuple[bytes, bytes]] = []

    async def handle_DATA(self, _server: Any, session: Any, envelope: Any) -> str:
        self.letters.append(envelope.content)
        self.over_tls.append(session.ssl is not None or _server.transport.get_extra_info("sslcontext") is not None)
        return "250 OK"

    def check(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        self.logins.append((data.login, data.password))
        return AuthResult(success=True)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """An authority of the test's own."""
    return trustme.CA()


@pytest.fixture
def trust_authority(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine trusts it."""
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


Serve = Callable[..., tuple[Postman, Settings]]


@pytest.fixture
def serve(authority: trustme.CA) -> Iterator[Serve]:
    """`serve(tls, name)`: a mail server with a certificate for that name, and the settings to reach it."""
    controllers: list[Controller] = []

    def start(tls: str, name: str = "localhost", *, offers: str = "", **settings: Any) -> tuple[Postman, Settings]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(name).configure_cert(context)
        postman = Postman()
        kinds: dict[str, dict[str, Any]] = {
            "starttls": {"tls_context": context, "require_starttls": True, "authenticator": postman.check},
            "tls": {"ssl_context": context, "authenticator": postman.check, "auth_require_tls": False},
            "none": {},
        }
        controller = Controller(postman, hostname="127.0.0.1", port=free_port(), **kinds[offers or tls])
        controller.start()
        controllers.append(controller)
        given = {"smtp_host": "localhost", "smtp_port": controller.port, "smtp_tls": tls}
        return postman, Settings(**given, smtp_from="chat@example.org", **settings)

    yield start
    for controller in controllers:
        controller.stop()


def deliver(settings: Settings) -> None:
    send(settings, "ann@example.org", "A subject", "The way in: https://chat.example.org/reset/1.secret", "1")


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_mail_is_sent_over_tls_to_a_server_with_a_good_certificate(serve, trust_authority, tls):
    postman, settings = serve(tls, smtp_user="chat", smtp_password="between us")
    deliver(settings)
    assert b"1.secret" in postman.letters[0] and postman.over_tls == [True]
    assert postman.logins == [(b"chat", b"between us")]


@pytest.mark.parametrize("limit", ["SECONDS", "MAX_BYTES"])
def test_a_reply_without_an_end_is_given_up(monkeypatch, limit):
    monkeypatch.setattr(smtp, limit, 1)

    def greet() -> None:
        with listener.accept()[0] as connection, suppress(OSError):
            while True:
                connection.sendall(b"220-Welcome\r\n")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(MailUnavailable, match="SMTPServerDisconnected"):
            smtp.check(Settings(smtp_host="127.0.0.1", smtp_port=listener.getsockname()[1], smtp_tls="none"))


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_certificate_of_an_unknown_authority_is_refused_before_anything_is_told(serve, tls):
    postman, settings = serve(tls, smtp_user="chat", smtp_password="between us")
    with pytest.raises(MailUnavailable, match="certificate of localhost is not trusted") as raised:
        deliver(settings)
    assert "SSL_CERT_FILE" in str(raised.value) and "ann@" not in str(raised.value)
    assert postman.letters == [] == postman.logins


@pytest.mark.cases("tls", "name", "offers", "said")
def test_another_server_or_one_without_tls_gets_neither_password_nor_letter(
    serve, trust_authority, tls, name, offers, said
):
    postman, settings = serve(tls, name, offers=offers, smtp_user="chat", smtp_password="between us")
    with pytest.raises(MailUnavailable, match=said):
        deliver(settings)
    assert postman.letters == [] == postman.logins
