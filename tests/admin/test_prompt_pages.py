"""The prompt editor: who may open it, saving, comparing, previewing and making a reply again."""

import pytest
from sqlalchemy import select

from testkit.people import post_form
from tests.conversations.rows import add_conversation, add_messages
from tests.support.queries import scalars
from webapp.audit.models import AuditEvent
from webapp.prompts import service

HTMX = {"HX-Request": "true"}


@pytest.fixture
def theirs(app, user):
    """A conversation of somebody else's, of two messages."""
    conversation_id = add_conversation(app, user.user_id, title="Tides")
    return conversation_id, *add_messages(app, conversation_id, 2)


def post(browser, path, **form):
    """Post a form of the editor."""
    return post_form(browser, f"/admin/prompts/{path}", **form)


def looks(app):
    """How often an admin was recorded to have read something of others."""
    return [row.what for row in scalars(app, select(AuditEvent).where(AuditEvent.action == "admin_looked"))]


def test_every_prompt_is_listed_and_opens(browser):
    text = browser.get("/admin/prompts").text
    for state in service.CATALOGUE.values():
        assert f"/admin/prompts/{state.name}" in text
        page = browser.get(f"/admin/prompts/{state.name}")
        assert page.status_code == 200
        assert state.title in page.text
    assert "/admin/prompts" in browser.get("/admin").text
    assert browser.get("/admin/prompts/nonsense").status_code == 404


def test_saving_using_and_going_back(browser, app):
    saved = post(browser, "chat/versions", prompt_text="Be brief.\r\nPlease.", note="shorter", set_active="0")
    assert (saved.status_code, saved.location) == (303, "/admin/prompts/chat?version=2")
    page = browser.get(saved.location).text
    assert "Version 2 is saved, not in use yet." in page
    assert "Be brief.\nPlease." in page and "Ada" in page and "shorter" in page
    assert post(browser, "chat/versions/2/activate").status_code == 303
    with app.app_context():
        assert service.active("chat").text == "Be brief.\nPlease."
    post(browser, "chat/versions", prompt_text="Be kind.", set_active="1")
    post(browser, "chat/versions/1/activate")
    with app.app_context():
        assert service.active("chat").version == 1
        assert [row.version for row in service.activations("chat")] == [1, 3, 2]
    assert post(browser, "chat/versions/9/activate").status_code == 404


def test_a_refused_text_stays_in_the_editor_with_the_reason(browser):
    refused = post(browser, "digests/versions", prompt_text="Sum <b>it</b> up.", note="n", set_active="1")
    assert refused.status_code == 422
    assert "lacks {{CONVERSATION}}" in refused.text
    assert "Sum &lt;b&gt;it&lt;/b&gt; up." in refused.text
    assert 'aria-invalid="true"' in refused.text


def test_a_comparison_as_a_page_and_as_a_part(browser):
    post(browser, "titles/versions", prompt_text="Name <it>.", set_active="0")
    whole = browser.get("/admin/prompts/titles/compare?a=1&b=2")
    part = browser.get("/admin/prompts/titles/compare?a=1&b=2", headers=HTMX)
    assert "diff-added" in whole.text and "<html" in whole.text
    assert "diff-removed" in part.text and "<html" not in part.text and "Name &lt;it&gt;." in part.text
    assert browser.get("/admin/prompts/titles/compare?a=1&b=7").status_code == 404
    assert browser.get("/admin/prompts/titles/compare?a=x").status_code == 404


def test_a_warning_where_the_prompt_changes_with_the_conversation(browser):
    assert "Providers that cache prompts" not in browser.get("/admin/prompts/chat").text
    post(browser, "chat/versions", prompt_text="{{CONVERSATION_MEMORY}}", set_active="0")
    assert "Providers that cache prompts" in browser.get("/admin/prompts/chat?version=2").text


@pytest.mark.parametrize("headers", [None, HTMX])
def test_a_preview_shows_what_would_be_sent_and_is_recorded(browser, app, theirs, model, headers):
    text = "Speak of {{CONVERSATION_MEMORY__action}}"
    shown = post(browser, "chat/preview", prompt_text=text, conversation_id=str(theirs[0]), headers=headers)
    assert shown.status_code == 200, shown.text
    assert "Speak of Conversation memory not available." in shown.text
    assert "Message 0" in shown.text and "Message 1" not in shown.text, "what the last question was answered from"
    assert ("<html" in shown.text) == (headers is None)
    assert looks(app) == [f"conversation {theirs[0]}"]
    with app.app_context():
        assert service.get_prompt("chat").active_version == 1
    assert [call for call in model.calls() if call["messages"]] == [], "a preview asks no model to answer"


def test_background_prompts_have_previews_too(browser, theirs):
    for name in ("titles", "summaries", "extraction", "digests", "points"):
        text = "Do it. {{CONVERSATION}}" if name == "digests" else "Do it."
        shown = post(browser, f"{name}/preview", prompt_text=text, conversation_id=str(theirs[0]))
        assert (name, shown.status_code) == (name, 200)
        assert "Do it." in shown.text


def test_a_preview_that_cannot_be_says_why(browser, app):
    numbers = ({}, {"conversation_id": "2000000000"}, {"conversation_id": "9" * 40})
    cases = [({"prompt_text": "a", **number}, "no such conversation") for number in numbers]
    for form, reason in (({"prompt_text": "{{X}}", "conversation_id": "1"}, "holds {{X}}"), *cases):
        for headers in (None, HTMX):
            shown = post(browser, "chat/preview", headers=headers, **form)
            assert (form, shown.status_code) == (form, 422)
            assert reason in shown.text
    assert looks(app) == []


def test_a_reply_made_again_with_two_versions(browser, app, theirs, model):
    conversation_id, _, reply_id = theirs
    post(browser, "chat/versions", prompt_text="Be brief.", set_active="0")
    model.script(match="Message 0", reply="Made **again**.")
    shown = post(browser, "chat/replay", message_id=str(reply_id), a="1", b="2", headers=HTMX)
    assert shown.status_code == 200, shown.text
    assert shown.text.count("Made <strong>again</strong>.") == 2
    assert "Version 1" in shown.text and "Version 2" in shown.text and "Message 1" in shown.text
    asked = [call["messages"] for call in model.calls() if call["messages"] and "Message 0" in str(call["messages"])]
    systems = {messages[0]["content"][:9] for messages in asked}
    assert systems == {"You are t", "Be brief."}
    assert looks(app) == [f"conversation {conversation_id}"]
    with app.app_context():
        from webapp.conversations.messages import current_messages

        assert [row.content for row in current_messages(conversation_id)] == ["Message 0", "Message 1"]


def test_a_replay_without_a_model_says_so(browser, theirs, model):
    model.script(match="Message 0", fault={"http_status": 500})
    shown = post(browser, "chat/replay", message_id=str(theirs[2]), a="1", b="1")
    assert shown.status_code == 200
    assert shown.text.count("could not be reached") + shown.text.count("Try again") >= 2


def test_a_replay_of_what_is_not_there(browser, app):
    for message_id in ("2000000000", "", "x"):
        form = {"message_id": message_id, "a": "1", "b": "1"}
        assert post(browser, "chat/replay", **form).status_code == 422
        assert post(browser, "titles/replay", **form).status_code == 404
    assert looks(app) == []
