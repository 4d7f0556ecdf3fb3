"""The prompt editor and the digest in a browser: both themes, wide and narrow, with and without scripts."""

import pytest
from playwright.sync_api import expect

from tests.conversations.rows import add_conversation, add_messages
from webapp.db.base import write_transaction
from webapp.digests import service
from webapp.digests.schemas import ConversationMemoryData
from webapp.prompts import service as prompts

from .conftest import faults, on_every_screen, scrolls_sideways, serious_findings

DIGEST = ConversationMemoryData(
    main_topics=["Photosynthesis", "Light in winter"],
    action=["Grow cress at the window"],
    typical_observation="Asks why before how.",
)
TEXT = "Be brief.\n\nContext: {{CONVERSATION_MEMORY}}"


@pytest.fixture
def planted_ids(app, make_user, model):
    """An admin with a conversation, its digest, and a second version of the chat prompt; ids by name."""
    model.script(match="Why plants", reply="Because light **drives** it.")
    admin = make_user(is_admin=True)
    conversation_id = add_conversation(app, admin.user_id, title="Growing plants")
    ids = add_messages(app, conversation_id, 2, text="Why plants?")
    with app.app_context(), write_transaction():
        service.upsert_digest(admin.user_id, conversation_id, DIGEST)
        prompts.add_version(admin.user_id, "chat", TEXT, note="With the digest")
    return admin, conversation_id, ids[1]


@on_every_screen
def test_everything_on_the_page_of_a_prompt(open_tab, planted_ids, device, colour):
    admin, _, reply_id = planted_ids
    tab = open_tab(admin, device, colour=colour)
    page = tab.go("/admin/prompts")
    assert serious_findings(page) == []
    page.get_by_role("link", name="Replies").click()
    page.locator("#versions").get_by_role("link", name="Version 2").click()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value(TEXT)
    page.get_by_text("Placeholders", exact=True).click()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview .sent-text").first).to_contain_text("These are some details of the conversation")
    page.locator("#versions").get_by_role("link", name="Compare").click()
    expect(page.locator(".diff-added mark, .diff-added").first).to_be_visible()
    page.locator("#message_id").fill(str(reply_id))
    page.get_by_role("button", name="Run both").click()
    expect(page.locator(".version-reply strong")).to_have_text(["drives", "drives"])
    assert serious_findings(page) == [] and not scrolls_sideways(page)
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight + 1"), "only the shell scrolls"
    page.get_by_role("button", name="Use version 2").click()
    expect(page.get_by_text("Version 2, in use.")).to_be_visible()
    page.get_by_label("Prompt", exact=True).fill("Broken {{NONSENSE}}")
    page.get_by_role("button", name="Save and use").click()
    expect(page.locator("#prompt_text-error")).to_contain_text("holds {{NONSENSE}}")
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("Broken {{NONSENSE}}")
    tab.forgive()


def test_the_digest_in_the_header(open_tab, planted_ids):
    admin, conversation_id, _ = planted_ids
    page = open_tab(admin).go(f"/c/{conversation_id}")
    page.get_by_label("Digest of this conversation").click()
    expect(page.locator(".digest")).to_contain_text("Photosynthesis")
    assert faults(page) == []
    page.locator(".digest").get_by_role("link", name="Edit").click()
    page.get_by_label("Observation").fill("Tries things.")
    page.locator(".digest").get_by_role("button", name="Save").click()
    expect(page.locator(".digest")).to_contain_text("Tries things.")
    page.locator(".digest").get_by_role("link", name="version").click()
    expect(page.get_by_role("heading", name="Versions of the digest")).to_be_visible()
    assert faults(page) == []
