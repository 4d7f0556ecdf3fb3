"""Which addresses may be reached, and where they may come from."""

from __future__ import annotations

import pytest

from webapp.tools.addresses import Refused, checked, is_known, is_outside


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808"]
)
def test_addresses_of_the_open_internet(address: str) -> None:
    assert is_outside(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.9.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "::7f00:1",
        "2001:0:53aa:64c:0:fbff:80ff:fffe",
        "2001:db8::1",
        "nonsense",
        "",
    ],
)
def test_addresses_inside(address: str) -> None:
    assert not is_outside(address)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "gopher://x/",
        "example.org",
        "http://",
        "http://a:b@example.org/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://exa mple.org/",
        "http://example.org/\r\nX: y",
        "http://[::1",
        f"http://example.org/{'a' * 3_000}",
        "http://example.org\\@evil.org/",
    ],
)
def test_addresses_that_are_no_web_addresses(url: str) -> None:
    with pytest.raises(Refused):
        checked(url)


def test_a_fragment_is_not_sent() -> None:
    assert checked("https://example.org/a?b=c#d") == "https://example.org/a?b=c"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://example.org/a", "Read https://example.org/a please"),
        ("https://example.org", "What is on example.org?"),
        ("http://example.org/", "See (https://www.example.org/), thanks"),
        ("https://en.example.org/wiki/Heron_(bird)", "(see https://en.example.org/wiki/Heron_(bird)), or"),
        ("https://example.org/b", "a [link](https://example.org/b) in Markdown"),
        ("https://EXAMPLE.org/a", "example.org/a"),
        ("https://www.example.org/a?b=c&d=e", "[1] https://example.org/a?b=c&d=e"),
    ],
)
def test_addresses_that_somebody_wrote(url: str, said: str) -> None:
    assert is_known(url, ["nothing", said])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://evil.org/?q=secret", "Read https://evil.org/"),
        ("https://example.org/", "Read https://example.org.evil.net/"),
        ("https://example.org/a", "Read https://example.org/ab"),
        ("https://ample.org/", "Read example.org"),
        ("https://example.org/?x", "example.org"),
        ("https://example.org/a", "example.org/A"),
    ],
)
def test_addresses_that_were_put_together(url: str, said: str) -> None:
    assert not is_known(url, [said])
