"""The one spelling of an address."""

import pytest

from webapp.accounts.emails import normalise_email


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ann@example.com", "ann@example.com"),
        ("  Ann.Smith+x@EXAMPLE.Com ", "ann.smith+x@example.com"),
        ("ann@bücher.example", "ann@xn--bcher-kva.example"),
        ("jörg@example.com", "jörg@example.com"),
        ("ann＠example.com", "ann@example.com"),
        ("admin@localhost", "admin@localhost"),
    ],
)
def test_spelling(text: str, address: str) -> None:
    assert normalise_email(text) == address
    assert normalise_email(address) == address


@pytest.mark.parametrize(
    "text",
    [
        *("", "ann", "@", "ann@", "@example.com", "a b@example.com", "a@b@c.com", "ann@exa mple.com", "ann@-a.com"),
        *("ann@a..b", "ann@example.com.", "ann\n@example.com", "ann@[1.2.3.4]", "<ann@example.com>", "a" * 65 + "@b.c"),
        *("a@" + "b" * 64 + ".com", "a@" + ".".join(["b" * 60] * 5), "\ud800@example.com\x00", "ann@ex\ud800.com"),
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError):
        normalise_email(text)
