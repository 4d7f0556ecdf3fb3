"""Every page with hostile words in every column that holds words: none of them runs, none of them becomes an element.

New pages and new columns join by themselves: addresses come from the routes, words go into the tables.
"""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, BrowserContext, Error, Page

from testkit.people import Person, api_client
from tests.browser.conftest import SLOW, read_source
from tests.openapi.existing import Existing
from tests.support.attacks import ATTACKS
from tests.support.live import LiveServer
from tests.support.poison import ELEMENTS, LONG, MARK, SHORT, one_attack, poison
from webapp.conversations.models import Message, MessageFeedback, MessageReasoning
from webapp.db.base import db, now, write_transaction
from webapp.digests.models import ConversationMemory
from webapp.files.models import MessageFile
from webapp.memories.models import Memory, MemoryEvidence
from webapp.oauth.models import OAuthClient, OAuthGrant
from webapp.providers.models import ModelOffer
from webapp.tools.models import ToolServer
from webapp.usage.models import UsageRecord
from webapp.webhooks.models import WebhookDelivery

# What the browser itself says of the page: scripts that ran, what the policy stopped, elements made of words.
WATCH = """
window.stopped = [];
document.addEventListener('securitypolicyviolation', found =>
  stopped.push(found.violatedDirective + ' ' + found.sourceFile + ' ' + found.sample));
"""
SEEN = """([elements, words]) => ({
  ran: window.ran || null, stopped: window.stopped || [], words: document.body.textContent.includes(words),
  made: [...document.querySelectorAll(elements)].map(element => element.outerHTML.slice(0, 200)),
})"""
# The same of a page that is only read, by the parser that reads it for real: nothing of it runs.
READ = read_source("visible_text.js")
# Pages on which scripts make something of words. Without `--slow`, only these are opened; the others are read.
ALIVE = re.compile(
    r"/($|c/\d+$|memory$|memories/(list|review)|spaces/\d+$|find|settings$|transfer|image|admin/models$)"
)
# Downloads, streams, programs' own addresses, and the end of the session.
NO_PAGES = re.compile(
    r"/(api|static|v1|mcp|\.well-known|logout|memory/conv|metrics|healthz|readyz|sw\.js|offline|login/oidc)\b"
    r"|.*/(download|events|content|picture|file/.*|look|nearby)$"
)
REDIRECT = "https://program.example/callback"


class Watched:
    """A window of one person, in which nothing may happen."""

    def __init__(self, context: BrowserContext, server: LiveServer) -> None:
        self.context, self.server = context, server
        self.page: Page = context.new_page()
        self.words = "onerror="
        """What is in the texts that are to be shown as words."""
        self.dialogs: list[str] = []
        self.page.on("dialog", self._dismiss)
        # How it looks is not asked: without style sheets a page is there in half the time.
        debugger = context.new_cdp_session(self.page)
        debugger.send("Network.enable")
        debugger.send("Network.setBlockedURLs", {"urls": ["*.css*", "*.woff2*"]})

    def _dismiss(self, dialog: object) -> None:
        self.dialogs.append(str(getattr(dialog, "message", "")))
        dialog.dismiss()  # type: ignore[attr-defined]

    def look(self, path: str) -> bool:
        """Open it; whether hostile words are shown there as words."""
        try:
            answer = self.page.goto(self.server.url + path, wait_until="domcontentloaded")
        except Error as error:
            assert "Download is starting" in error.message, path
            return False
        assert answer is not None and answer.status < 500, path
        return self.judge(path)

    def read(self, path: str) -> bool:
        """Open it if it is alive, else fetch it from the page that is open; whether words are shown there as words."""
        if SLOW or ALIVE.match(path):
            return self.look(path)
        seen = self.page.evaluate(READ, [path, ELEMENTS, self.words])
        if seen is None:  # nothing that a page may fetch
            return self.look(path)
        assert seen["status"] < 500 and not seen["made"], (path, seen)
        return bool(seen["words"])

    def judge(self, path: str) -> bool:
        """What the page that is open has become; whether it shows the words."""
        seen = self.page.evaluate(SEEN, [ELEMENTS, self.words])
        harm = {name: seen[name] for name in ("ran", "stopped", "made") if seen[name]}
        assert not harm and not self.dialogs, (path, harm, self.dialogs)
        return bool(seen["words"])


@pytest.fixture
def watch(chromium: Browser, live_server: LiveServer) -> Iterator[Callable[..., Watched]]:
    """`watch(client)`: a window with the cookies of a test client, which is signed in already or nobody's."""
    contexts: list[BrowserContext] = []

    def open_one(client: FlaskClient) -> Watched:
        context = chromium.new_context(viewport={"width": 1440, "height": 900}, service_workers="block")
        contexts.append(context)
        context.add_init_script(WATCH)
        cookie = client.get_cookie("session")
        if cookie is not None:
            context.add_cookies([{"name": "session", "value": cookie.value, "url": live_server.url}])
        return Watched(context, live_server)

    yield open_one
    for context in contexts:
        context.close()


