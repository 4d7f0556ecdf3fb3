"""Every route for everybody: owner, stranger, admin, nobody, tokens with and without the scope. New routes join by
themselves; one that names a new kind of thing is tried with the owner's ids of that name, or with 1, and one that needs
fields has a row in `access_matrix.json`."""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import or_, select
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from testkit.people import Person, page_token
from tests.files.test_pictures import photo
from tests.support import token_routes
from webapp.accounts import scopes, tokens
from webapp.accounts.access import BROWSER_ONLY, access_of
from webapp.accounts.models import Passkey, UserGroup, UserGroupMember
from webapp.accounts.schemas import NewToken
from webapp.conversations.models import Conversation, Folder, Message, MessageFeedback, MessageReasoning
from webapp.db.base import add_row, db, now, write_transaction
from webapp.digests.schemas import ConversationMemoryData
from webapp.digests.service import upsert_digest
from webapp.errors import Forbidden
from webapp.files.documents import add_to_space
from webapp.files.uploads import store_upload
from webapp.http.views import JSON_PREFIXES
from webapp.journeys.authoring import create_draft, publish
from webapp.journeys.definitions import JourneyBody
from webapp.memories.models import MemoryChangeSet
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.oauth.models import OAuthClient, OAuthGrant
from webapp.providers.models import ModelConnection
from webapp.saved_prompts.schemas import NewSavedPrompt
from webapp.saved_prompts.service import create_prompt
from webapp.schedules.models import Schedule
from webapp.sharing.models import ConversationShare
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space
from webapp.tools.models import ToolServer
from webapp.transfer.models import Export, Import
from webapp.usage.models import Quota
from webapp.webhooks.models import Webhook

once = pytest.mark.once
"""About who may at all, which is decided before a view asks the database; what is whose, the database answers."""

MARKER = "zanzibarquokka"
ADMINS_MAY_SEE = (
    "/admin",
    "/api/users",
    "/api/groups",
    "/api/connections",
    "/api/tasks/",
    "/api/internal/",
    "/api/prompts/",
)
# Its own answer to a digest that an admin may read, recorded each time (webapp/digests/service.py).
ADMINS_DIGESTS = re.compile(r"/api/conversations/\d+/memory")
ADMINS_BUSINESS = ("model_connections", "user_groups", "user_group_members")
CASES = json.loads(Path(__file__).with_name("access_matrix.json").read_text())
"""`fields`: what a request has to bring with it; `named`: requests that name what is the owner's beside their path;
`asked`: questions whose answer might show it."""
UNKNOWN = 2_000_000_000
ENDS_THE_SESSION = ("/logout", "/api/sessions/", "/settings/sessions")


JOURNEY = {
    "title": f"Journey {MARKER}",
    "slug": "what-came-first",
    "description": MARKER,
    "system_prompt": "Ask one question at a time.",
    "points": [
        {
            "title": "First",
            "slug": "what-came-first",
            "elicitation_goals": ["One thing"],
            "completion_criteria": ["It is named"],
        }
    ],
}


@dataclass
class World:
    """An owner, what is the owner's, and everybody else."""

    owner: Person
    stranger: Person
    admin: Person
    ids: dict[str, Any]


