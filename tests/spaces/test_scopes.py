"""A scope is what it says: what a space's panel shows, what its prompts hold, and what memory switched off means."""

import pytest

from testkit.people import post_form
from tests.spaces.helpers import converse, join, make_space, say, sent_to_model

DIGEST = {"main_topics": ["Zithers"], "action": [], "typical_observation": "Plays the zither"}


@pytest.fixture
def opera(api, make_user):
    """Two members of a project."""
    anna, ben = api(make_user(name="Anna")), api(make_user(name="Ben"))
    space_id = make_space(anna, "Opera", kind="project")
    join(anna, space_id, ben)
    return anna, ben, space_id


def remember(client, content, **fields):
    made = client.post("/api/memories", json={"memory_type": "fact", "content": content, "is_pinned": True, **fields})
    assert made.status_code == 201, made.text


def test_the_panel_of_a_space_shows_what_its_prompts_use_and_nothing_else(login, opera, model):
    anna, _, space_id = opera
    remember(anna, "Allergic to walnuts.")
    remember(anna, "The premiere is on 4 May.", space_id=space_id)
    talk = converse(anna, space_id)
    say(anna, talk, "Hello there")
    prompt = sent_to_model(model)
    assert "premiere" in prompt and "walnuts" not in prompt
    browser = login(anna.person)
    panel = browser.get(f"/memories/panel?part=rest&conversation={talk}", headers={"HX-Request": "true"}).text
    assert "premiere" in panel and "walnuts" not in panel
    everything = browser.get(f"/memories/list?conversation={talk}&space=", headers={"HX-Request": "true"}).text
    assert "premiere" in everything and "walnuts" in everything


def test_the_panel_goes_along_from_one_place_to_another(login, opera, model):
    """The page of a new conversation in a space showed personal memories, and went on to when that had begun."""
    anna, _, space_id = opera
    remember(anna, "Allergic to walnuts.")
    remember(anna, "The premiere is on 4 May.", space_id=space_id)
    talks = {"in the space": converse(anna, space_id), "personal": converse(anna)}
    browser = login(anna.person)
    htmx = {"HX-Request": "true"}
    assert "walnuts" in browser.get("/memories/panel?part=rest", headers=htmx).text
    browser.get(f"/?into={space_id}")
    new = browser.get("/memories/panel?part=rest", headers=htmx).text
    assert "premiere" in new and "walnuts" not in new
    arrived = browser.get(f"/memories/panel?moved=1&space=&conversation={talks['in the space']}", headers=htmx).text
    assert "premiere" in arrived and "walnuts" not in arrived
    back = browser.get(f"/memories/panel?moved=1&space={space_id}&conversation={talks['personal']}", headers=htmx).text
    assert "walnuts" in back
    stayed = browser.get(f"/memories/panel?space=&conversation={talks['in the space']}", headers=htmx).text
    assert "walnuts" in stayed  # asked for everything there


def test_what_another_member_shares_names_them_and_is_not_about_the_reader(opera, model):
    anna, ben, space_id = opera
    remember(anna, "Hates brass sections.", space_id=space_id, visibility="shared")
    say(ben, converse(ben, space_id), "Hello there")
    prompt = sent_to_model(model)
    assert "Hates brass sections. (said by Anna)" in prompt
    assert "it is not about the user" in prompt
    say(anna, converse(anna, space_id), "Hello there")
    assert "(said by" not in sent_to_model(model)


def test_documents_of_a_space_come_into_personal_conversations_only_by_choice(login, opera, model, run_jobs):
    anna, _, space_id = opera
    made = anna.post(
        f"/api/spaces/{space_id}/documents",
        json={"title": "Schedule", "content": "The zeppelin lands at noon in Graz."},
    )
    assert made.status_code == 201
    run_jobs()
    say(anna, converse(anna, space_id), "When does the zeppelin land?")
    assert "lands at noon" in sent_to_model(model)
    say(anna, converse(anna), "When does the zeppelin land?")
    assert "lands at noon" not in sent_to_model(model)
    form = {"headers": {"HX-Request": "true"}, "on": 1}
    assert 'aria-checked="true"' in post_form(login(anna.person), "/memories/space-documents", **form).text
    assert anna.get("/api/account").get_json()["settings"]["space_documents_enabled"] is True
    say(anna, converse(anna), "When does the zeppelin land?")
    assert "lands at noon" in sent_to_model(model)


def test_a_message_goes_into_no_other_space_than_it_says(opera):
    anna, _, space_id = opera
    for talk, status in ((converse(anna), 422), (converse(anna, space_id), 200)):
        sent = {"message": "Hello", "conversation_id": talk, "space_id": space_id}
        assert anna.post("/api/chat/stream", json=sent).status_code == status


def test_memory_off_means_no_digest_and_none_in_the_prompt(client, model):
    for off in ("here", "temporary", "everywhere"):
        talk = converse(client, is_temporary=off == "temporary")
        body = {"conversation_id": talk, "memory_data": DIGEST}
        if off != "temporary":
            assert client.post("/api/memories", json=body).status_code == 200
        if off == "everywhere":
            client.put("/api/account", json={"settings": {"memory_enabled": False}})
        elif off == "here":
            client.put(f"/api/conversations/{talk}", json={"uses_memory": False})
        assert client.post("/api/memories", json=body).status_code == 409, off
        asked = {"conversation_id": talk, "prompt_text": "Known: {{CONVERSATION_MEMORY}}"}
        assert "ither" not in client.post("/api/prompts/render", json=asked).get_json()["text"], off
