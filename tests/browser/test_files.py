"""Files: attached in the composer, shown with the message, opened at the page that a reply quotes."""

from typing import Any

from playwright.sync_api import Route, expect

from tests.files.test_files import pdf
from tests.files.test_pictures import photo

from .conftest import read_source, replies, send, until

DRAGGED = "() => { const it = new DataTransfer(); it.items.add(new File(['Ants walk.'], 'ants.txt')); return it; }"

DROP_FOLDER = read_source("drop_folder.js")


def text_file(name: str, text: str) -> dict[str, Any]:
    """A file to be chosen."""
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def test_a_picture_and_a_page_that_is_quoted(model, page):
    model.script(reply="They “dance in the dark” (bees.pdf, page 2).")
    page.locator("[data-attach]").set_input_files(
        [
            {"name": "hive.png", "mimeType": "image/png", "buffer": photo(900, 600, "PNG")},
            {"name": "bees.pdf", "mimeType": "application/pdf", "buffer": pdf("Bees.", "Bees dance in the dark.", "")},
        ]
    )
    chips = page.locator("#composer-files .file-chip")
    expect(chips).to_contain_text(["hive.png", "1 of 3 pages are pictures"])
    expect(chips.first.locator("img")).to_have_js_property("naturalWidth", 320)
    send(page, "How do they talk?")
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".message-user .file-seen img")).to_have_js_property("naturalWidth", 320)
    page.get_by_role("link", name="page 2").click()
    expect(page.locator(".file-picture")).to_have_js_property("complete", True)
    expect(page.locator(".file-picture")).not_to_have_js_property("naturalWidth", 0)
    expect(page.get_by_text("Page 2 of 3")).to_be_visible()
    page.locator(".file-words summary").click()
    expect(page.locator("mark")).to_have_text("dance in the dark")


def test_files_wait_with_the_message_they_were_attached_to(model, page):
    hold = model.hold_reply(match="first")
    model.script(reply="Both.", match="second")
    send(page, "The first")
    expect(page.locator("#thread [data-streaming]")).to_have_count(1)  # the conversation has its own composer now
    chips = page.locator("#composer-files .file-chip")
    page.locator("[data-attach]").set_input_files([text_file("bees.txt", "Bees dance.")])
    expect(chips).to_contain_text("bees.txt 1 page")
    send(page, "The second")
    expect(page.locator("[data-queued] .file-chip")).to_contain_text("bees.txt")
    page.reload()
    expect(page.locator("[data-queued] .file-chip")).to_contain_text("bees.txt 1 page")
    page.locator("[data-attach]").set_input_files([text_file("wasps.txt", "Wasps sting.")])
    expect(chips).to_contain_text("wasps.txt 1 page")
    hold.release()
    expect(replies(page)).to_have_count(2)
    expect(page.locator(".message-user .file-chip")).to_have_text("bees.txt")
    expect(chips).to_contain_text("wasps.txt")


def test_each_file_is_uploaded_by_itself_and_one_that_fails_says_why(tab, model, page):
    attach, chips = page.locator("[data-attach]"), page.locator("#composer-files .file-chip")
    attach.evaluate("input => input.dataset.largest = 1048576")
    attach.set_input_files([text_file("long.txt", "word " * 220_000), text_file("bees.txt", "Bees dance.")])
    expect(chips.first).to_contain_text("long.txt: The file is larger than 1 MB.")
    expect(chips.last).to_contain_text("bees.txt 1 page")
    page.get_by_label("How to read bees.txt").select_option("search")
    page.route("**/files", lambda route: route.fulfill(status=413, body=""))
    attach.set_input_files([text_file("odd.txt", "x")])
    expect(chips.last).to_contain_text("odd.txt: The file is too large.")
    page.get_by_role("button", name="Remove", exact=True).first.click()
    expect(chips).to_have_count(2)
    model.script(reply="Read.")
    send(page, "What do they do?")
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".message-user .file-chip")).to_have_text("bees.txt")
    asked = [call for call in model.calls() if call["stream"]][-1]
    assert 'name="bees.txt" pages="1" shown="outline"' in str(asked["messages"])
    tab.forgive()