@pytest.fixture
def world(app: Flask, make_user: Callable[..., Person]) -> World:
    """One of each thing, every one of them with the marker in it."""
    admin = make_user(is_admin=True)
    owner, stranger = make_user(name=f"{MARKER} Owner"), make_user()
    with app.app_context():
        with write_transaction():
            space_id = create_space(owner.user_id, NewSpace(kind="project", name=f"Space {MARKER}")).space_id
        with write_transaction():
            picture = io.BytesIO(photo(20, 20, "PNG"))
            file_id = store_upload(owner.user_id, f"{MARKER}.png", picture).file_id
        with write_transaction():
            document_id = add_to_space(owner.user_id, space_id, file_id).document_id
    with app.app_context(), write_transaction():
        draft = create_draft(owner.user_id, JourneyBody.model_validate(JOURNEY), is_private=True)
        publish(owner.user_id, draft.journey.slug)
        conversation = add_row(
            Conversation(user_id=owner.user_id, title=f"Talk {MARKER}", journey_id=draft.journey.journey_id)
        )
        said = [
            Message(conversation_id=conversation.conversation_id, role=role, content=MARKER, status="complete")
            for role in ("user", "assistant")
        ]
        for message in said:
            add_row(message)
        said[1].reply_to_id = said[0].message_id
        memory = create_memory(owner.user_id, MemoryFields(memory_type="fact", content=f"Likes {MARKER}"))
        token, _ = tokens.create_token(owner.user_id, NewToken(name=f"Token {MARKER}"))
        db.session.add(
            MessageFeedback(
                message_id=said[1].message_id, user_id=owner.user_id, rating="down", reasons=[], comment=MARKER
            )
        )
        program = OAuthClient(client_id="program", name=f"Program {MARKER}", redirect_uris=["https://example.com/"])
        theirs = {
            "webhook_id": Webhook(user_id=owner.user_id, url=f"https://{MARKER}.example/", kinds=",x,", secret="x"),
            "server_id": ToolServer(user_id=owner.user_id, name=MARKER, url=f"https://{MARKER}.example/mcp", tools=[]),
            "group_id": UserGroup(name=f"Group {MARKER}"),
            "connection_id": ModelConnection(name=f"Box {MARKER}", base_url="http://127.0.0.1:9/v1", header_names=[]),
            "folder_id": Folder(user_id=owner.user_id, name=f"Folder {MARKER}"),
            "share_id": ConversationShare(
                user_id=owner.user_id, conversation_id=conversation.conversation_id, token="t" * 43
            ),
            "import_id": Import(user_id=owner.user_id, status="done", filename=MARKER, preview={}, counts={}),
            "export_id": Export(user_id=owner.user_id, what="data", format="json", status="ready", filename=MARKER),
            "schedule_id": Schedule(user_id=owner.user_id, title=MARKER, prompt=MARKER, at=now(), timezone="UTC"),
            "quota_id": Quota(user_id=owner.user_id, period="day", tokens=5),
            "passkey_id": Passkey(
                user_id=owner.user_id, name=MARKER, credential_hash="x", credential_id=b"x", public_key=b"x"
            ),
        }
        thoughts = MessageReasoning(message_id=said[1].message_id, content=MARKER)
        digest = ConversationMemoryData(main_topics=[MARKER], action=[], typical_observation=MARKER)
        upsert_digest(owner.user_id, conversation.conversation_id, digest)
        db.session.add_all([program, thoughts, *theirs.values()])
        db.session.flush()
        theirs["grant_id"] = OAuthGrant(
            user_id=owner.user_id, client_number=program.client_number, token_id=token.token_id, scope="mcp"
        )
        db.session.add(theirs["grant_id"])
        add_row(UserGroupMember(group_id=theirs["group_id"].group_id, user_id=owner.user_id))
        prompt = create_prompt(owner.user_id, NewSavedPrompt(name=f"Prompt {MARKER}", content=MARKER))
        ids = {
            **{name: getattr(row, name) for name, row in theirs.items()},
            "saved_prompt_id": prompt.saved_prompt_id,
            "conversation_id": conversation.conversation_id,
            "file_id": file_id,
            "question_id": said[0].message_id,
            "message_id": said[1].message_id,
            "turn_id": said[1].message_id,
            "version_id": said[1].message_id,
            "memory_id": memory.memory_id,
            "change_set_id": db.session.scalars(select(MemoryChangeSet.change_set_id)).one(),
            "space_id": space_id,
            "document_id": document_id,
            "token_id": token.token_id,
            "user_id": owner.user_id,
            "slug": draft.journey.slug,
        }
    return World(owner, stranger, admin, ids)


def routes(app: Flask, ids: dict[str, Any]) -> Iterator[tuple[Rule, str, str]]:
    """Every rule with each of its methods and an address of the owner's."""
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        if "static" in rule.endpoint:
            continue
        path = address(rule, ids)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield rule, method, path


def address(rule: Rule, ids: dict[str, Any]) -> str:
    """An address of the rule, with these ids."""
    path = re.sub(r"<int:(\w+)>", lambda match: str(ids.get(match[1], 1)), rule.rule)
    path = re.sub(r"<any\(([^,)]+)[^>]*>", r"\1", path)
    path = re.sub(r"<uuid:\w+>", "00000000-0000-0000-0000-000000000000", path)
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(ids.get(match[1], "x")), path)


