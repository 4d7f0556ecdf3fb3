"""Which addresses may be reached, and where they may come from."""

import json
from pathlib import Path

import pytest

from webapp.tools.urls import UrlRejected, check_url, is_known

CASES = json.loads(Path(__file__).with_name("urls.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.org/", "file:///etc/passwd", "javascript:alert(1)", "gopher://x/", "example.org", "http://"),
        *("http://a:b@example.org/", "http://example.org:0/", "http://example.org:99999/", "http://exa mple.org/"),
        *("http://example.org/\r\nX: y", "http://[::1", f"http://example.org/{'a' * 3_000}"),
        "http://example.org\\@evil.org/",
    ],
)
def test_addresses_that_are_no_web_addresses(url):
    with pytest.raises(UrlRejected):
        check_url(url)


def test_a_fragment_is_not_sent():
    assert check_url("https://example.org/a?b=c#d") == "https://example.org/a?b=c"


@pytest.mark.parametrize(("url", "said"), CASES["addresses_that_somebody_wrote"])
def test_addresses_that_somebody_wrote(url, said):
    assert is_known(url, ["nothing", said])


@pytest.mark.parametrize(("url", "said"), CASES["addresses_that_were_put_together"])
def test_addresses_that_were_put_together(url, said):
    assert not is_known(url, [said])