def test_a_message_waits_for_files_that_are_on_their_way(model, page):
    held: list[Route] = []
    page.route("**/files", lambda route: held.append(route))  # noqa: PLW0108 - playwright looks at its signature
    with page.expect_request("**/files"):
        page.locator("[data-attach]").set_input_files([text_file("bees.txt", "Bees dance.")])
    expect(page.locator("#composer-files progress")).to_have_count(1)
    model.script(reply="Read.")
    send(page, "What do they do?")
    expect(page.get_by_text("The message is sent once they are there.")).to_be_visible()
    assert model.calls() == []
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.evaluate("location.reload()")
    until(page, lambda: asked == ["beforeunload"], "asked")
    held[0].continue_()
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".message-user .file-chip")).to_have_text("bees.txt")


def test_files_of_a_page_that_was_left_hold_nothing_up_and_send_nothing(model, page):
    held: list[Route] = []
    page.route("**/files", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/files"):
        page.locator("[data-attach]").set_input_files([text_file("a.txt", "A."), text_file("b.txt", "B.")])
    model.script(reply="Read.")
    send(page, "What do they do?")
    expect(page.get_by_text("The message is sent once they are there.")).to_be_visible()
    page.get_by_role("link", name="New conversation").first.click()
    expect(page.locator("#composer-files .file-chip")).to_have_count(0)
    page.get_by_label("Message", exact=True).fill("Not yet")
    with page.expect_response("**/files"):
        held[0].continue_()
    page.locator("[data-attach]").set_input_files([text_file("c.txt", "C.")])
    expect(page.locator("#composer-files .file-chip")).to_contain_text("c.txt 1 page")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Not yet")
    assert model.calls() == []


def test_files_that_wait_to_be_sent_are_there_again_after_a_reload_or_if_they_did_not_arrive(tab, model, page):
    attach, chips = page.locator("[data-attach]"), page.locator("#composer-files .file-chip")
    attach.set_input_files([text_file("bees.txt", "Bees dance."), text_file("wasps.txt", "Wasps do not.")])
    expect(chips.nth(1)).to_contain_text("wasps.txt 1 page")
    page.get_by_label("How to read bees.txt").select_option("search")
    page.get_by_role("button", name="Remove wasps.txt").press("Enter")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.reload()
    expect(chips).to_contain_text(["bees.txt 1 page"])
    expect(page.get_by_label("How to read bees.txt")).to_have_value("search")
    model.script(reply="Read.")
    page.route("**/conversations", lambda route: route.fulfill(status=503, body=""))
    with page.expect_response("**/conversations"):
        send(page, "What do they do?")
    expect(page.get_by_label("Message", exact=True)).to_have_value("What do they do?")
    expect(chips).to_contain_text(["bees.txt"])
    page.unroute("**/conversations")
    page.get_by_role("button", name="Send").click()
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".message-user .file-chip")).to_have_text("bees.txt")
    dragged = {"dataTransfer": page.evaluate_handle(DRAGGED)}
    for event, places in (("dragover", 1), ("drop", 0)):
        page.dispatch_event("#thread", event, dragged)
        expect(page.locator(".drop")).to_have_count(places)
    expect(chips).to_contain_text(["ants.txt 1 page"])
    page.evaluate(DROP_FOLDER)
    expect(page.locator("[data-toast]").last).to_contain_text("Open it and drop its files.")
    expect(chips).to_contain_text(["ants.txt 1 page", "snails.txt 1 page"])
    page.get_by_role("link", name="New conversation").first.click()
    expect(page.locator(".welcome")).to_be_visible()
    expect(chips).to_have_count(0)
    page.goto(page.url + "transfer")
    two = DRAGGED.replace("; return", "; it.items.add(new File(['Bees hum.'], 'bees.txt')); return")
    page.dispatch_event("h1", "drop", {"dataTransfer": page.evaluate_handle(two)})
    expect(page.locator(".file-field .file-names").first).to_have_text("ants.txt")
    expect(page.locator("[data-toast]")).to_contain_text("ants.txt was taken, the others were not.")
    page.locator(".side-link").click()
    expect(chips).to_contain_text(["ants.txt 1 page", "snails.txt 1 page"])
    tab.forgive()
