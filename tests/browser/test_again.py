"""Another reply by another model, and both side by side."""

import json
import urllib.request

import pytest
from playwright.sync_api import expect

from .conftest import PHONE, faults, plant, scrolls_sideways, serious_findings


@pytest.fixture
def other_model(live_server, make_user, model_server):
    """A second model that everybody may choose, told to the live web itself: it knows its models for some seconds."""
    models = [{"model": "other-chat", "label": "Other chat"}]
    body = {"name": "Other", "base_url": model_server.base_url, "api_key": "sk-x", "models": models}
    headers = {"Authorization": f"Bearer {make_user(is_admin=True).token}", "Content-Type": "application/json"}
    place = f"{live_server.url}/api/connections"
    with urllib.request.urlopen(urllib.request.Request(place, json.dumps(body).encode(), headers)) as answer:
        assert answer.status == 201
        added = json.load(answer)["connection_id"]
    yield
    # Told as well: the next test's composer has no picker of models.
    with urllib.request.urlopen(urllib.request.Request(f"{place}/{added}", headers=headers, method="DELETE")) as answer:
        assert answer.status == 204


def test_another_model_answers_and_both_stand_side_by_side(app, open_tab, user, model, other_model):
    page = open_tab(user, PHONE, path=plant(app, user, "Tell me", "The first answer.")).page
    page.get_by_label("More for this reply").click()
    choice = page.get_by_role("button", name="Other chat")
    expect(choice).to_be_visible()
    assert serious_findings(page) == []
    assert not scrolls_sideways(page)
    model.script(reply="The other answer.")
    choice.click()
    expect(page.locator(".message-assistant[data-status] .prose")).to_have_text("The other answer.")
    expect(page.locator(".message-assistant .model")).to_have_text("Other chat")
    page.get_by_label("More for this reply").click()
    page.get_by_role("link", name="Compare versions").click()
    expect(page.locator(".version")).to_have_count(2)
    expect(page.locator(".side-by-side")).to_contain_text("The first answer.")
    expect(page.locator(".side-by-side")).to_contain_text("The other answer.")
    assert faults(page) == []
