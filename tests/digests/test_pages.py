"""The digest for its owner: in the header, as a page without scripts, edited, made, brought back."""

import pytest

from testkit.people import post_form
from tests.conversations.rows import add_conversation, add_messages
from webapp.db.base import write_transaction
from webapp.digests import service
from webapp.digests.schemas import ConversationMemoryData

DATA = {"main_topics": ["Tides & <moon>"], "action": ["Look them up"], "typical_observation": "Asks why."}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def browser(login, user):
    """The owner's browser."""
    return login(user)


@pytest.fixture
def talked(app, user):
    """A conversation of two messages."""
    conversation_id = add_conversation(app, user.user_id, title="Tides")
    add_messages(app, conversation_id, 2)
    return conversation_id


@pytest.fixture
def digested(app, user, talked):
    """A conversation with a digest."""
    with app.app_context(), write_transaction():
        service.upsert_digest(user.user_id, talked, ConversationMemoryData(**DATA))
    return talked


ROUTES = [
    ("GET", ""),
    ("GET", "?edit=1"),
    ("POST", ""),
    ("POST", "/generate"),
    ("GET", "/history"),
    ("POST", "/versions/1/restore"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_it_is_the_owners_alone(app, anonymous, login, make_user, digested, method, path):
    place = f"/c/{digested}/digest{path}"
    assert anonymous.open(place, method=method).status_code == 303
    for other in (make_user(), make_user(is_admin=True)):
        browser = login(other)
        answer = browser.get(place) if method == "GET" else post_form(browser, place, main_topics="taken over")
        assert answer.status_code == 404
        assert "Tides" not in answer.text
    with app.app_context():
        assert service.get_digest(digested).memory_data == DATA


def test_forms_need_their_token(browser, digested):
    for path in ("", "/generate", "/versions/1/restore"):
        assert browser.post(f"/c/{digested}/digest{path}").status_code == 403


def test_it_stands_in_the_header(browser, digested):
    page = browser.get(f"/c/{digested}").text
    assert "Tides &amp; &lt;moon&gt;" in page and "Look them up" in page and "Asks why." in page
    assert f"/c/{digested}/digest/history" in page


def test_without_one_the_header_says_what_it_will_be(browser, talked):
    page = browser.get(f"/c/{talked}").text
    assert "No digest yet." in page
    assert f"/c/{talked}/digest/generate" in page


@pytest.mark.parametrize("headers", [None, HTMX])
def test_editing(browser, app, digested, headers):
    place = f"/c/{digested}/digest"
    form = browser.get(f"{place}?edit=1", headers=headers).text
    assert "Tides &amp; &lt;moon&gt;</textarea>" in form
    written = {"main_topics": "Ebb\r\n\r\n Flow ", "action": "", "typical_observation": " Asks\r\nhow. "}
    saved = post_form(browser, place, headers=headers, **written)
    assert saved.status_code == (200 if headers else 303)
    with app.app_context():
        assert service.get_digest(digested).memory_data == {
            "main_topics": ["Ebb", "Flow"],
            "action": [],
            "typical_observation": "Asks how.",
        }
    assert "2 versions" in browser.get(place).text


@pytest.mark.parametrize("headers", [None, HTMX])
def test_what_is_too_long_stays_in_the_form(browser, digested, headers):
    long = "x" * 301
    form = {"main_topics": long, "action": "", "typical_observation": ""}
    refused = post_form(browser, f"/c/{digested}/digest", headers=headers, **form)
    assert refused.status_code == 422
    assert long in refused.text and "at most 300 characters" in refused.text


@pytest.mark.parametrize("headers", [None, HTMX])
def test_making_one(browser, model, talked, headers):
    model.script(match="conversation_digest", structured=DATA)
    made = post_form(browser, f"/c/{talked}/digest/generate", headers=headers)
    assert made.status_code == (200 if headers else 303)
    assert "Look them up" in browser.get(f"/c/{talked}/digest").text


def test_a_model_that_is_away_is_said(browser, model, talked):
    model.script(match="conversation_digest", fault={"http_status": 500})
    failed = post_form(browser, f"/c/{talked}/digest/generate")
    assert failed.status_code == 503
    assert "No digest yet." in failed.text and 'role="alert"' in failed.text


def test_history_and_bringing_back(browser, app, digested):
    post_form(browser, f"/c/{digested}/digest", main_topics="Other", action="", typical_observation="")
    page = browser.get(f"/c/{digested}/digest/history").text
    assert "Version 2" in page and "written by you" in page and "Look them up" in page
    assert post_form(browser, f"/c/{digested}/digest/versions/1/restore").status_code == 303
    with app.app_context():
        assert (service.get_digest(digested).version, service.get_digest(digested).memory_data) == (3, DATA)
    assert post_form(browser, f"/c/{digested}/digest/versions/9/restore").status_code == 404
    assert browser.get("/c/2147483648/digest").status_code == 404
