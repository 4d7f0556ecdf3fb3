"""Without a connection: what was read last can be read, drafts stay, and nothing is left for the next person."""

import json

from playwright.sync_api import expect

from tests.files.test_pictures import photo
from webapp.accounts import sessions
from webapp.db.base import write_transaction
from webapp.push.service import list_subscriptions, public_key

from .conftest import (
    PHONE,
    on_every_screen,
    plant,
    read_source,
    replies,
    scrolls_sideways,
    send,
    serious_findings,
    sign_in,
    until,
)

KEPT = read_source("kept.js")


def _ready(page):
    page.wait_for_load_state("load")  # then the scripts of the page have run
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    # Not by wait_for_function: the page's policy allows no strings as scripts.
    until(page, lambda: page.evaluate("navigator.serviceWorker.controller !== null"), "looked after by the worker")


def _saved_calls(page, count):
    until(page, lambda: len(page.evaluate(KEPT)) == count, f"{count} kept")
    return page.evaluate(KEPT)


def _read(tab, app, person):
    """Open a conversation that is then kept; its page."""
    page = tab.go("/")
    _ready(page)
    tab.go(plant(app, person, "A quiet matter", "Between you and me."))
    _saved_calls(page, 1)
    return page


def _forgive_refusals(tab, refusal="ERR_INTERNET_DISCONNECTED"):
    """The browser says of each request why it had no answer, and may have said nothing else."""
    assert all(refusal in problem for problem in tab.problems), tab.problems
    tab.forgive()


@on_every_screen
def test_what_was_read_is_there_without_a_connection(open_tab, user, model, device, colour):
    model.script(reply="Bees **dance**, for $a^2$ reasons.\n\n```python\nprint(1)\n```")
    tab = open_tab(user, device, colour=colour, worker=True)
    page = tab.page
    _ready(page)
    page.get_by_label("Message", exact=True).fill("What do bees do?")
    page.get_by_role("button", name="Send").click()
    expect(replies(page)).to_have_count(1)
    (kept,) = _saved_calls(page, 1)
    assert "<form" not in kept["html"] and "hx-" not in kept["html"]
    page.get_by_label("Message", exact=True).fill("Half a thought")
    address = page.url
    page.context.set_offline(True)
    page.goto(address)
    expect(page.locator("body[data-ready]")).to_have_count(1)
    expect(page.locator("#offline-thread")).to_contain_text("What do bees do?")
    expect(page.locator("#offline-thread strong")).to_have_text("dance")
    expect(page.get_by_label("Write a message")).to_have_value("Half a thought")
    page.get_by_label("Write a message").fill("Half a thought more")
    assert serious_findings(page) == []
    assert not scrolls_sideways(page)
    page.goto(page.url.rsplit("/c/", 1)[0] + "/memories")
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    expect(page.get_by_role("link", name="What do bees do?")).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("link", name="What do bees do?").click()
    expect(page.locator("#offline-thread")).to_contain_text("dance")
    page.context.set_offline(False)
    expect(page.get_by_label("Message", exact=True)).to_have_value("Half a thought more")  # it comes back by itself
    assert page.url == address
    _forgive_refusals(tab)


def test_nothing_is_kept_of_what_is_deleted_or_temporary_or_of_whoever_has_gone(app, open_tab, user, make_user, model):
    tab = open_tab(user, worker=True)
    page = _read(tab, app, user)
    page.get_by_label("Conversation menu").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    _saved_calls(page, 0)
    tab.go("/?temporary=1")
    model.script(reply="Between us.")
    send(page, "A quiet matter")
    expect(replies(page)).to_have_count(1)
    tab.go(plant(app, user, "What was read later", "Yes."))
    (kept,) = _saved_calls(page, 1)
    assert "What was read later" in kept["html"]
    address = page.url
    page.get_by_label("Message", exact=True).fill("Not yet sent")
    page.wait_for_function("Object.keys(localStorage).some((key) => key.startsWith('draft:'))")
    other = open_tab(beside=tab).page
    other.goto(address)
    other.evaluate("sessionStorage['edit-1'] = 'Not yet sent'")
    page.locator(".account").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("E-mail address")).to_be_visible()
    assert page.evaluate(KEPT) == []
    for each in (page, other):
        assert "Not yet sent" not in each.evaluate("JSON.stringify([localStorage, sessionStorage])")
    other.close()
    page.context.set_offline(True)
    page.goto(address)
    expect(page.get_by_text("No conversation was kept in this browser.")).to_be_visible()
    assert "read later" not in page.content()
    page.context.set_offline(False)
    expect(page.get_by_label("E-mail address")).to_be_visible()  # it comes back by itself
    _forgive_refusals(tab)
    tab.go("/login")
    other = make_user()
    sign_in(page, other)
    expect(page.get_by_label("Message", exact=True)).to_be_visible()
    assert page.evaluate(KEPT) == []
    _read(tab, app, other)
    with app.app_context(), write_transaction():
        sessions.end_others(other.user_id, but=None)
    tab.go("/settings")
    expect(page.get_by_label("E-mail address")).to_be_visible()
    _saved_calls(page, 0)
    sign_in(page, other)
    expect(page.get_by_role("heading", name="General", exact=True)).to_be_visible()
    _read(tab, app, other)
    tab.go("/settings/delete")
    page.get_by_label("Password").fill(other.password)
    page.get_by_role("button", name="Delete my account").click()
    expect(page.get_by_role("heading", name="Your account is closed")).to_be_visible()
    _saved_calls(page, 0)


