"""The frames that draw diagrams and show images from elsewhere: for whom, and with what policy."""

import pytest

from webapp.chat.frames import image_host


def test_the_frame_of_diagrams_has_no_origin_and_no_network_for_visitors_either(app, user, login) -> None:
    for browser in (app.test_client(), login(user)):
        answer = browser.get("/diagrams")
        policy = answer.headers["Content-Security-Policy"]
        assert answer.status_code == 200
        assert policy.startswith("sandbox allow-scripts; default-src 'none'; script-src 'self';")
        assert "allow-same-origin" not in policy and "connect-src" not in policy and "frame-ancestors 'self'" in policy
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


def test_the_frame_of_an_image_asks_its_host_and_no_other(app, user, login) -> None:
    for browser in (app.test_client(), login(user)):
        answer = browser.get("/image?src=https://img.example:8443/a.png?x=%22%3E%3Cscript%3E")
        policy = answer.headers["Content-Security-Policy"]
        assert "img-src https://img.example:8443;" in policy and policy.startswith("sandbox; default-src 'none'")
        assert "frame-ancestors 'self'" in policy and answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.status_code == 200 and "<script>" not in answer.get_data(as_text=True)
    for refused in (
        "javascript:alert(1)",
        "",
        "/static/x.png",
        "https://a b/",
        "data:image/png;base64,AA",
        "https://;x",
    ):
        assert browser.get("/image", query_string={"src": refused}).status_code == 422


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://a.b/c", "https://a.b"),
        ("http://a.b:80/c", "http://a.b:80"),
        ("https://bücher.example/c", "https://xn--bcher-kva.example"),
        ("https://a.b@evil.example/c", "https://evil.example"),
        ("https://a.b;script-src *", None),
        ("https://a.b:port/", None),
        ("https://" + "a" * 3_000, None),
    ],
)
def test_the_host_of_an_address(address: str, host: str | None) -> None:
    assert image_host(address) == host