class Place:
    """An installation in which everything exists once, and who looks at it."""

    def __init__(self, app: Flask, make_user: Callable[..., Person], login: Callable[[Person], FlaskClient]) -> None:
        self.app = app
        self.owner, self.member = make_user(is_admin=True), make_user()
        self.existing = Existing(app, self.owner, self.member)
        self.existing.fill()
        for space in self.existing.values("space_id")[1:]:  # to the first one the member stays invited
            api_client(app, self.member).post(f"/api/spaces/{space}/members/accept")
        self.client = self._beside()
        shares = api_client(app, self.owner).get("/api/shares").json["shares"]
        self.share = urlsplit(shares[0]["url"]).path
        self.clients = {
            "owner": login(self.owner),
            "member": login(self.member),
            "admin": login(make_user(is_admin=True)),
            "anonymous": app.test_client(),
        }

    def _beside(self) -> str:
        """What no address of its own makes; the id of a program."""
        have = self.existing.values
        person, (asked, reply) = self.owner.user_id, have("message_id")[:2]
        with self.app.app_context(), write_transaction():
            program = OAuthClient(client_id="hostile", name="Program", redirect_uris=[REDIRECT])
            memory = db.session.get_one(Memory, have("memory_id")[0])
            rival = Memory(
                user_id=person, memory_type="fact", content="Lives inland", statement_hash="rival", needs_review=True
            )
            rival.contradicts_id = memory.memory_id
            tool = {"name": "find", "title": "Find", "description": "Finds.", "schema": {}, "reads_only": False}
            db.session.get_one(ToolServer, have("server_id")[0]).tools = [{**tool, "is_on": True}]
            call = {"tool_name": "find", "title": "Find", "server": "Tools", "input": {"text": "x"}}
            said = db.session.get_one(Message, reply)
            said.tool_calls = [{**call, "output": {"text": "x", "detail": "x"}}]
            said.suggested_values, said.suggested_actions = ["Tell more"], [{"label": "More", "message": "Tell more"}]
            conversation, file = said.conversation_id, have("file_id")[0]
            db.session.add_all(
                [
                    *(program, rival, MessageReasoning(message_id=reply, content="Hm.")),
                    MessageFeedback(message_id=reply, user_id=person, rating="down", comment="No.", may_read=True),
                    MemoryEvidence(
                        memory_id=memory.memory_id, message_id=asked, quote="pack", start=0, end=4, said_at=now()
                    ),
                    ConversationMemory(conversation_id=conversation, memory_data={"main_topics": ["Lisbon"]}),
                    MessageFile(message_id=asked, file_id=file, conversation_id=conversation),
                    ModelOffer(connection_id=have("connection_id")[0], model="small", label="Small"),
                    UsageRecord(user_id=person, conversation_id=conversation, kind="turn", model="small"),
                    WebhookDelivery(
                        webhook_id=have("webhook_id")[0], event_id="evt_1", kind="memory.added", data={}, answer="500"
                    ),
                ]
            )
            db.session.flush()
            db.session.add(
                OAuthGrant(
                    user_id=person,
                    client_number=program.client_number,
                    token_id=have("token_id")[0],
                    scope="memory:read",
                )
            )
        folder = {"folder_id": have("folder_id")[0], "tags": ["sun", "sea"], "is_pinned": True}
        api_client(self.app, self.owner).put(f"/api/conversations/{have('conversation_id')[0]}", json=folder)
        return "hostile"

    def addresses(self) -> Iterator[str]:
        """Of everything that is read as a page or a part of one."""
        for rule in sorted(self.app.url_map.iter_rules(), key=lambda rule: rule.rule):
            if "GET" not in (rule.methods or ()) or NO_PAGES.match(rule.rule):
                continue
            path = re.sub(r"<any\(([^,)]+)[^>]*>", r"\1", rule.rule)
            yield re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str((self.existing.values(found[1]) or [1])[0]), path)
        yield from (f"/c/{number}" for number in self.existing.values("conversation_id")[1:])
        yield from (
            f"/{page}?q={quote(LONG)}" for page in ("find", "archive", "search", "admin/users", "memories/list")
        )
        yield from (f"/login?next={quote(SHORT)}", f"/image?src={quote('https://a.b/' + SHORT)}", self.share)
        yield (
            f"/oauth/authorize?response_type=code&client_id={self.client}&redirect_uri={quote(REDIRECT)}&state="
            f"{quote(SHORT)}&code_challenge={'x' * 43}&code_challenge_method=S256&scope={quote('memory:read')}"
        )


@pytest.fixture
def place(app: Flask, make_user: Callable[..., Person], login: Callable[[Person], FlaskClient]) -> Place:
    """What is to be poisoned."""
    return Place(app, make_user, login)


@pytest.mark.timeout(600)
def test_no_page_runs_what_anybody_wrote(place, watch, live_server):
    live_server.finish_jobs()  # they write into the rows that are poisoned
    written = poison(place.app)
    assert len(written) > 80
    paths = list(dict.fromkeys(place.addresses()))
    window = watch(place.clients["owner"])
    assert window.look("/memory")
    shown = [path for path in paths if window.read(path)]
    assert len(shown) > 60
    look_into_menus(window, place)
    for who, theirs in (("member", r"/(spaces|s)\b"), ("anonymous", r"/(s|login|register|image)\b")):
        window = watch(place.clients[who])
        shown = [path for path in paths if re.match(theirs, path) and window.read(path)]
        assert shown, who


def look_into_menus(window: Watched, place: Place) -> None:
    """What scripts build of words: the command palette and the saved prompts."""
    window.page.goto(f"{window.server.url}/c/{place.existing.values('conversation_id')[0]}")
    message = window.page.get_by_label("Message", exact=True)
    message.fill("/")
    window.page.get_by_role("option").first.wait_for()
    window.judge("/ in the composer")
    message.fill("")
    window.page.keyboard.press("Control+k")
    window.page.get_by_role("dialog").get_by_role("option").first.wait_for()
    window.judge("the command palette")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("turn", range(0, len(ATTACKS), 7))
def test_nor_any_other_attack_for_anybody(place, watch, live_server, turn):
    live_server.finish_jobs()
    poison(place.app, one_attack(turn))
    for who, client in place.clients.items():
        window = watch(client)
        window.words = MARK
        shown = [path for path in place.addresses() if window.look(path)]
        assert shown, who
