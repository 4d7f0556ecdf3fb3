"""The main path: register, ask, watch the reply, reload in the middle, come back to it."""

import re

from playwright.sync_api import expect

from .conftest import PHONE, expect_titled, plant, replies, script_title, send

TALE = "The **first** paragraph of it.\n\n```python\nprint('hello')\n```\n\n" + "And so it went on, word by word. " * 12


def test_register_ask_and_find_it_again(open_tab, model):
    model.script(reply=["Hello ", "Ada", ", **welcome**."])
    script_title(model, "A first question")
    tab = open_tab()
    page = tab.go("/")
    expect(page.get_by_text("This is the first account")).to_be_visible()
    page.get_by_label("Name").fill("Ada Lovelace")
    page.get_by_label("E-mail address").fill("ada@example.org")
    page.get_by_label("Password").fill("a heron on the tide mill")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name=re.compile("Good .*, Ada"))).to_be_visible()

    send(page, "Is anybody there?")
    expect(replies(page)).to_have_text(re.compile("Hello Ada, welcome"))
    expect(replies(page).locator("strong")).to_have_text("welcome")
    expect(page).to_have_url(re.compile(r"/c/\d+$"))
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    listed = page.locator(".side-link")
    expect(listed).to_have_count(1)
    expect(listed).to_have_attribute("aria-current", "page")
    # A worker found a title, and it came without a reload.
    expect(listed).to_have_text("A first question")
    expect(page.locator(".title-text")).to_have_text("A first question")
    expect(page).to_have_title("A first question · Commonplace")


def test_reload_in_the_middle_and_a_second_tab_on_a_slow_network(open_tab, tab, user, model, page):
    """htmx goes over the page as soon as it is there itself; what else is on its way must not be needed by then."""
    hold = model.hold_reply(after=40, reply=re.findall(r"\S+\s*", TALE))
    script_title(model, "Boats and bridges")
    send(page, "Tell me a tale")
    expect(page.locator(".stream-end")).to_contain_text("paragraph of it.")
    page.reload()
    expect(page.locator(".stream-end")).to_contain_text("first")
    other = open_tab(user, beside=tab)
    other.page.route(
        re.compile(r"/static/.*\.js"),
        lambda route: (route.request.url.find("/htmx") < 0 and other.page.wait_for_timeout(300), route.continue_()),
    )
    second = other.go(page.url.removeprefix(tab.server.url))
    expect(second.locator("[data-streaming]")).to_contain_text("first")
    hold.release()
    for shown in (page, second):
        expect(replies(shown)).to_have_count(1)
        assert replies(shown).locator(".prose").inner_text().count("paragraph of it.") == 1
        assert shown.locator("template[data-source]").evaluate("node => node.content.textContent") == TALE
        expect(replies(shown).locator(".code-lang")).to_have_text("python")
        expect_titled(shown, "Boats and bridges")


def test_a_reply_is_stopped_and_tried_again_until_the_conversation_goes_on(model, page):
    model.hold_reply()
    send(page, "The first")
    expect(page.locator(".stream-tail")).to_contain_text("word word")
    send(page, "The second")
    expect(page.locator("[data-queued]")).to_be_visible()
    page.get_by_role("button", name="Stop the reply").click()
    expect(page.get_by_text("You stopped this reply.")).to_be_visible()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_have_value("The second")  # what waited comes back
    expect(page.locator(".message-user")).to_have_count(1)
    model.reset()
    model.hold_reply()
    page.get_by_label("Message", exact=True).press("Enter")
    expect(page.locator(".stream-tail")).to_contain_text("word word")
    for offer in ("Retry", "Continue"):
        expect(page.get_by_role("button", name=offer)).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_text("You stopped this reply.")).to_have_count(2)
    model.reset()
    model.script(reply="Done at once.")
    page.get_by_role("button", name="Retry").click()
    expect(replies(page).last).to_have_text(re.compile("Done at once"))
    expect(page.get_by_role("group", name="Version 2 of 2")).to_be_visible()


