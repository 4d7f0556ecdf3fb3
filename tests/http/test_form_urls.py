"""Addresses that only forms send to, opened as pages: typed, or loaded again after a form that failed."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.http.form_urls import page_meant
from webapp.http.views import JSON_PREFIXES

PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FIRST_PAGE = {"/logout", "/language"}
"""Where there is no page that would be meant rather than the first."""


def test_every_form_has_a_page_that_is_meant_by_its_address(app: Flask) -> None:
    adapter = app.url_map.bind("localhost")
    methods: dict[str, set[str]] = {}
    for rule in app.url_map.iter_rules():
        methods.setdefault(rule.rule, set()).update(rule.methods or ())
    forms = [rule for rule, allowed in methods.items() if "GET" not in allowed and not rule.startswith(JSON_PREFIXES)]
    assert len(forms) > 80
    lost = []
    for rule in forms:
        address = re.sub(r"<(int:)?\w+>", "1", rule)
        meant = page_meant(adapter, address)
        if (meant == "/") != (rule in FIRST_PAGE) or not adapter.test(meant, method="GET"):
            lost.append((rule, meant))
    assert not lost


@pytest.mark.parametrize(
    ("typed", "page"),
    [
        ("/memories", "/memory"),
        ("/memories/many", "/memory"),
        ("/imports", "/transfer"),
        ("/exports", "/transfer"),
        ("/folders", "/organise"),
        ("/settings/password", "/settings"),
        ("/turns/7/stop", "/messages/7"),
        ("/c/7/messages", "/c/7"),
        ("/logout", "/"),
    ],
)
def test_a_browser_is_led_to_the_page(anonymous: FlaskClient, typed: str, page: str) -> None:
    answer = anonymous.get(typed, headers=PAGE)
    assert (answer.status_code, answer.location) == (302, page)


def test_programs_and_parts_of_pages_are_told_the_method_is_wrong(anonymous: FlaskClient) -> None:
    for headers in ({}, {"Accept": "application/json"}, {**PAGE, "HX-Request": "true"}):
        assert anonymous.get("/memories", headers=headers).status_code == 405
    assert anonymous.delete("/memories", headers=PAGE).status_code == 405
    assert anonymous.get("/oauth/token", headers=PAGE).status_code == 405
