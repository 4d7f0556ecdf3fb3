"""Choosing the language of the interface."""

import html
import json
import re

import pytest

from testkit.people import api_client
from webapp.i18n import LANGUAGES


def form_token(browser, path: str) -> str:
    return browser.get(path).text.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]


def choose(browser, code: str, path: str):
    return browser.post("/language", data={"csrf_token": form_token(browser, path), "language": code, "next": path})


def test_before_signing_in_the_choice_is_this_browsers(anonymous):
    asked = {"Accept-Language": "fr"}
    assert '<html lang="fr"' in anonymous.get("/register", headers=asked).text
    answer = choose(anonymous, "ar", "/register")
    assert answer.status_code == 303 and answer.location == "/register"
    assert 'dir="rtl"' in anonymous.get("/register", headers=asked).text
    assert choose(anonymous, "", "/register").status_code == 303
    assert '<html lang="fr"' in anonymous.get("/register", headers=asked).text


def test_the_accounts_choice_goes_everywhere_before_the_browsers(app, login, user):
    browser = login(user)
    assert choose(browser, "de", "/settings").location == "/settings"
    page = browser.get("/settings", headers={"Accept-Language": "fr"}).text
    assert '<html lang="de"' in page and '<option value="de" lang="de" selected>' in page
    other = login(user)
    assert '<html lang="de"' in other.get("/", headers={"Accept-Language": "es"}).text
    assert choose(browser, "", "/settings").status_code == 303
    assert '<html lang="es"' in other.get("/", headers={"Accept-Language": "es"}).text


def test_a_page_that_is_open_while_the_language_changes_gets_its_parts_in_its_own(login, user):
    browser = login(user)
    page = browser.get("/").text
    said = json.loads(html.unescape(re.search(r"hx-headers:inherited='([^']+)'", page)[1]))
    choose(browser, "de", "/settings")
    assert "conversations appear" in browser.get("/sidebar", headers={"HX-Request": "true", **said}).text
    assert "Unterhaltungen" in browser.get("/sidebar", headers={"HX-Request": "true"}).text
    unknown = {"HX-Request": "true", "X-Language": "xx"}
    assert "Unterhaltungen" in browser.get("/sidebar", headers=unknown).text


@pytest.mark.parametrize("code", ["xx", "EN", "../de", "de\x00"])
def test_what_is_no_language_is_refused(anonymous, code):
    assert choose(anonymous, code, "/register").status_code == 422


def test_it_leads_nowhere_else(anonymous):
    data = {"csrf_token": form_token(anonymous, "/register"), "language": "de", "next": "https://evil.example"}
    assert anonymous.post("/language", data=data).location == "/login"
    assert anonymous.post("/language", data={"language": "de"}).status_code == 403


def test_the_api_takes_and_tells_it_and_stays_english(app, user):
    client = api_client(app, user)
    assert client.put("/api/account", json={"settings": {"language": "de"}}).json["settings"]["language"] == "de"
    assert client.put("/api/account", json={"settings": {"language": "xx"}}).status_code == 422
    refused = client.get("/api/conversations/999999", headers={"Accept-Language": "de"})
    assert refused.status_code == 404 and refused.json["title"] == "Not found"


def test_every_language_is_offered_by_its_own_name(anonymous):
    page = anonymous.get("/register").text
    for language in LANGUAGES.values():
        assert f'lang="{language.tag}"' in page and f">{language.name}</button>" in page