def fill_ids(value: Any, ids: dict[str, Any]) -> Any:
    """Fields with these ids in place of their names."""
    if isinstance(value, dict):
        return {name: fill_ids(part, ids) for name, part in value.items()}
    if isinstance(value, list):
        return [fill_ids(part, ids) for part in value]
    return ids[value[1:-1]] if isinstance(value, str) and value.startswith("{") else value


def is_for_programs(path: str) -> bool:
    """Whether it answers JSON whatever is asked for: there are no parts of a page, and no sign-in to be sent to."""
    return path.startswith(("/api/", "/v1/", "/mcp"))


def send(
    client: FlaskClient,
    method: str,
    path: str,
    headers: dict[str, str] | None = None,
    fields: dict[str, Any] | None = None,
) -> TestResponse:
    """A request as a program or a page would send it."""
    if method == "GET":
        return client.get(path, headers=headers)
    form = "json" if is_for_programs(path) or path.startswith("/memory/") else "data"
    return client.open(path, method=method, headers=headers, **{form: fields or {}})


RECORDED = {"audit_events"}
"""Tables in which somebody's looking is written down."""


def rows_of(app: Flask, ids: dict[str, Any]) -> dict[str, set[tuple[Any, ...]]]:
    """Whatever names one of these things, in every table there is: what somebody might change, add or delete."""
    found = {}
    with app.app_context():
        for table in db.metadata.sorted_tables:
            named = [table.c[name] == number for name, number in ids.items() if name in table.c]
            if named and table.name not in RECORDED:
                found[table.name] = {
                    tuple(map(repr, row)) for row in db.session.execute(select(table).where(or_(*named)))
                }
    return found


def changed_tables(before: dict[str, set[tuple[Any, ...]]], after: dict[str, set[tuple[Any, ...]]]) -> dict[str, Any]:
    """The tables that are not what they were, with what is gone and what is new."""
    assert sum(map(bool, before.values())) >= 22, "a world with so little in it shows nothing"
    return {
        name: (before[name] - after[name], after[name] - before[name]) for name in before if before[name] != after[name]
    }


def signed_in(login: Callable[[Person], FlaskClient], person: Person) -> tuple[FlaskClient, dict[str, str]]:
    """A browser and the header of its unsafe requests."""
    browser = login(person)
    return browser, {"X-CSRFToken": page_token(browser)}


def assert_forbidden(
    world: World, client: FlaskClient, headers: dict[str, str], least: int, is_asked: Callable
) -> None:
    """The routes whose endpoint and method are asked for, at least so many, answer 403."""
    every = routes(client.application, world.ids)
    asked = [(method, path) for rule, method, path in every if is_asked(rule.endpoint, method)]
    statuses = {(method, path): send(client, method, path, headers).status_code for method, path in asked}
    assert not {route: status for route, status in statuses.items() if status != 403} and len(asked) > least


@once
def test_nobody_gets_past_the_door(app, world, anonymous):
    wrong, tried = [], 0
    for rule, method, path in routes(app, world.ids):
        if access_of(app, rule.endpoint) == "public":
            continue
        for headers in ({},) if is_for_programs(path) else ({}, {"HX-Request": "true"}, {"Accept": "application/json"}):
            answer = send(anonymous, method, path, headers)
            tried += 1
            if not is_turned_away(path, answer) or MARKER in answer.text:
                wrong.append((method, path, answer.status_code))
    assert not wrong and tried > 1_000


def is_turned_away(path: str, answer: TestResponse) -> bool:
    """Whether nobody is told to sign in: by the page for it, or a part's for the whole page, or as programs are."""
    if answer.status_code == 303:
        return answer.location.startswith("/login")
    if answer.status_code != 401 or path.startswith(("/v1/", "/mcp")):  # which have a form of their own
        return answer.status_code == 401
    if "HX-Redirect" in answer.headers:
        return answer.headers["HX-Redirect"].startswith("/login")
    is_problem = answer.content_type == "application/problem+json" and answer.get_json()["status"] == 401
    return is_problem and answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("who", ["stranger", pytest.param("admin", marks=once)])
