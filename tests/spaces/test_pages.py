"""The pages of spaces: every one of them for owner, member and invited, and what they do.

`test_access_matrix.py` proves that everybody else sees and may do nothing.
"""

import html
import json
import re
from pathlib import Path

import pytest
from sqlalchemy import update

from testkit.people import api_client, csrf_token, page_token
from tests.spaces.helpers import add_fact, converse, facts, invite, join, make_space, put_back
from tests.support.queries import execute
from webapp.db.base import db, write_transaction
from webapp.memories.models import Memory
from webapp.spaces.models import SpaceDocument

CASES = json.loads(Path(__file__).with_name("pages.json").read_text(encoding="utf-8"))


@pytest.fixture
def cast(app, make_user, login):
    """People in a legacy: API clients, browsers by name, the space, a document, a shared fact of the owner's."""
    names = ("owner", "member", "invited", "stranger")
    people = {name: make_user(name=name.title()) for name in names}
    apis = {name: api_client(app, person) for name, person in people.items()}
    space = make_space(apis["owner"], "Grandpa <Joe>")
    join(apis["owner"], space, apis["member"])
    invite(apis["owner"], space, apis["invited"])
    made = apis["owner"].post(f"/api/spaces/{space}/documents", json={"title": "Letter", "content": "Dear <all>."})
    fact = add_fact(apis["owner"], space, "Joe sang <bass>", shared=True)
    browsers = {name: login(person) for name, person in people.items()}
    return {"api": apis, "space": space, "document": made.get_json()["document_id"], "fact": fact, **browsers}


def post(browser, path, data=None, **more):
    """Send a form as a page would."""
    token = page_token(browser)
    return browser.post(path, data={"csrf_token": token, **(data or {})}, **more)


def test_each_page_for_each_person(cast):
    for address, expected in CASES["pages"]:
        path = address.format(space=cast["space"], document=cast["document"])
        for who, status in zip(("owner", "member", "invited"), expected, strict=True):
            answer = cast[who].get(path)
            assert answer.status_code == status, (who, address)
            assert "<Joe>" not in answer.text, "names are escaped"


def test_each_form_for_each_person(cast):
    """From the outside in: what the owner does may end the rest. Afterwards all are put back where they were."""
    apis, space = cast["api"], cast["space"]
    ids = {"space": space, "document": cast["document"], "fact": cast["fact"]}
    ids |= {"member": apis["member"].person.user_id, "shared": add_fact(apis["owner"], space, "Joe hums", shared=True)}
    for form, fields, expected in CASES["forms"]:
        path, data = form.format(**ids), {key: value.format(**ids) for key, value in fields.items()}
        for who, status in list(zip(("owner", "member", "invited"), expected, strict=True))[::-1]:
            assert post(cast[who], path, data).status_code == status, (form, who)
            if status == 303 and (form, who) != ("/spaces/{space}/end", "owner"):
                put_back(space, *(apis[name] for name in ("owner", "member", "invited")))


def test_a_space_is_made_and_a_conversation_begun_in_it(app, model, user, browser):
    refused = post(browser, "/spaces", {"kind": "legacy", "name": " "})
    assert refused.status_code == 422
    assert "The name is missing." in refused.text
    made = post(browser, "/spaces", {"kind": "legacy", "name": "Aunt May"})
    place = made.headers["Location"]
    assert "Aunt May" in browser.get(place).text
    new = browser.get("/").text  # the browser goes on in the space
    assert 'name="space_id"' in new
    model.script(match="Hello", reply="Tell me.")
    form = {"content": "Hello", "space_id": place.rpartition("/")[2], "persona": "friend"}
    sent = post(browser, "/conversations", form)
    assert sent.status_code == 303
    client = api_client(app, user)
    made = client.get("/api/conversations").get_json()["conversations"][0]
    assert (made["space_id"], made["persona"]) == (int(place.rpartition("/")[2]), "friend")


