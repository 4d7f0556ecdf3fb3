"""Ids and numbers that no row can have are unknown or ignored, wherever they stand: never a failure of the server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import Rule

from testkit.people import page_token

ROOT = Path(__file__).resolve().parent.parent
HUGE = [
    2**63,
    pytest.param("²", marks=pytest.mark.once),
    *(
        pytest.param(number, marks=pytest.mark.slow)
        for number in ("9" * 5_000, 2**31, 10**40, "0" * 12 + "1" + "9" * 30, "٣" * 40)
    ),
]
"""Past 64 bits; a digit that is no number, which fails as what is past Python's limit does. With `--slow` also: that
limit, past INT, small in its first digits only, digits of others."""


def number_names() -> list[str]:
    """Every parameter and field that a view reads, by name."""
    source = "".join(path.read_text() for path in sorted((ROOT / "webapp").rglob("*.py")))
    return sorted(set(re.findall(r"request\.(?:args|form)\.get(?:list)?\(\s*\"(\w+)\"", source)))


def page_rules(app: Flask) -> Iterator[tuple[Rule, str]]:
    """Every rule with each of its methods; what is static is left out."""
    for rule in app.url_map.iter_rules():
        if "static" in rule.endpoint or "favicon" in rule.endpoint:
            continue
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield rule, method


def kinds_of_request(rule: Rule) -> list[dict[str, str]]:
    """The headers of a request for a whole page and of one for a part of it; programs know no such parts."""
    return [{}] if rule.rule.startswith(("/api/", "/v1/", "/mcp")) else [{}, {"HX-Request": "true"}]


def address(rule: Rule, number: object) -> str:
    """The rule's address with this number for every id, and something plain for every name."""
    shown = re.sub(r"<int:\w+>", str(number), rule.rule)
    shown = re.sub(r"<any\(([^,)]+)[^>]*>", r"\1", shown)
    shown = re.sub(r"<uuid:\w+>", "00000000-0000-0000-0000-000000000000", shown)
    return re.sub(r"<[^>]+>", "x", shown)


@pytest.mark.once
def test_no_address_has_a_number_that_is_none_to_everybody(app, admin_browser):
    adapter = app.url_map.bind("localhost")
    for number in ("١", "9" * 5_000):
        assert admin_browser.get(f"/c/{number}").status_code == 404
        for rule, method in page_rules(app):
            if "<int:" in rule.rule:
                with pytest.raises((NotFound, MethodNotAllowed)):
                    adapter.match(address(rule, number), method)


@pytest.mark.parametrize("number", [2**63, pytest.param(10**40, marks=pytest.mark.slow)])
def test_ids_in_addresses(app, number, admin_browser):
    headers = {"X-CSRFToken": page_token(admin_browser), "Origin": "http://localhost"}
    for rule, method in page_rules(app):
        for partial in kinds_of_request(rule) if "<int:" in rule.rule else ():
            answer = admin_browser.open(address(rule, number), method=method, headers={**headers, **partial})
            assert answer.status_code in (404, 405, 409, 415), (method, rule.rule, answer.status_code)


@pytest.mark.parametrize("number", HUGE, ids=lambda number: str(number)[:8])
def test_numbers_in_parameters(app, number, admin_browser):
    query = dict.fromkeys([*number_names(), "conversation_id", "space_id", "limit", "cursor", "version"], str(number))
    for rule, method in page_rules(app):
        if method != "GET" or "stream" in rule.rule:
            continue
        for partial in kinds_of_request(rule)[: 1 + (number == 2**63)]:  # the kind of number hardly matters there
            answer = admin_browser.get(address(rule, 1), query_string=query, headers=partial)
            assert answer.status_code < 500, (rule.rule, answer.status_code)


@pytest.mark.parametrize("number", HUGE, ids=lambda number: str(number)[:8])
def test_numbers_in_forms(app, number, admin_browser):
    headers = {"X-CSRFToken": page_token(admin_browser), "Origin": "http://localhost"}
    form = dict.fromkeys([*number_names(), "content", "space_id", "name"], str(number))
    for rule, method in page_rules(app):
        if method == "POST" and not rule.rule.startswith(("/api/", "/logout", "/settings/password")):
            answer = admin_browser.post(address(rule, 1), data=form, headers=headers)
            assert answer.status_code < 500, (rule.rule, answer.status_code)


@pytest.mark.parametrize("number", HUGE, ids=lambda number: str(number)[:8])
def test_numbers_in_cookies_and_headers(number, browser):
    if str(number).isascii():
        browser.set_cookie("space", str(number)[:3_000])
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://localhost/c/{number}"}
    for path in ("/", "/spaces", "/memory", "/find?q=x"):
        assert browser.get(path).status_code == 200
        assert browser.get(path, headers={} if not str(number).isascii() else headers).status_code == 200