def test_others_neither_see_nor_change_what_is_the_owners(app, world, login, who):
    before = rows_of(app, world.ids)
    browser, headers = signed_in(login, getattr(world, who))
    unknown = {name: UNKNOWN if isinstance(one, int) else f"no-{one}" for name, one in world.ids.items()}
    wrong, tried = [], 0
    for rule, method, path in routes(app, world.ids):
        if path.startswith(ENDS_THE_SESSION):
            continue
        if who == "admin" and (path.startswith(ADMINS_MAY_SEE) or ADMINS_DIGESTS.match(path)):
            continue
        fields = fill_ids(CASES["fields"].get(route_line(method, rule)), world.ids)
        is_named = "<int:" in rule.rule or "<slug>" in rule.rule
        for partial in ({},) if is_for_programs(path) else ({}, {"HX-Request": "true"}):
            answer = send(browser, method, path, {**headers, **partial}, fields)
            tried += 1
            if answer.status_code >= 500 or MARKER in answer.text:
                wrong.append((method, path, answer.status_code))
            if not is_named or access_of(app, rule.endpoint) == "public" or "user_id" in rule.rule:
                continue
            # 303 leads to a page that says 404; 422 is about the address itself, before anything is looked up.
            allowed = {303, 403, 404, 405, 409, 422} if method == "GET" else {403, 404}
            if answer.status_code not in allowed | ({200, 202} if who == "admin" and method == "GET" else set()):
                wrong.append((method, path, answer.status_code))
            if who == "stranger" and is_for_programs(path) and answer.status_code == 404:
                nobodys = send(browser, method, address(rule, unknown), headers, fields)
                if (nobodys.status_code, detail_of(nobodys)) != (404, detail_of(answer)):
                    wrong.append((method, path, f"{detail_of(answer)} {detail_of(nobodys)}"))
    assert not wrong
    assert tried > (600 if who == "stranger" else 500)
    own = send(browser, "POST", "/api/conversations", headers).get_json()["conversation_id"]
    for method, path, named in CASES["named"]:
        answer = send(browser, method, path.format(**world.ids, own=own), headers, fill_ids(named, world.ids))
        assert answer.status_code == 404 and MARKER not in answer.text, (method, path, answer.status_code)
    for path in CASES["asked"]:
        assert MARKER not in browser.get(path.format(**world.ids)).text, path
    differing = changed_tables(before, rows_of(app, world.ids))
    if who == "admin":
        for table in ADMINS_BUSINESS:
            differing.pop(table, None)
    assert not differing


def detail_of(answer: TestResponse) -> str:
    """Return the words of a problem."""
    body = answer.get_json()
    return body["error"]["message"] if "error" in body else body["detail"]


@once
def test_admins_pages_are_for_admins(app, world, login):
    rules = ("admin", "service")
    assert_forbidden(world, *signed_in(login, world.owner), 70, lambda name, _: access_of(app, name) in rules)


@once
def test_unsafe_requests_of_a_session_need_the_csrf_token(app, world, login):
    mine = {**world.ids, "user_id": world.admin.user_id}
    browser, _ = signed_in(login, world.admin)
    before = rows_of(app, mine)

    def is_unsafe(endpoint: str, method: str) -> bool:
        return method != "GET" and access_of(app, endpoint) != "public"

    assert_forbidden(world, browser, {}, 200, is_unsafe)
    assert not changed_tables(before, rows_of(app, mine))


def token_of(app: Flask, person: Person, **wishes: Any) -> dict[str, str]:
    """The header of a new token of a person's."""
    is_service = wishes.pop("is_service", False)
    with app.app_context(), write_transaction():
        _, secret = tokens.create_token(person.user_id, NewToken(name="matrix", **wishes), is_service=is_service)
    return {"Authorization": f"Bearer {secret}", "Accept": "application/json"}


def route_line(method: str, rule: Rule) -> str:
    """A method and a rule as `tests/support/token_routes.json` has them."""
    path = re.sub(r"<(?:[^<>]*:)?(\w+)>", r":\1", rule.rule)
    return f"{method} {path}"