@pytest.mark.parametrize("kind", ["legacy", "project"])
def test_a_space_opens_on_its_home(app, make_user, login, kind):
    person, other = make_user(name="Ada"), make_user(name="Ben")
    client, guest, browser = api_client(app, person), api_client(app, other), login(person)
    space = make_space(client, "Boat", kind, description="What floats.", instructions="Use metric units. " * 30)
    refused = post(browser, f"/spaces/{space}", {"name": " ", "instructions": "Speak softly."})
    assert refused.status_code == 422
    assert "The name is missing." in refused.text and ">Speak softly.</textarea>" in refused.text
    empty = browser.get(f"/spaces/{space}").text
    assert "What floats." in empty and "Nothing yet." in empty and "Add a document" in empty
    assert 'name="instructions"' not in empty, "the form is one click away"
    assert f'href="/spaces/{space}/settings"' in empty and f'href="/?into={space}"' in empty

    join(client, space, guest)
    talk = converse(client, space, title="The keel")
    assert "Extract memories" in browser.get(f"/c/{talk}").text
    asked = post(browser, f"/c/{talk}/memory/extract", headers={"HX-Request": "true"})
    assert asked.status_code == 200 and "Reading the conversation" in asked.text
    converse(guest, space, title="The guest’s own")
    converse(client, title="Tax")
    known = {"content": "The keel is oak", "space_id": space}
    client.post("/api/memories", json={"memory_type": "fact", **known})
    client.post("/api/memories", json={"memory_type": "instruction", **known, "content": "Always draw a sketch"})
    client.post("/api/memories", json={"memory_type": "fact", "content": "Ada likes plums"})
    client.post(f"/api/spaces/{space}/documents", json={"title": "Plan of the hull", "content": "Oak."})
    home = browser.get(f"/spaces/{space}").text.partition('class="space-home"')[2]
    for shown in ("The keel", "The keel is oak", "Plan of the hull", "Ben", "Use metric units."):
        assert shown in home, shown
    for hidden in ("The guest’s own", "Tax", "Always draw a sketch", "Ada likes plums"):
        assert hidden not in home, hidden
    assert "…" in home or "..." in home, "instructions are shown in short"
    theirs = login(other).get(f"/spaces/{space}").text.partition('class="space-home"')[2]
    assert "The guest’s own" in theirs and "The keel is oak" not in theirs and "Read all" in theirs
    assert 'name="instructions"' not in login(other).get(f"/spaces/{space}/settings").text
    assert 'name="instructions"' in browser.get(f"/spaces/{space}/settings").text


def propose_memory(app, user_id, content, space_id=None):
    """A memory that waits for its owner's decision."""
    with app.app_context(), write_transaction():
        row = Memory(user_id=user_id, memory_type="fact", content=content, space_id=space_id, needs_review=True)
        row.statement_hash = content
        db.session.add(row)


def test_a_legacy_shows_only_its_own_reviews(app, cast):
    owner, browser, space = cast["api"]["owner"], cast["owner"], cast["space"]
    propose_memory(app, owner.person.user_id, "Ada waits for a visa")
    conversation = converse(owner, space)
    path = f"/memories/panel?part=rest&conversation={conversation}"
    part = {"HX-Request": "true"}
    assert "Ada waits for a visa" not in browser.get(path, headers=part).text
    propose_memory(app, owner.person.user_id, "Joe waited for the ferry", space)
    shown = browser.get(path, headers=part).text
    place = re.search(r'id="memory-review"><a href="([^"]+)".+?1 to review', shown, re.DOTALL)
    assert "Joe waited" in browser.get(html.unescape(place[1])).text
    place = re.search(r'href="(/memory[^"]*)">Review', browser.get(f"/spaces/{space}/facts").text)
    review = browser.get(html.unescape(place[1])).text
    assert "Joe waited for the ferry" in review and "Ada waits for a visa" not in review


def test_a_legacy_has_its_own_starters(cast):
    owner, browser, space = cast["api"]["owner"], cast["owner"], cast["space"]
    add_fact(owner, space, "Joe had a weak heart")
    converse(owner, space, title="About his illness")
    page = browser.get(f"/?into={space}").text
    cards = page[page.index('class="starters"') :].partition("</ul>")[0]
    assert "Tell a story" in cards and "Take a journey" not in cards
    assert "weak heart" not in cards and "illness" not in cards


def test_the_list_shows_the_chosen_space(cast):
    owner, space = cast["api"]["owner"], cast["space"]
    about_joe, about_tax = converse(owner, space, title="About Joe"), converse(owner, title="About tax")
    everything = cast["owner"].get("/?into=all").text
    assert "About Joe" in everything
    assert "About tax" in everything
    here = cast["owner"].get(f"/?into={space}").text
    assert "About Joe" in here
    assert "About tax" not in here
    assert "About tax" not in cast["owner"].get("/sidebar", headers={"HX-Request": "true"}).text
    personal = '<span class="tag-words">Personal</span>'
    assert personal in cast["owner"].get(f"/c/{about_tax}").text, "it is not in the list, and says where it is"
    assert personal not in cast["owner"].get(f"/c/{about_joe}").text
    cast["owner"].get("/?into=all")
    assert personal not in cast["owner"].get(f"/c/{about_tax}").text


