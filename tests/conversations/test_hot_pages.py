"""The pages that are asked for all day send few statements, and as many for much as for little."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.account_rows import fill
from testkit.list_requests import list_requests
from tests.conversations.test_paging import queries
from webapp.providers import catalogue
from webapp.tools.web import service as web
from webapp.usage import service as usage

PART = {"HX-Request": "true"}

STATEMENTS: dict[str, int] = json.loads(Path(__file__).with_name("statements.json").read_text())
"""How many each page sends."""


@pytest.fixture
def lasting_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a process knows for some seconds does not lapse in the middle of a count."""
    monkeypatch.setattr(catalogue, "CACHE_SECONDS", 3_600.0)
    monkeypatch.setattr(web, "CACHE_SECONDS", 3_600.0)
    monkeypatch.setattr(usage, "CACHE_SECONDS", 3_600.0)
    caches = (usage.forget, catalogue.catalogue.forget, web.web_of_site.cache_clear)
    for forget in caches:
        forget()
    yield
    for forget in caches:
        forget()


@pytest.mark.usefixtures("lasting_caches")
def test_statements_of_a_page(app, user, browser):
    sent: dict[int, dict[str, int]] = {}
    filled = 0
    for size in (400, 800):
        with app.app_context():
            talk = fill(user.user_id, filled, size)
        filled = size
        for path in STATEMENTS:
            asked = path.removeprefix("part of ").format(talk=talk, middle=size // 4)
            headers = PART if path.startswith("part of") else {}
            assert browser.get(asked, headers=headers).status_code == 200
            with queries(app) as statements:
                assert browser.get(asked, headers=headers).status_code == 200
            sent.setdefault(size, {})[path] = len(statements)
    assert sent == {400: STATEMENTS, 800: STATEMENTS}


def test_what_the_benchmark_times_is_answered(app, user):
    """`python -m bench lists` ends at the first view that refuses it, and nobody sees how long the others take."""
    with app.app_context():
        talk = fill(user.user_id, 0, 200)
    answers = {name: request() for name, request in list_requests(app, user, talk, 200).items()}
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 200} == {}
    for name in ("sidebar from the middle", "API: conversations from the middle"):
        assert "Conversation 100" in answers[name].text and "Conversation 101" not in answers[name].text, name
