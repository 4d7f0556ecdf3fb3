"""Files: attached in the composer, shown with the message, opened at the page that a reply quotes."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.files.test_files import pdf
from tests.files.test_pictures import photo

from .conftest import replies, send


def test_a_picture_and_a_page_that_is_quoted(tab, model):
    model.script(reply="They “dance in the dark” (bees.pdf, page 2).")
    page = tab.page
    page.locator("[data-attach]").set_input_files(
        [
            {"name": "hive.png", "mimeType": "image/png", "buffer": photo(900, 600, "PNG")},
            {"name": "bees.pdf", "mimeType": "application/pdf", "buffer": pdf("Bees.", "Bees dance in the dark.", "")},
        ]
    )
    chips = page.locator("#composer-files .file-chip")
    expect(chips).to_have_count(2)
    expect(chips.first.locator("img")).to_have_js_property("naturalWidth", 320)
    expect(chips.last).to_contain_text("1 of 3 pages are pictures")
    send(page, "How do they talk?")
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".message-user .file-seen img")).to_have_js_property("naturalWidth", 320)
    page.get_by_role("link", name="page 2").click()
    expect(page.locator(".file-picture")).to_have_js_property("complete", True)
    expect(page.locator(".file-picture")).not_to_have_js_property("naturalWidth", 0)
    expect(page.get_by_text("Page 2 of 3")).to_be_visible()
    page.locator(".file-words summary").click()
    expect(page.locator("mark")).to_have_text("dance in the dark")