def test_a_long_message_of_ones_own_is_folded_and_a_draft_belongs_to_its_conversation(app, tab, user, model):
    page = tab.go(plant(app, user, "\n".join(f"Line {number}" for number in range(60)), "Read."))
    words = page.locator(".message-text").first
    folded = words.bounding_box()["height"]
    assert folded < 500
    page.get_by_text("Show all", exact=True).press("Enter")
    assert words.bounding_box()["height"] > 2 * folded
    field = page.get_by_label("Message", exact=True)
    field.fill("half a thou")
    page.reload()
    expect(field).to_have_value("half a thou")
    page.get_by_role("link", name="New conversation").first.click()
    expect(field).to_have_value("")
    page.go_back()
    expect(field).to_have_value("half a thou")
    model.script(reply="Read.")
    send(page, "Thank you")
    expect(replies(page)).to_have_count(2)
    expect(page.get_by_text("Show all", exact=True)).to_have_count(1)


def test_a_question_is_edited_a_reply_written_anew_and_each_version_kept(app, tab, user, model):
    model.script(reply="About dogs.", match="dogs")
    page = tab.go(plant(app, user, "Tell me of cats", "About cats."))
    said, edit = page.locator(".message-user"), page.get_by_role("link", name="Edit and send again")
    said.hover()
    edit.click()
    field = page.get_by_label("Your message", exact=True)
    expect(field).to_be_focused()
    page.keyboard.type(", please")
    expect(field).to_have_value("Tell me of cats, please")
    page.reload()
    expect(field).to_have_value("Tell me of cats, please")
    page.keyboard.press("Escape")
    expect(said.locator(".message-text")).to_have_text("Tell me of cats")
    expect(edit).to_be_focused()
    edit.click()
    field.fill("Tell me of dogs")
    page.keyboard.press("Enter")
    expect(replies(page)).to_contain_text("About dogs.")
    before = said.bounding_box()["y"]
    page.get_by_role("button", name="Earlier version").click()
    expect(replies(page)).to_contain_text("About cats.")
    expect(page.get_by_role("button", name="Later version")).to_be_focused()
    assert abs(said.bounding_box()["y"] - before) < 2
    expect(said.locator(".message-text")).to_have_text("Tell me of cats")
    model.script(reply="Another way to see it.")
    page.get_by_role("button", name="Regenerate").click()
    expect(replies(page)).to_contain_text("Another way")
    replies(page).get_by_role("button", name="Earlier version").click()
    expect(page.locator(".message-assistant")).to_contain_text("About cats.")


def test_on_a_phone(open_tab, user, model):
    model.script(reply="A reply with `code` in it.\n\n```\n" + "long " * 60 + "\n```")
    tab = open_tab(user, PHONE)
    page = tab.page
    field, box = page.get_by_label("Message", exact=True), page.locator(".composer-box")
    field.fill("From the tram")
    assert field.bounding_box()["width"] > 0.9 * box.bounding_box()["width"], "what is typed has the line to itself"
    page.get_by_role("button", name="Send").tap()
    expect(replies(page)).to_contain_text("A reply with code")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    foot = replies(page).locator(".message-by")
    height = foot.bounding_box()["height"]
    foot.locator(".model").evaluate("name => name.textContent = 'a-model-of-some-maker-with-a-long-name'")
    assert foot.bounding_box()["height"] == height, "the time stays beside the model's name"
    page.set_viewport_size({"width": 390, "height": 400})
    page.get_by_role("link", name="Edit and send again").tap()
    expect(page.get_by_label("Your message", exact=True)).to_be_in_viewport(ratio=0.5)
    page.keyboard.press("Enter")  # makes a line, as in the composer
    page.get_by_role("link", name="Cancel").tap()
    page.set_viewport_size(PHONE["viewport"])
    page.context.set_offline(True)
    field.fill("\n".join(["Written in a tunnel"] * 8))
    page.get_by_role("button", name="Good reply").tap()
    notice = page.locator("[data-toast]").filter(has_text="Try again when the connection is back")
    expect(notice).to_be_visible()  # above the composer, however high that is
    above, below = notice.bounding_box(), box.bounding_box()
    assert above and below and above["y"] + above["height"] <= below["y"]
    page.context.set_offline(False)
    page.get_by_role("button", name="Show the sidebar").tap()
    expect(page.get_by_role("link", name="New conversation").first).to_be_visible()
    page.get_by_role("link", name="New conversation").first.tap()
    expect(page.get_by_role("heading", name=re.compile("Good "))).to_be_visible()
    expect(page.locator("#sidebar")).not_to_be_in_viewport()
    tab.forgive()


