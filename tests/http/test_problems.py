"""How failures are shown: as problems to programs, as fragments to htmx, as pages to people; and never in detail."""

import inspect
import json
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel
from redis.exceptions import ConnectionError as RedisAway, OutOfMemoryError, ReadOnlyError, ResponseError
from sqlalchemy.exc import (
    DatabaseError,
    DataError,
    DBAPIError,
    IntegrityError,
    OperationalError,
    TimeoutError as PoolTimeout,
)

from tests.support.queries import count_queries
from webapp.conversations import lists
from webapp.db.base import db
from webapp.db.failures import database_is_away, database_is_full
from webapp.errors import Conflict, Invalid, TooLarge, TooMany, Unavailable
from webapp.http.problems import MAX_ERRORS, error_response, nearest_page
from webapp.http.views import JSON_PREFIXES
from webapp.providers.catalogue import catalogue

CASES = json.loads(Path(__file__).with_name("problems.json").read_text(encoding="utf-8"))


def _raise(error: BaseException) -> Any:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise error

    return fail


def _operational(code: int) -> OperationalError:
    return OperationalError("SELECT secret", {}, Exception(code, "secret"))


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        (Invalid.field("title", "is bad"), 422, False),
        (Conflict("x"), 409, False),
        (TooLarge("x"), 413, False),
        (TooMany("x", retry_after=7), 429, True),
        (Unavailable("x"), 503, True),
        (RedisAway("secret"), 503, True),
        (OutOfMemoryError("secret: used memory > 'maxmemory'."), 503, True),
        (ReadOnlyError("secret: a read only replica."), 503, True),
        (ResponseError("MISCONF secret: unable to persist to disk"), 503, True),
        (_operational(2006), 503, True),
        (_operational(1142), 503, True),
        (_operational(1213), 503, True),
        (PoolTimeout("secret"), 503, True),
        (_operational(1064), 500, False),
        (DataError("SELECT secret", {}, Exception(1406)), 500, False),
        (IntegrityError("SELECT secret", {}, Exception(1062)), 500, False),
        (RuntimeError("secret"), 500, False),
    ],
    ids=range(17),
)
def test_each_failure_is_a_problem(client, monkeypatch, error, status, retry):
    monkeypatch.setattr(lists, "list_conversations", _raise(error))
    response = client.get("/api/conversations")
    assert response.status_code == response.get_json()["status"] == status
    assert response.content_type == "application/problem+json"
    assert ("Retry-After" in response.headers) == retry
    assert "secret" not in response.text and "Traceback" not in response.text
    if status == 422:
        assert response.get_json()["errors"] == [{"loc": ["title"], "msg": "is bad"}]
    monkeypatch.undo()
    assert client.get("/api/conversations").status_code == 200, "the session is usable again"


def test_an_error_names_a_place_in_what_was_sent(client):
    """And no type of ours that was tried there."""
    for path, body, places in CASES["an_error_names_a_place_in_what_was_sent"]:
        problem = client.post(f"/api/{path}", json=body).get_json()
        assert (path, body, problem["status"]) == (path, body, 422)
        assert sorted({tuple(error["loc"]) for error in problem["errors"]}) == sorted(map(tuple, places)), body
        assert problem["detail"] == f"{'.'.join(problem['errors'][0]['loc'])}: {problem['errors'][0]['msg']}"


def test_so_does_one_in_openais_shape(client):
    odd = {"messages": [{"role": "user", "content": 5}]}
    for wish, place in (({"stop": 5}, "stop"), (odd, "messages.0.content")):
        body = {"messages": [{"role": "user", "content": "x"}], **wish}
        error = client.post("/v1/chat/completions", json=body).get_json()["error"]
        assert (error["param"], error["message"]) == (place, f"{place}: Input should be a valid string")


def test_an_error_of_a_query_names_its_parameter_whoever_found_it(client):
    problem = client.get("/api/memories/timeline?from=x").get_json()
    assert {tuple(error["loc"]) for error in problem["errors"]} == {("from",)}
    found = client.get("/api/conversations?cursor=none").get_json()
    assert found["detail"] == "cursor: is not a cursor of this list"
    assert client.get("/api/conversations?limit=0").get_json()["detail"].startswith("limit: ")


def test_a_body_that_a_view_reads_by_itself_is_refused_with_a_sentence(client):
    problem = client.post("/api/imports", json={"text": 5}).get_json()
    assert problem["errors"] == [{"loc": ["text"], "msg": "Input should be a valid string"}]
    assert problem["detail"] == "text: Input should be a valid string"
    unknown = client.post("/api/conversations", json={f"unknown{number}": 1 for number in range(1_000)})
    assert len(unknown.get_json()["errors"]) == MAX_ERRORS


def test_a_fragment_goes_to_the_toasts(anonymous):
    for response in (
        anonymous.get("/nothing", headers={"HX-Request": "true"}),
        anonymous.delete("/memories", headers={"HX-Request": "true"}),
    ):
        assert response.status_code in (404, 405)
        assert response.headers["HX-Retarget"] == "#toasts"
        assert "This page is out of date. Reload it and try again." in response.text, (
            "a page from before an upgrade asks"
        )
        assert "<html" not in response.text.lower()


