"""Keysets and their cursors; and for every list of the API, that it takes no other list's cursor."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, strategies as st

from testkit.people import ApiClient, Person, api_client
from webapp.accounts.models import UserSession
from webapp.audit.models import AuditEvent
from webapp.conversations.models import Conversation, Folder, Message, MessageFeedback
from webapp.db.base import add_row, db, write_transaction
from webapp.errors import Invalid
from webapp.files.models import File
from webapp.http.paging import Keyset
from webapp.http.validation import PageQuery
from webapp.journeys.models import Journey
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.providers.models import ModelConnection
from webapp.saved_prompts.schemas import NewSavedPrompt
from webapp.saved_prompts.service import create_prompt
from webapp.schedules.models import ScheduleRun
from webapp.schedules.schemas import ScheduleFields
from webapp.schedules.service import create_schedule
from webapp.sharing.models import ConversationShare
from webapp.spaces.documents import add_document
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space
from webapp.transfer.models import Export, Import, ImportItem

OTHER = "is not a cursor of this list"
BY_MESSAGE_ID = "/api/conversations/{conversation_id}/messages"
"""Its cursor is the id of a message, which `before` and `after` take as well: any message may be an edge."""


class Colours(PageQuery):
    colour: str | None = None


instants = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),  # what a column can hold
    st.floats(allow_nan=False, allow_infinity=False),
    instants,
)
def test_a_cursor_comes_back_as_it_was(number, text, fraction, at):
    types = (int, str, float, datetime)
    cursor = Keyset("things", PageQuery(), *types).cursor(number, text, fraction, at)
    again = Keyset("things", PageQuery(cursor=cursor, limit=7), *types)
    assert again.position() == (number, text, fraction, at)


@given(st.text(max_size=60))
def test_anything_else_is_invalid(text):
    with pytest.raises(Invalid, match=OTHER):
        Keyset("things", PageQuery(cursor=text), int, int).position()


FORGED = [(True, 1), (1.0, 1), ("1", 1), (1,), (1, 2, 3), (2**63, 1), (1, -(2**63))]


@pytest.mark.parametrize(("key", "types"), [*((key, (int, int)) for key in FORGED), ((2**62,), (datetime,))])
def test_a_forged_key_or_an_instant_beyond_the_calendar_is_invalid(key, types):
    forged = Keyset("things", PageQuery()).cursor(*key)
    with pytest.raises(Invalid, match=OTHER):
        Keyset("things", PageQuery(cursor=forged), *types).position()


@pytest.mark.parametrize("name", ["\\ud800", "\\u0000"])
def test_a_forged_text_that_no_column_holds_is_invalid(client, user, name):
    keyset = Keyset("folders", PageQuery(), scope=user.user_id)
    packed = base64.urlsafe_b64decode(keyset.cursor("NAME", 1) + "==").replace(b"NAME", name.encode())
    forged = base64.urlsafe_b64encode(packed).decode()
    assert client.get("/api/folders", query_string={"cursor": forged}).status_code == 422


@pytest.mark.parametrize(
    ("name", "wishes", "within"),
    [("others", {}, 1), ("things", {}, 2), ("things", {}, None), ("things", {"colour": "red"}, 1)],
)
def test_another_list_or_query_takes_no_cursor(name, wishes, within):
    cursor = Keyset("things", Colours(), int, scope=1).cursor(5)
    with pytest.raises(Invalid, match=OTHER):
        Keyset(name, Colours(cursor=cursor, **wishes), int, scope=within).position()


@given(st.lists(st.integers(-99, 99), max_size=8), st.integers(1, 8))
def test_a_surplus_row_means_a_next_page(rows, limit):
    page = Keyset("things", PageQuery(limit=limit), int).page(rows, lambda row: (row,))
    assert page.items == rows[:limit]
    assert (page.next_cursor is not None) == (len(rows) > limit)
    if page.next_cursor:
        again = Keyset("things", PageQuery(limit=limit, cursor=page.next_cursor), int)
        assert again.position() == (rows[limit - 1],)


@pytest.mark.parametrize("name", ["é" * 100, "🦩" * 100, '"\\' * 50])
def test_the_cursor_of_a_long_name_is_not_too_long(client, name):
    for some in (name, name[:-1] + "z"):
        assert client.post("/api/folders", json={"name": some}).status_code == 201
    first = client.get("/api/folders?limit=1").get_json()
    rest = client.get("/api/folders", query_string={"cursor": first["next_cursor"]})
    assert rest.status_code == 200
    assert len({row["folder_id"] for row in first["folders"] + rest.get_json()["folders"]}) == 2


@given(st.sets(st.integers(-99, 99), max_size=8), st.integers(1, 8))
def test_pages_of_a_short_list_are_all_of_it(rows, limit):
    found, cursor = [], None
    while cursor or not found:
        keyset = Keyset("things", PageQuery(limit=limit, cursor=cursor), int)
        page = keyset.page_of(sorted(rows), lambda row: (row,))
        found += [page.items]
        cursor = page.next_cursor
    assert sum(found, []) == sorted(rows)
    assert all(len(page) == limit for page in found[:-1])


@pytest.fixture
def owner(make_user) -> Person:
    make_user()
    return make_user(is_admin=True)


@pytest.fixture
def ids(app: Flask, owner: Person) -> dict[str, list[int]]:
    """Two of everything that is listed, for one user; and the ids that addresses and filters may name, two of each."""
    user_id = owner.user_id
    with app.app_context(), write_transaction():
        spaces = [create_space(user_id, NewSpace(kind="legacy", name=f"Space {n}")) for n in range(2)]
        folders = [Folder(user_id=user_id, name=f"Folder {n}") for n in range(2)]
        talks = [Conversation(user_id=user_id, title=f"Talk {n}") for n in range(2)]
        imports = [Import(user_id=user_id, status="done", filename="x", preview={}, counts={}) for _ in range(2)]
        db.session.add_all([*folders, *talks, *imports])
        ways = {"description": "", "system_prompt": "", "source_hash": ""}
        db.session.add_all(Journey(slug=f"way-{n}", title=f"Way {n}", **ways) for n in range(2))
        db.session.flush()
        at = datetime(2036, 12, 1, tzinfo=UTC)
        schedules = [create_schedule(user_id, ScheduleFields(prompt="Boat?", at=at)) for _ in range(2)]
        db.session.add_all(
            ScheduleRun(schedule_id=row.schedule_id, due_at=at + timedelta(n)) for row in schedules for n in range(2)
        )
        for n in range(2):
            reply = add_row(
                Message(conversation_id=talks[0].conversation_id, role="assistant", content="Yes.", status="complete")
            )
            talk_id = talks[n].conversation_id
            db.session.add_all(
                [
                    MessageFeedback(
                        message_id=reply.message_id, user_id=user_id, rating="down", reasons=[], may_read=True
                    ),
                    UserSession(
                        user_id=user_id,
                        secret_hash=str(n),
                        auth_version=1,
                        expires_at=datetime.now(UTC) + timedelta(days=1),
                    ),
                    AuditEvent(user_id=user_id, action="signed_in", actor_kind="self"),
                    ModelConnection(name=f"Box {n}", base_url="http://127.0.0.1:9/v1", header_names=[]),
                    ConversationShare(user_id=user_id, conversation_id=talk_id, token=str(n) * 43),
                    File(
                        user_id=user_id, digest=str(n) * 64, name="x", media_type="text/plain", size=9, status="ready"
                    ),
                    Export(user_id=user_id, what="data", format="json", status="ready", filename="x"),
                ]
            )
            create_prompt(user_id, NewSavedPrompt(name=f"Prompt {n}", content="Say it."))
            row = create_memory(user_id, MemoryFields(memory_type="fact", content=f"Likes boat {n}."))
            row.needs_review = True
            for space, row in zip(spaces, imports, strict=True):
                about = f"Sails boat {n} of {space.space_id}."
                create_memory(user_id, MemoryFields(memory_type="fact", content=about, space_id=space.space_id))
                add_document(user_id, space.space_id, f"Document {n}", "Words.")
                db.session.add(ImportItem(import_id=row.import_id, kind="conversation", outcome="imported"))
        return {
            "space_id": [space.space_id for space in spaces],
            "folder_id": [row.folder_id for row in folders],
            "conversation_id": [row.conversation_id for row in talks],
            "source_conversation_id": [row.conversation_id for row in talks],
            "import_id": [row.import_id for row in imports],
            "schedule_id": [row.schedule_id for row in schedules],
        }


def listings(client: ApiClient) -> dict[str, dict[str, dict[str, Any]]]:
    """The schemas of the query parameters of every list of the API, by its path."""
    found = {}
    for path, operations in client.get("/api/openapi.json").get_json()["paths"].items():
        given = operations.get("get", {}).get("parameters", [])
        named = {each["name"]: each["schema"] for each in given if each["in"] == "query"}
        if "cursor" in named and path != BY_MESSAGE_ID:
            found[path] = named
    return found


def addresses(path: str, ids: dict[str, list[int]]) -> list[str]:
    """The address of a list, and that of another one of the same kind if its path says which."""
    which = [{name: both[n] for name, both in ids.items()} for n in range(2)]
    return list(dict.fromkeys(path.format(**chosen) for chosen in which))


def filters(named: dict[str, dict[str, Any]], ids: dict[str, list[int]]) -> Iterator[dict[str, Any]]:
    """Each of the filters of a list by itself, with a value that it takes."""
    for name, schema in named.items():
        if name in ("limit", "cursor"):
            continue
        kinds = [schema, *schema.get("anyOf", [])]
        if name in ids:
            yield {name: ids[name][0]}
        elif choices := [kind["enum"] for kind in kinds if "enum" in kind]:
            yield {name: choices[0][-1]}
        else:
            yield {name: "true" if any(kind.get("type") == "boolean" for kind in kinds) else "boat"}


def first_page(client: ApiClient, address: str, **wishes: Any) -> str:
    """The cursor of the second page of a list."""
    answer = client.get(address, query_string={"limit": 1, **wishes})
    assert answer.status_code == 200, (address, answer.text)
    cursor = answer.get_json()["next_cursor"]
    assert cursor, f"{address} has too few rows in this test"
    return cursor


def test_no_list_takes_another_ones_cursor(app, owner, ids):
    """Each marks its own differently, and refuses even the key that it gave behind the mark of another one."""
    client = api_client(app, owner)
    places = [place for path in listings(client) for place in addresses(path, ids)]
    assert len(places) >= 20
    cursors = {place: first_page(client, place) for place in places}
    cursors["/api/memories?q=boat"] = first_page(client, "/api/memories", q="boat")
    split = {place: cursor.rpartition(".") for place, cursor in cursors.items()}  # a list of two lists says which first
    unpacked = {place: json.loads(base64.urlsafe_b64decode(key + "==")) for place, (*_, key) in split.items()}
    assert len({mark for mark, *_ in unpacked.values()}) == len(cursors)
    taken = []
    for place, other in pairwise(cursors):
        answer = client.get(place, query_string={"cursor": cursors[place], "limit": 1})
        assert answer.status_code == 200, (place, answer.text)
        forged = json.dumps([unpacked[other][0], *unpacked[place][1:]], ensure_ascii=False).encode()
        which, dot, _ = split[place]
        for cursor in (which + dot + base64.urlsafe_b64encode(forged).decode(), cursors[other]):
            answer = client.get(place, query_string={"cursor": cursor, "limit": 1})
            if answer.status_code != 422 or answer.get_json()["errors"] != [{"loc": ["cursor"], "msg": OTHER}]:
                taken.append((place, cursor, answer.status_code))
    assert not taken


def test_no_list_takes_its_cursor_with_other_filters(app, owner, ids):
    client = api_client(app, owner)
    taken = []
    for path, named in listings(client).items():
        place = addresses(path, ids)[0]
        cursor = first_page(client, place)
        for wish in filters(named, ids):
            answer = client.get(place, query_string={**wish, "cursor": cursor})
            if answer.status_code != 422 or answer.get_json()["errors"][0]["loc"] != ["cursor"]:
                taken.append((place, wish, answer.status_code, answer.text))
    assert not taken


def test_somebody_elses_cursor_is_not_taken(app, client, owner, ids):
    own = {place: first_page(api_client(app, owner), place) for place in ("/api/conversations", "/api/files")}
    for place, cursor in own.items():
        assert client.get(place, query_string={"cursor": cursor}).status_code == 422
