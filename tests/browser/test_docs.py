"""The page of the API in a real browser."""

import re

from playwright.sync_api import expect


def test_the_search_box_finds_operations_by_their_words(tab):
    page = tab.go("/api/docs")
    box = page.get_by_placeholder("Filter by tag")
    expect(box).to_be_visible()
    box.fill("generate-memory")
    found = page.locator(".opblock")
    expect(found).to_have_count(1)
    expect(found.first).to_contain_text(re.compile("generate-memory-for-conversation"))
    box.fill("publish the draft")
    expect(page.locator(".opblock").first).to_contain_text("publish")
