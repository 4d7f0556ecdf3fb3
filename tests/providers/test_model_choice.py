"""Favourites, the last choice, parameters of a model, and models that went away."""

from testkit.people import post_form
from tests.chat.helpers import offer, parse


def options(page: str) -> list[str]:
    """The names in the picker of a page, with a star at the one that is chosen."""
    picker = page.partition('id="composer-model"')[2].partition("</select>")[0]
    parts = picker.split("<option")[1:]
    return [part.partition(">")[2].partition("<")[0] + ("*" if " selected" in part else "") for part in parts]


def test_favourites_come_first_and_the_last_choice_is_remembered(api, make_user, login, model, browser):
    ids = offer(api(make_user(is_admin=True)), model, "alpha", "beta", "gamma")
    assert options(browser.get("/").text) == ["test-chat*", "Alpha", "Beta", "Gamma"]
    assert "Beta" in browser.get("/models").text
    assert post_form(browser, "/models/favourites", model=ids[1], likes="1").status_code == 303
    page = browser.get("/").text
    assert options(page) == ["Beta", "test-chat*", "Alpha", "Gamma"]
    assert '<optgroup label="Favourites">' in page
    sent = post_form(browser, "/conversations", content="Hello", model=ids[2])
    assert sent.status_code == 303
    place = sent.location.partition("#")[0]
    assert options(browser.get("/").text)[-1] == "Gamma*"
    assert options(browser.get(place).text)[-1] == "Gamma*"
    assert post_form(browser, f"{place}/model", model=ids[0]).status_code == 303
    assert "Alpha*" in options(browser.get("/").text)
    post_form(browser, "/models/favourites", model=ids[1], likes="0")
    assert options(browser.get("/").text)[0] == "test-chat"
    # Others have their own.
    other = login(make_user())
    assert options(other.get("/").text) == ["test-chat*", "Alpha", "Beta", "Gamma"]


def test_what_cannot_be_chosen_is_no_favourite(api, make_user, client, model, browser):
    (hidden,) = offer(api(make_user(is_admin=True)), model, "secret", audience="admins")
    assert post_form(browser, "/models/favourites", model=hidden, likes="1").status_code == 303
    assert client.get("/api/account").get_json()["settings"]["favourite_models"] == []
    assert "Secret" not in browser.get("/models").text


def test_a_model_that_went_away_is_named_and_stood_in_for(admin, client, model, browser):
    ids = offer(admin, model, "alpha", "beta")
    place = post_form(browser, "/conversations", content="Hello", model=ids[0]).location.partition("#")[0]
    number = ids[0].partition("/")[0]
    assert admin.patch(f"/api/connections/{number}", json={"models": [{"model": "beta"}]}).status_code == 200
    assert options(browser.get(place).text)[0] == "alpha: no longer available, choose another*"
    assert options(browser.get("/").text)[0] == "test-chat*"
    events = client.post(
        "/api/chat/stream", json={"message": "Again", "conversation_id": int(place.rpartition("/")[2])}
    )
    assert parse(events.text)[-1].name == "done"


def test_parameters_go_along_where_the_model_has_them(api, make_user, login, client, model):
    boss = make_user(is_admin=True)
    (chosen,) = offer(api(boss), model, "alpha")
    number = chosen.partition("/")[0]
    form = {
        "temperature:alpha": "0.3",
        "max_tokens:alpha": "77",
        "effort:alpha": "low",
        "system:alpha": "Speak plainly.",
    }
    saved = post_form(login(boss), f"/admin/models/{number}/offers", page="/admin/models", model="alpha", **form)
    assert saved.status_code == 303
    page = login(boss).get(f"/admin/models/{number}").text
    assert "Speak plainly." in page and 'value="77"' in page
    assert parse(client.post("/api/chat/stream", json={"message": "Hello", "model": chosen}).text)[-1].name == "done"
    call = [call for call in model.calls() if call["stream"]][-1]
    assert {"temperature", "max_tokens", "reasoning_effort"} <= set(call["keys"])
    assert "system" not in call["keys"]
    assert "Speak plainly." in call["messages"][0]["content"]


def test_a_parameter_that_is_refused_is_left_out(app, api, make_user, client, model):
    (chosen,) = offer(api(make_user(is_admin=True)), model, "stern", parameters={"temperature": 0.7})
    refusal = {"error": {"message": "Unsupported value: 'temperature' does not support 0.7 with this model."}}
    model.script(match="Hello", reply="Yes.", times=None)
    model.script(match="Hello", fault={"http_status": 400, "body": refusal}, times=1)
    events = parse(client.post("/api/chat/stream", json={"message": "Hello", "model": chosen}).text)
    assert events[-1].data["message"]["content"] == "Yes."
    assert "temperature" not in [call for call in model.calls() if call["stream"]][-1]["keys"]


def test_only_the_id_of_a_model_that_the_caller_may_choose_is_taken(admin, client, model):
    (hidden,) = offer(admin, model, "secret", audience="admins")
    number = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    for name in (hidden, "secret", "test-background", "nonsense", f"{hidden}x"):
        for method, path, fields in (
            ("POST", "/api/chat/stream", {"message": "Hello"}),
            ("POST", f"/api/conversations/{number}/messages", {"content": "Hello"}),
            ("POST", "/api/conversations", {}),
            ("PUT", f"/api/conversations/{number}", {}),
        ):
            answer = client.open(path, method=method, json={**fields, "model": name})
            assert (answer.status_code, answer.get_json()["errors"][0]["loc"]) == (422, ["model"]), (path, name)
    assert model.calls() == []
