"""Requests to addresses that somebody named: which are refused, and how much and how long is waited for."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import trustme

from tests.support.receiver import Answering
from tests.support.serving import run_server
from webapp.network import http_client, outbound
from webapp.network.outbound import AllowedHosts, RequestFailed, RequestRefused, is_public

CASES = json.loads(Path(__file__).with_name("outbound.json").read_text(encoding="utf-8"))


OPEN = ("93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808")


@pytest.mark.parametrize("address", [*OPEN, *CASES["addresses_inside"]])
def test_addresses_of_the_open_internet_and_inside(address):
    assert is_public(address) == (address in OPEN)


HERE = AllowedHosts.parse("127.0.0.1, ::1")


@pytest.mark.parametrize("address", CASES["private"])
def test_addresses_within_are_refused(address):
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(RequestRefused):
        outbound.check_host(f"https://{host}/", AllowedHosts())


@pytest.mark.parametrize(
    "host",
    [
        *("127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "017700000001", "10.1", "127.0.0.1.", "127.1."),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "１２７.０.０.１", "127。0。0。1"),
        *("localhost", "LOCALHOST", "localhost.", "a.localhost.", "ⓛocalhost", "printer.local.", "db.internal"),
        *("localhost.localdomain", "ip6-localhost", "router.home.arpa", "nas.lan"),
    ],
)
def test_addresses_within_are_refused_however_they_are_written(host):
    """By whatever the machine would read as one when it connects; no name is looked up for it."""
    with pytest.raises(RequestRefused, match="own network"):
        outbound.check_host(f"https://{host}/", AllowedHosts())


@pytest.mark.parametrize("host", ["127.1", "2130706433", "[::ffff:127.0.0.1]", "hooks.lan", "HOOKS.lan."])
def test_what_is_allowed_is_allowed_however_it_is_written(host):
    outbound.check_host(f"https://{host}/", AllowedHosts.parse("127.0.0.1, ::ffff:127.0.0.1, hooks.lan"))


@pytest.mark.parametrize("host", ["bücher.lan", "BÜCHER.lan", "xn--bcher-kva.lan", "bücher.lan."])
def test_a_host_that_is_allowed_is_known_in_every_spelling(host):
    for named in ("bücher.lan", "xn--bcher-kva.lan", "Bücher.LAN."):
        outbound.check_host(f"https://{host}/", AllowedHosts.parse(named))


@pytest.mark.parametrize("address", CASES["addresses_of_the_internet_may_be_asked"])
def test_addresses_of_the_internet_may_be_asked(address):
    outbound.check_host(f"https://{address}/", AllowedHosts())


@pytest.mark.parametrize("host", ["localhost:11434", "127.0.0.1:1234/v1", "[::1]:80", "ollama", "nas.lan/v1", "box:1"])
def test_an_address_within_is_completed_with_http_and_another_with_https(host):
    assert outbound.with_scheme(host) == outbound.with_scheme(f"http://{host}") == f"http://{host}"
    assert outbound.with_scheme("api.example.org:8443/v1") == "https://api.example.org:8443/v1"
    assert outbound.with_scheme(f"http:/{host}") == f"http:/{host}", "no host is called http"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example",
        "ftp://hooks.example/",
        "file:///etc/passwd",
        "https://",
        "https://user@hooks.example/",
        "https://hooks.example/#there",
        "https://hooks.example:0/",
        "https://hooks.example:99999/",
        "https://hooks.example/a b",
        "https://hooks.example\\@evil.example/",
        "javascript:alert(1)",
        "https://hooks.example/\r\nX: y",
        "https://[::1/",
        "http://xn--\u20ac.example/" + "\u0000",
    ],
)
def test_addresses_that_are_none(url):
    with pytest.raises(RequestRefused):
        outbound.check_url(url)


@pytest.fixture
def serve() -> Iterator[Callable[..., Answering]]:
    with ExitStack() as started:
        yield lambda answer: started.enter_context(run_server(Answering(answer)))


def fine(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("X-Said", "yes")
    handler.end_headers()
    handler.wfile.write(b"x" * 100)


def test_what_is_within_is_refused_unless_it_is_allowed(serve):
    there = serve(fine)
    for url in (there.url, f"http://localhost:{there.server_port}/"):
        with pytest.raises(RequestRefused, match="own network"):
            http_client.request("GET", url)
    assert there.asked == []
    answer = http_client.request("POST", there.url + "/a?b=c", body=b"hello", headers={"X-A": "b"}, allowed=HERE)
    assert (answer.status, answer.headers["x-said"], answer.body) == (200, "yes", b"x" * 100)
    method, path, headers, body = there.asked[0]
    assert (method, path, headers["X-A"], body) == ("POST", "/a?b=c", "b", b"hello")
    assert http_client.request(
        "GET", f"http://localhost:{there.server_port}/", allowed=AllowedHosts.parse("localhost")
    ).status
    with pytest.raises(RequestRefused):
        http_client.request("GET", there.url, allowed=AllowedHosts.parse("localhost"))


def test_a_name_is_looked_up_once(serve, monkeypatch):
    """What changes its address between the check and the request is asked at the address that was checked, or not."""
    there = serve(fine)
    looked_up: list[str] = []

    def rebind(host: str, port: int, *_: Any) -> list[Any]:
        looked_up.append(host)
        address = "127.0.0.1" if len(looked_up) > 1 else "127.0.0.2"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    monkeypatch.setattr(outbound, "is_public", lambda address: address == "127.0.0.2")
    with pytest.raises(RequestFailed):
        http_client.request("GET", f"http://turning.example:{there.server_port}/", seconds=0.3)
    assert (looked_up, there.asked) == (["turning.example"], [])


def test_one_address_within_spoils_all(monkeypatch):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("1.1.1.1", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(RequestRefused):
        http_client.request("GET", "http://both.example/")


def test_a_redirect_is_an_answer(serve):
    def elsewhere(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "http://127.0.0.1:1/")
        handler.end_headers()

    there = serve(elsewhere)
    assert http_client.request("GET", there.url, allowed=HERE).status == 302
    assert len(there.asked) == 1


def test_too_much_is_cut_off(serve):
    with pytest.raises(RequestFailed, match="more than 99 bytes"):
        http_client.request("GET", serve(fine).url, allowed=HERE, max_bytes=99)
    assert len(http_client.request("GET", serve(fine).url, allowed=HERE, max_bytes=100).body) == 100


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("head", ["", "X-Said: "], ids=["body", "head"])
def test_too_slow_is_cut_off(serve, monkeypatch, scheme, head):
    """However often something comes; and what came until then is no answer."""
    done = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers() if not head else handler.flush_headers()
        handler.wfile.write(head.encode())
        while not done.wait(0.02):
            try:
                handler.wfile.write(b"x")
            except OSError:
                return

    there, authority = serve(drip), trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    if scheme == "https":
        there.socket = tls.wrap_socket(there.socket, server_side=True)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    monkeypatch.setattr(http_client, "certificates", lambda: trusting)
    threading.Timer(5.0, done.set).start()
    began = time.monotonic()
    try:
        with pytest.raises(RequestFailed, match="in time"):
            http_client.request("GET", there.url.replace("http", scheme, 1), allowed=HERE, seconds=0.5)
    finally:
        done.set()
    assert time.monotonic() - began < 4


def test_what_does_not_answer(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(RequestFailed, match="Nothing answers"):
            http_client.request("GET", f"http://127.0.0.1:{taken.getsockname()[1]}/", allowed=HERE)

    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=socket.gaierror(socket.EAI_NONAME, "unknown")))
    with pytest.raises(RequestFailed, match="no host"):
        http_client.request("GET", "http://nowhere.invalid/", allowed=HERE)
    done, found = threading.Event(), []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found.append(done.wait(10)))
    with pytest.raises(RequestFailed, match="in time"):  # the lookup of its address takes longer, and is not waited for
        http_client.request("GET", "http://slow.invalid/", allowed=HERE, seconds=0.1)
    assert found == []
    done.set()


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "300.1.1.1", "::1/200"])
def test_networks_that_are_none(text):
    with pytest.raises(ValueError, match=text.split("/")[0]):
        AllowedHosts.parse(text)