def endpoints(app: Flask, ids: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What is for programs, and not for everybody: its row in the table, method and address."""
    for rule, method, path in routes(app, ids):
        if path.startswith(JSON_PREFIXES) and access_of(app, rule.endpoint) != "public":
            yield route_line(method, rule), method, path


@once
def test_every_endpoint_says_which_tokens_it_takes(app, world):
    assert sorted(row for row, _, _ in endpoints(app, world.ids)) == sorted(token_routes.rows())


REFUSED = (BROWSER_ONLY, "lacks the scope", "not limited to scopes", "Only admins")


@once
def test_a_token_does_what_its_scope_says(app, world):
    table, wrong = token_routes.rows(), []
    headers: dict[tuple[str, ...], dict[str, str]] = {}
    for row, method, path in endpoints(app, world.ids):
        enough = set(table[row].split()) & set(scopes.SCOPES)
        # Each that is enough, and an admin's, alone; the others, which do not suffice even together; no limits.
        together = tuple(sorted({*scopes.SCOPES} - enough - {"admin"}))
        for names in (*((name,) for name in sorted(enough | {"admin"})), together, ()):
            if names not in headers:
                headers[names] = token_of(app, world.admin, **({"scopes": list(names)} if names else {}))
            is_refused = False
            with app.test_request_context(path, method=method, headers=headers[names]):
                try:
                    app.preprocess_request()  # which decides before the view runs
                except Forbidden as error:
                    is_refused = any(text in str(error) for text in REFUSED)
            may = table[row] != "session" if not names else bool(enough & set(names))
            if is_refused == may:
                wrong.append((names, method, path))
    assert not wrong


@once
def test_no_page_takes_a_token(app, world):
    headers = token_of(app, world.admin)
    del headers["Accept"]
    caller = app.test_client(use_cookies=False)
    before = rows_of(app, world.ids)
    wrong, tried = [], 0
    for rule, method, path in routes(app, world.ids):
        if not path.startswith(JSON_PREFIXES) and access_of(app, rule.endpoint) != "public":
            answer = send(caller, method, path, headers)
            tried += 1
            if (answer.status_code, answer.content_type) != (403, "application/problem+json"):
                wrong.append((method, path, answer.status_code))
            assert answer.get_json()["detail"] == BROWSER_ONLY
    assert not wrong and tried > 200
    assert not changed_tables(before, rows_of(app, world.ids))


@once
def test_a_service_token_is_for_services(app, world):
    def is_for_people(endpoint: str, _method: str) -> bool:
        serves = getattr(app.view_functions[endpoint], "services", False)
        return access_of(app, endpoint) not in ("public", "service") and not serves

    headers = token_of(app, world.admin, is_service=True)
    assert_forbidden(world, app.test_client(use_cookies=False), headers, 300, is_for_people)


NOT_THERE = re.compile(
    r"/api/ai/legacies|/(c|memory/conversation)/\d+/summary|exports/\d+/download|/edit$|/learning$|/pages/|/facts$"
    r"|/file/|/restart$|/portrait/pdf$|^/v1|/tasks/|documents/\d+/(content|picture)"
)
"""Routes about things that this world does not have, or not yet."""


def test_the_owner_sees_what_is_the_owners(app, world, login):
    browser, _ = signed_in(login, world.owner)
    wrong, shown = [], []
    for rule, method, path in routes(app, world.ids):
        named = set(rule.arguments) & set(world.ids)
        if method == "GET" and named and access_of(app, rule.endpoint) == "user" and not NOT_THERE.search(path):
            answer = browser.get(path)
            (wrong if answer.status_code >= 400 else shown).append((path, answer.status_code))
            answer.close()
    assert not wrong and len(shown) > 70
    for path in ("/api/account/passkeys", "/settings/passkeys", "/settings", f"/c/{world.ids['conversation_id']}"):
        assert MARKER in browser.get(path).text, path


def test_admins_see_what_is_the_admins(app, world, login):
    browser, _ = signed_in(login, world.admin)
    for things, one in (("groups", world.ids["group_id"]), ("connections", world.ids["connection_id"])):
        for path in (f"/api/{things}", f"/api/{things}/{one}"):
            answer = browser.get(path)
            assert (path, answer.status_code, MARKER in answer.text) == (path, 200, True)