def test_a_long_reply_is_told_in_a_hidden_tab_that_asked_for_it(open_tab, user, model, contexts):
    tab = open_tab(user, path="")
    page = tab.page
    contexts.spoil(page.context)
    page.context.grant_permissions(["notifications"])
    page.add_init_script(
        "window.told = []; const Real = Notification;"
        "window.Notification = class { constructor(title, options) { told.push([title, options.body]); }"
        " static get permission() { return 'granted'; }"
        " static requestPermission() { return Promise.resolve('granted'); } };"
    )
    tab.go("/settings")
    page.get_by_label("Notify me when a long reply is finished").check()
    page.reload()
    expect(page.get_by_label("Notify me when a long reply is finished")).to_be_checked()
    tab.go("/")
    hold = model.hold_reply()
    send(page, "Take your time")
    expect(page.locator(".stream-tail")).to_contain_text("word")
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'));"
        "const now = Date.now; Date.now = () => now() + 60_000;"  # it has taken a minute
    )
    hold.release()
    until(page, lambda: page.evaluate("told.length === 1"), "told")
    assert page.evaluate("told[0][1]") == "The reply is done."


def test_who_wants_notifications_is_notified_by_the_server_until_they_do_not(open_tab, user, app):
    """The maker of a browser, which hands out addresses, is played; the key, the worker and the server are real."""
    tab = open_tab(user, worker=True)
    page = tab.page
    _ready(page)
    page.context.grant_permissions(["notifications"])
    keys = {
        "p256dh": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    }
    given = {"endpoint": "https://push.example.org/one", "expirationTime": None, "keys": keys}
    page.add_init_script(
        "Object.defineProperty(Notification, 'permission', { get: () => 'granted' });"
        "Notification.requestPermission = () => Promise.resolve('granted');"
        f"const given = {json.dumps(given)};"
        "const made = { endpoint: given.endpoint, toJSON: () => given,"
        " unsubscribe: async () => { sessionStorage.setItem('ended', 'yes'); return true; } };"
        "PushManager.prototype.subscribe = async (options) => { window.asked = options; return made; };"
        "PushManager.prototype.getSubscription = async () => made;"
    )
    tab.go("/settings")

    def list_endpoints():
        with app.app_context():
            return [row.endpoint for row in list_subscriptions(user.user_id)]

    box = page.get_by_label("Notify me when a long reply is finished")
    box.check()
    until(page, lambda: list_endpoints() == [given["endpoint"]], "subscribed")
    with app.app_context():
        assert page.evaluate("asked") == {"userVisibleOnly": True, "applicationServerKey": public_key()}
    box.uncheck()
    until(page, lambda: list_endpoints() == [], "unsubscribed")
    until(page, lambda: page.evaluate("sessionStorage.getItem('ended')") == "yes", "ended in the browser too")
    (worker,) = page.context.service_workers
    told = {"title": "Review", "body": "The reply is done.", "tag": "turn-7", "place": "/c/7"}
    shown = worker.evaluate(
        "(told) => new Promise((done) => {"
        " self.registration.showNotification = async (...shown) => done(shown);"
        " self.dispatchEvent(new PushEvent('push', { data: JSON.stringify(told) })); })",
        told,
    )
    assert shown == ["Review", {"body": "The reply is done.", "tag": "turn-7", "data": {"place": "/c/7"}}]


SHARE = read_source("share.js")
"""What a phone's share sheet does: a form is sent to the share target, beside any page."""


def test_a_shared_picture_lies_in_the_composer_beside_its_words_until_they_are_sent(app, open_tab, user, model):
    model.script(reply="A honeycomb.")
    tab = open_tab(user, PHONE, worker=True)
    page = tab.page
    _ready(page)
    asked = []
    page.on("request", lambda request: asked.append((request.method, request.url.rpartition(":")[2].partition("/")[2])))
    page.evaluate(SHARE, [{"title": "", "text": "What is this?"}, list(photo(90, 60, "PNG"))])
    chips = page.locator("#composer-files .file-chip")
    expect(chips).to_have_count(1)
    expect(chips.locator("img")).to_have_js_property("naturalWidth", 90)
    box = page.get_by_label("Message", exact=True)
    expect(box).to_have_value("What is this?")
    assert '"origin":"pasted"' in page.locator("[data-spans]").input_value().replace(" ", "")
    assert page.evaluate("caches.open('shared').then((cache) => cache.keys()).then((keys) => keys.length)") == 0
    assert ("POST", "files") in asked and replies(page).count() == 0
    page.reload()
    expect(box).to_have_value("What is this?")
    expect(chips.locator("img")).to_have_js_property("naturalWidth", 90)
    page.get_by_role("button", name="Send").click()
    expect(replies(page)).to_have_count(1)
    expect(page.locator(".message-user .file-seen img")).to_have_count(1)
    with app.app_context(), write_transaction():
        sessions.end_others(user.user_id, but=None)
    page.evaluate(SHARE, [{"text": "Mine"}, list(photo(9, 6, "PNG"))])
    expect(page.get_by_label("E-mail address")).to_be_visible()
    until(page, lambda: not page.evaluate("caches.has('shared')"), "nothing kept for whoever signs in")
    _forgive_refusals(tab, "401")  # of what the page asked for when its session had just ended


def test_a_form_whose_session_had_ended_has_its_words_again_after_signing_in(app, user, make_user, tab):
    page = tab.go("/prompts/new")
    for person, words in ((user, "Explain it like a lighthouse keeper."), (make_user(), "")):
        page.locator("#content").fill("Explain it like a lighthouse keeper.")
        page.locator("#name").fill("keeper")
        with app.app_context(), write_transaction():
            sessions.end_others(user.user_id, but=None)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_label("E-mail address")).to_be_visible()
        sign_in(page, person)  # somebody else finds nothing
        expect(page.locator("#content")).to_have_value(words)
        if person is user:
            expect(page.locator("#name")).to_have_value("keeper")
    page.reload()
    expect(page.locator("#content")).to_have_value("")
