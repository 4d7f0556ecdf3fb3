"""Which addresses may be reached, and where they may come from."""

import pytest

from webapp.tools.urls import UrlRejected, check_url, is_known


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
    with pytest.raises(UrlRejected):
        check_url(url)


def test_a_fragment_is_not_sent() -> None:
    assert check_url("https://example.org/a?b=c#d") == "https://example.org/a?b=c"


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
