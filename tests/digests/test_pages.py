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
def conversation_id(app, user):
    """A conversation of two messages."""
    conversation_id = add_conversation(app, user.user_id, title="Tides")
    add_messages(app, conversation_id, 2)
    return conversation_id


@pytest.fixture
def digested_id(app, user, conversation_id):
    """A conversation with a digest."""
    with app.app_context(), write_transaction():
        service.upsert_digest(user.user_id, conversation_id, ConversationMemoryData(**DATA))
    return conversation_id


def test_it_stands_in_the_header_of_its_conversation(browser, digested_id):
    page = browser.get(f"/c/{digested_id}").text
    assert "Tides &amp; &lt;moon&gt;" in page and "Look them up" in page and "Asks why." in page
    assert f"/c/{digested_id}/digest/history" in page


@pytest.mark.parametrize("headers", [None, HTMX])
def test_editing(browser, app, digested_id, headers):
    place = f"/c/{digested_id}/digest"
    form = browser.get(f"{place}?edit=1", headers=headers).text
    assert "Tides &amp; &lt;moon&gt;</textarea>" in form
    written = {"main_topics": "Ebb\r\n\r\n Flow ", "action": "", "typical_observation": " Asks\r\nhow. "}
    saved = post_form(browser, place, headers=headers, **written)
    assert saved.status_code == (200 if headers else 303)
    expected = {"main_topics": ["Ebb", "Flow"], "action": [], "typical_observation": "Asks how."}
    with app.app_context():
        assert service.get_digest(digested_id).memory_data == expected
    assert "2 versions" in browser.get(place).text
    refused = post_form(browser, place, headers=headers, **(written | {"main_topics": "x" * 301}))
    assert refused.status_code == 422
    assert "x" * 301 in refused.text and "at most 300 characters" in refused.text, "it stays in the form"


@pytest.mark.parametrize("headers", [None, HTMX])
def test_making_one_where_there_is_none_and_the_model_may_be_away(browser, model, conversation_id, headers):
    page, place = browser.get(f"/c/{conversation_id}").text, f"/c/{conversation_id}/digest/generate"
    assert "No digest yet." in page and place in page, "the header says what it will be"
    model.script(match="conversation_digest", structured=DATA)
    model.script(match="conversation_digest", fault={"http_status": 500}, times=1)
    failed = post_form(browser, place)
    assert failed.status_code == 503
    assert "No digest yet." in failed.text and 'role="alert"' in failed.text
    made = post_form(browser, place, headers=headers)
    assert made.status_code == (200 if headers else 303)
    assert "Look them up" in browser.get(f"/c/{conversation_id}/digest").text


def test_history_and_bringing_back(browser, app, digested_id):
    post_form(browser, f"/c/{digested_id}/digest", main_topics="Other", action="", typical_observation="")
    page = browser.get(f"/c/{digested_id}/digest/history").text
    assert "Version 2" in page and "written by you" in page and "Look them up" in page
    assert post_form(browser, f"/c/{digested_id}/digest/versions/1/restore").status_code == 303
    with app.app_context():
        assert (service.get_digest(digested_id).version, service.get_digest(digested_id).memory_data) == (3, DATA)
    assert post_form(browser, f"/c/{digested_id}/digest/versions/9/restore").status_code == 404
    assert browser.get("/c/2147483648/digest").status_code == 404
