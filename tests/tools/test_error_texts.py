"""What went wrong with a server or the search, in the reader's language on pages and in English for programs."""

import ast
import json
import re
from pathlib import Path

import pytest

from testkit.people import api_client, post_form, session_client
from testkit.processes import ROOT
from webapp.i18n.request_language import use_language
from webapp.tools import servers
from webapp.tools.error_texts import translate_result

CASES = json.loads(Path(__file__).with_name("error_texts.json").read_text(encoding="utf-8"))

GERMAN = {"Accept-Language": "de"}
SAID_TO_PEOPLE = CASES["said_to_people"]
FOR_MODELS = "now speaks another version"
"""Said by a call in a conversation, where the model reads it."""


@pytest.mark.parametrize(("text", "german"), CASES["what_went_wrong_is_told_in_the_readers_language"])
def test_what_went_wrong_is_told_in_the_readers_language(app, text, german):
    with app.app_context():
        with use_language("de"):
            assert translate_result(text) == german
        with use_language("en"):
            assert translate_result(text) == text


def test_every_text_of_a_failed_attempt_is_known(app):
    found = [(place, text) for place in SAID_TO_PEOPLE for text in _error_texts(place) if FOR_MODELS not in text]
    assert len(found) > 20
    with app.app_context(), use_language("fr"):
        for place, text in found:
            assert translate_result(text) != text, f"{place}: {text!r} has no line in webapp/tools/error_texts.py"


def _error_texts(place: str) -> list[str]:
    """Samples of the texts with which a module says that something failed."""
    tree = ast.parse((ROOT / "webapp" / "tools" / place).read_text())
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    calls = [call for call in raised if ast.unparse(call.func) == "ToolFailed"]
    texts = [eval(ast.unparse(_sample(call.args[0])), {}) for call in calls]  # noqa: S307 - our own sources
    return [text for text in texts if text != "7"]


def _sample(node: ast.expr) -> ast.expr:
    """A text whose values are 7; what is no text by itself is only that."""
    if isinstance(node, ast.JoinedStr):
        return ast.JoinedStr([ast.Constant("7") if isinstance(at, ast.FormattedValue) else at for at in node.values])
    return node if isinstance(node, ast.Constant) else ast.Constant("7")


def test_a_server_that_fails_says_so_in_the_readers_language(client, site, open_house, browser):
    site.answer = lambda _asked: (500, {}, b"boom")
    made = post_form(browser, "/settings/tools/servers", "/settings/tools", name="Garden", url=site.url, token="")
    for path in (made.headers["Location"], "/settings/tools"):
        assert "Garden hat mit einem Fehler geantwortet (500)." in browser.get(path, headers=GERMAN).text
    answer = client.get("/api/tool-servers", headers=GERMAN).json
    assert answer["servers"][0]["error"] == "Garden answered with an error (500)."


def test_what_cannot_be_saved_is_said_in_the_readers_language(login, client, user, monkeypatch):
    given = {"name": "Garden", "url": "https://garden.example/mcp", "token": "a-token"}
    browser = session_client(client.application, user)
    place = f"/settings/tools/servers/{browser.post('/api/tool-servers', json=given).json['server_id']}"
    browser.set_cookie("language", "de")
    moved = post_form(browser, place, place, name="Garden", url="https://other.example/mcp", is_enabled="1")
    assert moved.status_code == 422
    assert "Das Token muss neu eingegeben werden, wenn sich die URL ändert" in moved.text
    monkeypatch.setattr(servers, "MAX_SERVERS", 1)
    refused = post_form(browser, "/settings/tools/servers", "/settings/tools", **given)
    assert "Es gibt schon 1 Server." in refused.text
    assert "Diesen Server gibt es nicht." in browser.get("/settings/tools/servers/77").text
    everyone = post_form(browser, "/settings/tools/servers", "/settings/tools", **given, for_everyone="1")
    assert everyone.status_code == 403 and "Nur Admins können Server für alle hinzufügen." in everyone.text
    answer = browser.patch(f"/api/tool-servers/{place.rsplit('/', 1)[1]}", json={"url": "https://other.example/mcp"})
    assert answer.json["errors"][0]["msg"].startswith("must be entered again")
    assert browser.post("/api/tool-servers", json=given).json["detail"] == "There are already 1 servers."


def test_the_search_is_tried_out_in_the_readers_language(app, make_user, login, site):
    boss = make_user(is_admin=True)
    browser = login(boss)
    browser.set_cookie("language", "de")
    wrong = post_form(browser, "/admin/tools/web", "/admin/tools", provider="searxng", address="")
    assert wrong.status_code == 422 and re.search("Die URL .*Suchmaschine", wrong.text)
    given = {"provider": "searxng", "address": site.url, "is_enabled": "1"}
    assert post_form(browser, "/admin/tools/web", "/admin/tools", **given).status_code == 303
    site.says({"no": 1})
    post_form(browser, "/admin/tools/web/test", "/admin/tools")
    assert "SearXNG hat auf unverständliche Weise geantwortet." in browser.get("/admin/tools").text
    tried = api_client(app, boss).post("/api/web-access/test", headers=GERMAN).json
    assert tried["detail"] == "SearXNG answered in a way that is not understood."