def test_an_empty_list_says_of_which_conversations(cast):
    owner, space = cast["owner"], cast["space"]
    assert "The conversations of this space appear here." in owner.get(f"/?into={space}").text
    assert "The conversations of this space appear here." in owner.get("/sidebar", headers={"HX-Request": "true"}).text
    assert "Your conversations appear here." in owner.get("/?into=all").text


def test_what_a_page_offers_its_reader_may_do(cast):
    ids = {name: cast[name] for name in ("space", "document")}
    for who in ("owner", "member"):
        pages = [
            cast[who].get(path.format(**ids)).text for path, _ in CASES["pages"] if path.startswith("/spaces/{space}")
        ]
        offered = set(re.findall(r'<form[^>]*method="post"[^>]*action="(/(?:spaces|facts)/[^"]*)"', "".join(pages)))
        deleting = f"/spaces/{cast['space']}/documents/{cast['document']}/delete"
        assert (deleting in offered) == (who == "owner")
        for path in offered if who == "member" else ():
            if not path.endswith("/end"):
                assert post(cast["member"], path).status_code not in (403, 404), path


def test_a_page_asks_about_nothing_that_is_not_there(cast):
    end, home = f"/spaces/{cast['space']}/end", f"/spaces/{cast['space']}"
    assert "Forget my memories" in cast["owner"].get(end).text
    assert "Forget my memories" not in cast["member"].get(end).text
    assert "Read all" not in cast["member"].get(home).text
    cast["api"]["owner"].put(f"/api/spaces/{cast['space']}", json={"instructions": "Be brief."})
    assert "Read all" in cast["member"].get(home).text


def test_a_document_whose_author_is_gone_is_nobodys(app, cast):
    execute(app, update(SpaceDocument).values(user_id=None))
    listed = cast["api"]["owner"].get(f"/api/spaces/{cast['space']}/documents").get_json()["documents"]
    assert [item["is_yours"] for item in listed] == [False]


def test_a_text_becomes_a_document_and_an_empty_one_does_not(cast, run_jobs):
    space, owner = cast["space"], cast["owner"]
    refused = post(owner, f"/spaces/{space}/documents", {"title": "From Lisbon", "content": " "})
    assert refused.status_code == 422
    assert "The text is missing" in refused.text and "From Lisbon" in refused.text
    text = {"title": "From Lisbon", "content": "Dear all,\r\n\r\nthe boat leaks."}
    answer = post(owner, f"/spaces/{space}/documents", text)
    assert answer.status_code == 303
    listed = owner.get(f"/spaces/{space}/documents").text
    assert "From Lisbon" in listed
    assert "Waiting to be prepared" in listed
    run_jobs()
    assert "Waiting to be prepared" not in owner.get(f"/spaces/{space}/documents").text
    newest = cast["api"]["member"].get(f"/api/spaces/{space}/documents").get_json()["documents"][0]
    text = cast["api"]["member"].get(f"/api/spaces/{space}/documents/{newest['document_id']}").get_json()["content"]
    assert text == "Dear all,\n\nthe boat leaks."


def test_a_fact_is_shared_withdrawn_and_previewed(cast):
    space, fact = cast["space"], cast["fact"]
    add_fact(cast["api"]["owner"], space, "Joe feared dogs")
    preview = cast["owner"].get(f"/spaces/{space}/facts?as=member").text
    assert "Joe sang" in preview
    assert "feared dogs" not in preview
    assert "Shared by Owner" in cast["member"].get(f"/spaces/{space}/facts").text
    token = csrf_token(cast["owner"].get("/spaces").text)
    answer = cast["owner"].post(
        f"/facts/{fact}/visibility", data={"visibility": "private", "csrf_token": token}, headers={"HX-Request": "true"}
    )
    assert "seen by you alone" in answer.text
    assert facts(cast["api"]["member"], space) == {}
    assert "Joe sang" not in cast["member"].get(f"/spaces/{space}/facts").text


def test_moving_says_what_happens_and_does_it(cast):
    owner, space = cast["api"]["owner"], cast["space"]
    conversation = converse(owner, title="A talk")
    asked = cast["owner"].get(f"/c/{conversation}/move")
    assert "Into Grandpa" in asked.text and f'<a href="/c/{conversation}">Back to the conversation' in asked.text
    said = cast["owner"].get(f"/c/{conversation}/move?to={space}").text
    assert "No memory rests on it." in said
    assert post(cast["owner"], f"/c/{conversation}/move", {"to": str(space)}).status_code == 303
    assert owner.get(f"/api/conversations/{conversation}").get_json()["space_id"] == space
    assert "Move out of the space" in cast["owner"].get(f"/c/{conversation}/move").text