def test_a_notice_says_what_is_wrong_with_a_field(app):
    with app.test_request_context("/memory", headers={"HX-Request": "true"}):
        notice = error_response(422, "Not acceptable", "", errors=[{"loc": ["name"], "msg": "It is too long."}])
    assert "It is too long." in (text := notice.get_data(as_text=True)) and "Not acceptable" not in text


def test_which_database_errors_pass(app):
    for code in (1040, 1049, 1142, 1203, 1205, 1213, 1226, 1290, 1836, 1932, 2002, 2003, 2005, 2006, 2012, 2013, 2026):
        assert database_is_away(_operational(code))
    full = "database or disk is full"
    for words in ("database is locked", full, "attempt to write a readonly database", "disk I/O error"):
        error = OperationalError("INSERT", {}, Exception(words))
        assert database_is_away(error) and database_is_full(error) == (words == full)
    assert database_is_away(OperationalError(None, {}, Exception("any failure to connect")))
    assert database_is_away(DatabaseError("x", {}, Exception("database disk image is malformed")))
    assert database_is_away(PoolTimeout())
    for code in (28, 1021, 1114):
        assert database_is_full(_operational(code)) and database_is_away(_operational(code))
    for needs in ("SELECT 1 FROM no_such_table", "SELECT no_such_column FROM users"):  # which an upgrade may yet make
        with app.app_context(), pytest.raises(DBAPIError) as failed:
            db.session.execute(db.text(needs))
        assert database_is_away(failed.value)
    gone = DataError("x", {}, Exception(1), connection_invalidated=True)
    assert database_is_away(gone)
    ours = DataError("x", {}, Exception(2006))
    for error in (_operational(1064), ours, RuntimeError(), OperationalError("x", {}, None)):
        assert not database_is_away(error)


@pytest.mark.parametrize("path", ["/s/nowhere", "/nothing", "/memory/timeline"])
def test_a_page_that_is_not_there_offers_what_its_reader_can_do(anonymous, user, login, path):
    visitor, member = anonymous.get(path).text, login(user).get(path).text
    assert ">Sign in</a>" in visitor and "your conversations" not in visitor
    assert "Back to your conversations" in member and ">Sign in</a>" not in member
    assert "Try again" not in visitor + member, "it would be gone the next time too"


def test_an_unknown_address_is_said_to_be_unknown_once(user, login, anonymous):
    page = login(user).get("/nothing").text
    assert page.count("This page does not exist") == 2, "the title and the heading"
    assert "The URL may be mistyped" in page and 'id="sidebar"' in page
    for path, kind in (("/api/nothing", "application/problem+json"), ("/nothing", "text/html; charset=utf-8")):
        answer = anonymous.get(path)
        assert (answer.status_code, answer.content_type) == (404, kind)


def test_what_every_template_is_given_asks_the_database_nothing(app):
    """Or the page that says that the database is away could not be shown."""
    with app.test_request_context("/"):
        catalogue.forget()
        with count_queries() as asked:
            for given in app.template_context_processors[None]:
                given()
        assert asked == []


PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FIRST_PAGE = {"/logout", "/language", "/share"}
"""Where there is no page that would be meant rather than the first."""


def test_every_form_has_a_page_that_is_meant_by_its_address(app):
    adapter = app.url_map.bind("localhost")
    methods: dict[str, set[str]] = {}
    for rule in app.url_map.iter_rules():
        methods.setdefault(rule.rule, set()).update(rule.methods or ())
    forms = [rule for rule, allowed in methods.items() if "GET" not in allowed and not rule.startswith(JSON_PREFIXES)]
    assert len(forms) > 80
    lost = []
    for rule in forms:
        address = re.sub(r"<(int:)?\w+>", "1", rule)
        meant = nearest_page(adapter, address)
        if (meant == "/") != (rule in FIRST_PAGE) or not adapter.test(meant, method="GET"):
            lost.append((rule, meant))
    assert not lost


def test_a_browser_is_led_to_the_page(anonymous):
    for typed, page in CASES["a_browser_is_led_to_the_page"]:
        answer = anonymous.get(typed, headers=PAGE)
        assert (typed, answer.status_code, answer.location) == (typed, 302, page)


def test_programs_and_parts_of_pages_are_told_the_method_is_wrong(anonymous):
    for headers in ({}, {"Accept": "application/json"}, {**PAGE, "HX-Request": "true"}):
        assert anonymous.get("/memories", headers=headers).status_code == 405
    assert anonymous.delete("/memories", headers=PAGE).status_code == 405
    assert anonymous.get("/oauth/token", headers=PAGE).status_code == 405


def test_only_what_describes_a_url_is_called_a_path(app):
    """By that name `validation_problem` tells an address that nothing can have from a body that does not fit."""
    shapes = [
        (argument, shape)
        for view in app.view_functions.values()
        for argument, shape in get_type_hints(inspect.unwrap(view)).items()
        if isinstance(shape, type) and issubclass(shape, BaseModel)
    ]
    assert len(shapes) > 200
    assert [shape for argument, shape in shapes if (argument == "path") != shape.__name__.endswith("Path")] == []
