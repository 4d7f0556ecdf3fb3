"""Thumbs under a reply, by pointer and keyboard."""

from playwright.sync_api import expect

from .conftest import faults, on_every_screen, plant, scrolls_sideways, serious_findings


@on_every_screen
def test_a_reply_is_rated_with_reasons_and_the_rating_taken_back(app, open_tab, user, device, colour):
    place = plant(app, user, "What is the capital of France?", "The capital of France is Lyon.")
    page = open_tab(user, device, colour=colour, path=place).page
    page.get_by_role("button", name="Bad reply").click()
    expect(page.get_by_role("button", name="Bad reply")).to_have_attribute("aria-pressed", "true")
    form = page.get_by_role("form", name="Why?")
    form.get_by_label("Not right").check()
    form.get_by_label("In your own words").fill("It is Paris.")
    assert serious_findings(page) == [] and not scrolls_sideways(page)
    form.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Thank you.")).to_be_visible()
    page.get_by_role("link", name="Change the reason").click()
    expect(form.get_by_label("Not right")).to_be_checked()
    expect(form.get_by_label("An admin may read this reply")).not_to_be_checked()
    page.reload()
    expect(page.get_by_role("button", name="Bad reply")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Bad reply").click()
    expect(page.get_by_role("button", name="Bad reply")).to_have_attribute("aria-pressed", "false")
    expect(form).to_have_count(0)


def test_the_keyboard_stays_where_it_is_while_a_reply_is_rated_for_admins_to_read(app, open_tab, make_user):
    admin = make_user(is_admin=True)
    tab = open_tab(admin, path=plant(app, admin, "What is the capital of France?", "Lyon."))
    page = tab.page
    page.get_by_role("button", name="Bad reply").focus()
    page.keyboard.press("Enter")
    form = page.get_by_role("form", name="Why?")
    expect(form).to_be_visible()
    expect(page.get_by_role("button", name="Bad reply")).to_be_focused()
    form.get_by_label("An admin may read this reply").check()
    form.get_by_role("button", name="Send").focus()
    page.keyboard.press("Enter")
    change = page.get_by_role("link", name="Change the reason")
    expect(change).to_be_focused()
    page.keyboard.press("Enter")
    expect(form.get_by_role("checkbox").first).to_be_focused()
    tab.go("/admin/feedback")
    expect(page.get_by_text("The reply", exact=True)).to_be_visible()
    assert faults(page) == []
