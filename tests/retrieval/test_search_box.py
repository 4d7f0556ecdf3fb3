"""The search box: a floor of relevance, days and speakers, the place in a long message."""

import re

import pytest

from testkit.people import ApiClient, api_client
from tests.spaces.helpers import join, make_space

TALK = [
    ("user", "The greyhound is called Comet."),
    ("assistant", "What a name for a greyhound!"),
    ("user", "On Sundays we bake bread with walnuts."),
]
LONG = "Nothing much happened on that day. " * 60 + "The greyhound found a sapphire ring. " + "So it went on. " * 60


@pytest.fixture
def talker(user, tell, run_jobs):
    """Somebody who talked about a dog, and a week later wrote a long message."""
    tell(user, TALK)
    tell(user, [("user", LONG), ("assistant", "I see.")], day=7)
    run_jobs()
    return user


def find_excerpts(client: ApiClient, **asked: object) -> list[str]:
    answer = client.get("/api/search", query_string={"kinds": "message", **asked})
    assert answer.status_code == 200, answer.json
    return [hit["excerpt"] for hit in answer.json["results"]]


def test_words_and_meaning_find_and_nonsense_does_not(talker, client):
    assert find_excerpts(client, q="xqzt blorfing wumpf") == find_excerpts(client, q="the of and") == []
    assert find_excerpts(client, q="greyhound", kinds="messages, memories") == find_excerpts(client, q="greyhound")
    assert any("Comet" in text for text in find_excerpts(client, q="greyhound"))
    assert any("Comet" in text for text in find_excerpts(client, q="what is our greyhounds name"))


def test_a_search_is_narrowed_to_days_and_speakers(talker, client):
    hits = client.get("/api/search", query_string={"kinds": "message", "q": "greyhound"}).json["results"]
    days = sorted({hit["created_at"][:10] for hit in hits})
    assert len(days) == 2
    assert all("sapphire" not in text for text in find_excerpts(client, q="greyhound", until=days[0]))
    assert any("sapphire" in text for text in find_excerpts(client, q="greyhound", since=days[1], speaker="user"))
    said = client.get("/api/search", query_string={"q": "greyhound", "speaker": "assistant"}).json["results"]
    assert {hit["role"] for hit in said} == {"assistant"}
    assert find_excerpts(client, q="greyhound", until="9999-12-31", since="0001-01-01")
    for bad in ({"since": "soon"}, {"kinds": "ideas"}, {"speaker": "nobody"}, {"until": "2026-13-01"}):
        assert client.get("/api/search", query_string={"q": "x", **bad}).status_code == 422, bad


def test_words_are_found_in_one_conversation_by_its_owner(app, talker, client, login, make_user, anonymous):
    hits = client.get("/api/search", query_string={"q": "greyhound", "kinds": "message"}).json["results"]
    talks = {hit["conversation_id"] for hit in hits}
    assert len(talks) > 1
    for talk in talks:
        found = client.get("/api/search", query_string={"q": "greyhound", "conversation_id": talk}).json["results"]
        assert {(hit["kind"], hit["conversation_id"]) for hit in found} == {("message", talk)}
    place = f"/find?q=greyhound&conversation_id={talk}"
    links = re.findall(r'<a class="result result-(\w+)" href="([^?"]*)\?at=', login(talker).get(place).text)
    assert links and set(links) == {("message", f"/c/{talk}")}
    for other in (make_user(), make_user(is_admin=True)):
        query = {"q": "greyhound", "conversation_id": talk}
        assert api_client(app, other).get("/api/search", query_string=query).status_code == 404
        assert login(other).get(place).status_code == 404
    assert anonymous.get(place).status_code == 303


def test_spaces_are_found_by_name_by_their_members(app, make_user, login):
    owner, member, stranger = (api_client(app, make_user()) for _ in range(3))
    space = make_space(owner, "Dolores at the Lighthouse")
    make_space(owner, "Something else")
    join(owner, space, member)
    for person, count in ((owner, 1), (member, 1), (stranger, 0)):
        browser = login(person.person)
        for kind, narrowed in (("", ""), ("space", ""), ("memory", ""), ("space", "&since=2020-01-01")):
            page = browser.get(f"/find?q=light&kind={kind}{narrowed}").text
            hits = re.findall(r'<a class="result result-space" href="(.*?)"', page)
            assert hits == ([] if narrowed or kind == "memory" else [f"/spaces/{space}"] * count)
        assert ("<mark>Light</mark>house" in browser.get("/find?q=light", headers={"HX-Request": "true"}).text) == bool(
            count
        )


def test_a_document_that_is_found_opens(app, user, login, run_jobs):
    owner = api_client(app, user)
    space = make_space(owner)
    body = {"title": "Letter", "content": "The keeper wound the clock each night before the tide."}
    document = owner.post(f"/api/spaces/{space}/documents", json=body).get_json()["document_id"]
    run_jobs()
    page = login(user).get("/find?q=keeper").text
    assert f'href="/spaces/{space}/documents/{document}#:~:text=' in page


def test_the_page_narrows_says_why_and_links_to_the_place(talker, login):
    browser = login(talker)
    page = browser.get("/find?q=Comet&kind=message").text
    results = re.findall(r'<a class="result result-message" .*?</a>', page, re.DOTALL)
    assert ["<mark>Comet</mark>" in text for text in results] == ['<span class="tag">' not in text for text in results]
    assert "ext to a match</span>" in page
    page = browser.get("/find?q=sapphire&kind=message&speaker=user").text
    assert "#:~:text=" in page and "<mark>sapphire</mark>" in page
    nothing = browser.get("/find?q=sapphire&kind=message&until=2001-01-01&speaker=x").text
    assert "<mark>" not in nothing
    assert browser.get("/find?q=sapphire&since=never&until=9999-12-31").status_code == 200