def test_going_offline_is_said_once_and_words_wait_for_the_network_and_are_sent_once(tab, model, page):
    hold = model.hold_reply()
    send(page, "What do bees do?")
    expect(page.locator(".message-assistant")).to_contain_text("word")
    page.context.set_offline(True)
    notices = page.locator("[data-toast]")
    expect(notices).to_contain_text("You can keep writing.")
    with page.expect_console_message(lambda message: "htmx:error" in message.text):
        page.evaluate("document.dispatchEvent(new Event('conversations:changed'))")
    expect(notices).to_have_count(1)
    expect(notices).to_contain_text("You can keep writing.")
    page.context.set_offline(False)
    hold.release()
    expect(replies(page)).to_have_count(1)
    model.reset()
    model.script(reply="Got it.")
    page.context.set_offline(True)
    send(page, "Written in a tunnel")
    expect(page.get_by_text("This is sent when it is back.")).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_have_value("Written in a tunnel")
    page.context.set_offline(False)
    expect(replies(page).last).to_contain_text("Got it.")
    expect(page.locator(".message-user")).to_have_count(2)
    # A browser calls itself offline without any network, even to a server on the same machine.
    page.route("**/healthz", lambda route: (send(page, "On a plane"), route.continue_()), times=1)
    page.evaluate("Object.defineProperty(navigator, 'onLine', { value: false }); dispatchEvent(new Event('offline'))")
    expect(page.locator(".message-user").nth(2)).to_contain_text("On a plane")
    expect(replies(page)).to_have_count(3)
    lost = []

    def lose(route):
        if lost:
            return route.continue_()
        lost.append(route.fetch())  # the server has it, the browser never hears of it
        return route.abort()

    page.route(re.compile(r"/c/\d+/messages$"), lose)
    send(page, "Did this arrive?")
    expect(page.locator(".message-user").nth(3)).to_contain_text("Did this arrive?")
    expect(replies(page)).to_have_count(4)
    page.reload()
    expect(page.locator(".message-user")).to_have_count(4)
    tab.forgive()


def test_without_scripts_the_page_waits_for_the_reply_and_the_list_is_used(open_tab, user, model):
    model.script(reply="No script was needed.")
    page = open_tab(user, scripts=False).page
    page.get_by_label("Message", exact=True).fill("Plain HTML?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".message-assistant")).to_contain_text("No script was needed.")
    page.get_by_label("Conversation menu").click()
    page.get_by_role("link", name="Rename", exact=True).click()
    page.get_by_label("Title").fill("By hand")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".side-link")).to_have_text("By hand")
    page.get_by_label("Conversation menu").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".side-link")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".side-link")).to_have_text("By hand")
    page.locator(".side-find").click()
    page.get_by_role("searchbox", name="Search everything").fill("hand")
    page.keyboard.press("Enter")
    expect(page.locator(".page .result-name")).to_have_text("By hand")


def test_what_a_model_thinks_is_folded_above_its_reply(tab, model):
    thought = "Tides follow the moon. " * 12
    hold = model.hold_reply(after=20, reply=["Twice ", "a ", "day."], reasoning=thought)
    page = tab.page
    send(page, "How often is high tide?")
    fold = page.locator("details.thinking")
    expect(fold).to_have_count(1)
    expect(fold.locator(".thinking-text")).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator(".thinking-text")).to_contain_text("Tides follow the moon.")
    hold.release()
    expect(replies(page)).to_have_count(1)
    # It was opened while the model thought, and stays open when the reply is done.
    expect(fold.locator("summary")).to_contain_text("Thought for")
    expect(fold.locator(".thinking-text")).to_have_text(thought.strip())
    expect(replies(page).locator(".prose")).to_have_text("Twice a day.")
    page.reload()
    expect(fold.locator(".thinking-text")).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator(".thinking-text")).to_have_text(thought.strip())
