"""Pages of accounts: register, sign in and out, settings."""

import html
import json
import re
from pathlib import Path

import pytest

from testkit.people import api_client, csrf_token, follow, post_form
from webapp.accounts.access import access_of
from webapp.i18n import LANGUAGES

GOOD = "a heron on the tide mill"


def test_the_first_visitor_makes_the_first_account(anonymous):
    assert anonymous.get("/").location == "/login"
    assert anonymous.get("/login").location == "/register"
    assert "This is the first account" in anonymous.get("/register").text
    done = post_form(anonymous, "/register", "/register", name="Ada", email="Ada@Example.org", password=GOOD)
    assert done.status_code == 303 and done.location == "/"
    page = anonymous.get("/").text
    assert "Administration" in page and "Ada" in page


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"email": "no address"}, "The e-mail address must look like name@example.org."),
        ({"password": "short"}, "The password must have at least 8 characters"),
        ({"password": "password1"}, "The password is too common"),
        ({"email": "taken@example.org"}, "The e-mail address already has an account."),
        ({"name": "x" * 201}, "The name must have at most 200 characters."),
    ],
)
def test_what_is_wrong_stands_beside_its_field(anonymous, make_user, form, said):
    make_user(email="taken@example.org")
    wanted = {"name": "Bob", "email": "bob@example.org", "password": GOOD, **form}
    answer = post_form(anonymous, "/register", "/register", **wanted)
    assert answer.status_code == 422 and said in answer.text
    assert re.findall(r'name="(\w+)"[^>]* autofocus[^>]* aria-invalid="true"', answer.text) == [*form]
    assert f'value="{wanted["name"]}"' in answer.text and wanted["password"] not in answer.text


@pytest.mark.parametrize(("wanted", "lands"), [("/memory", "/memory"), ("//evil.example", "/"), (None, "/")])
def test_the_second_account_is_no_admin_and_comes_where_it_wanted_to_be(anonymous, make_user, wanted, lands):
    make_user(is_admin=True)
    page = "/register" + (f"?next={wanted}" if wanted else "")
    assert "This is the first account" not in anonymous.get(page).text
    answer = post_form(anonymous, page, page, name="Bob", email="bob@example.org", password=GOOD)
    assert (answer.status_code, answer.location) == (303, lands)
    assert "Administration" not in anonymous.get("/").text


def test_registration_can_be_closed_and_opened(anonymous, admin_browser):
    post_form(admin_browser, "/admin/registration", "/admin", open="0")
    assert "Open registration" in admin_browser.get("/admin/users").text
    assert "Registration is closed" in anonymous.get("/register").text
    page = anonymous.get("/login").text
    assert "Create one" not in page
    form = {"name": "B", "email": "b@example.org", "password": GOOD, "csrf_token": csrf_token(page)}
    assert anonymous.post("/register", data=form).status_code == 403
    assert post_form(admin_browser, "/admin/registration", "/admin", open="1").status_code == 303
    assert "Close registration" in admin_browser.get("/admin/users").text
    assert post_form(admin_browser, "/admin/registration", "/admin", open="perhaps").status_code == 422


def test_sign_in_leads_where_one_wanted_to_go_and_never_elsewhere(anonymous, user):
    wanted = anonymous.get("/settings").location
    assert wanted == "/login?next=%2Fsettings"
    wrong = post_form(anonymous, "/login", "/login", email=user.email, password="wrong")
    assert wrong.status_code == 401 and f'value="{user.email}"' in wrong.text
    assert "ask your administrator for a new one" in wrong.text  # no mail is set up
    assert re.findall(r'id="(\w+)"[^>]* autofocus', wrong.text) == ["password"]
    form = {"email": user.email, "password": user.password}
    forged = anonymous.post("/login", data=form)
    assert forged.status_code == 403 and "out of date" in forged.text
    assert post_form(anonymous, "/login?next=//evil.example", "/login?next=//evil.example", **form).location == "/"
    assert anonymous.get("/login").location == "/"
    post_form(anonymous, "/logout", "/settings")
    parts = [anonymous.get("/sidebar", headers={"HX-Request": "true"}).status_code for _ in range(2)]
    assert parts == [401, 401] and anonymous.get("/login").text.count("You have been signed out.") == 1
    assert post_form(anonymous, wanted, wanted, **form).location == "/settings"
    assert anonymous.get("/settings").status_code == 200


def test_profile_and_instructions(browser):
    done = post_form(browser, "/settings/profile", "/settings", name="Grace <b>")
    assert (done.status_code, done.location) == (303, "/settings/general")
    page = browser.get("/settings").text
    assert 'value="Grace &lt;b&gt;"' in page and "Saved." in page
    place = "/settings/personalisation"
    refused = post_form(browser, "/settings/profile", place, name="x" * 201)
    assert refused.status_code == 422 and "x" * 201 in refused.text
    done = post_form(browser, place, place, custom_instructions="Be brief.\r\nThanks.", on=["memory_enabled"])
    assert (done.status_code, done.location) == (303, place)
    assert "Be brief.\nThanks.</textarea>" in browser.get(place).text
    refused = post_form(browser, place, place, custom_instructions="x" * 8_001, on=["suggestions_enabled"])
    assert refused.status_code == 422 and "The instructions must have at most 8000 characters." in refused.text
    assert "x" * 8_001 in refused.text and 'value="suggestions_enabled" checked' in refused.text
    assert 'value="memory_enabled" checked' not in refused.text, "what was chosen is still chosen"
    assert browser.get("/api/account").json["settings"]["memory_enabled"], "and nothing of it is stored"


def test_memory_is_switched_in_settings(browser):
    """The page that says "Memory" is where one looks for its switches, and none was there."""
    names = ("memory_enabled", "past_conversations_enabled", "space_documents_enabled", "suggestions_enabled")
    place = "/settings/personalisation"
    for chosen in ([], list(names), ["past_conversations_enabled"]):
        post_form(browser, place, place, custom_instructions="", on=[*chosen, "is_admin"])
        stored = browser.get("/api/account").json["settings"]
        assert [name for name in names if stored[name]] == chosen
        page = browser.get(place).text
        assert [name for name in names if f'value="{name}" checked' in page] == chosen


ROOMS: dict[str, str] = json.loads(Path(__file__).with_name("rooms.json").read_text())
"""In which room each page stands."""


def test_every_page_of_settings_and_administration_stands_in_its_room(admin_browser):
    for path, room in ROOMS.items():
        page = admin_browser.get(path).text
        nav = page[page.index('<nav class="room-nav"') :].partition("</nav>")[0]
        house = "Administration" if path.startswith("/admin") else "Settings"
        assert f'aria-label="{house}"' in nav
        (current,) = re.findall(r'<a href="[^"]+"\s+aria-current="\w+">.*?<span>([^<]+)</span>', nav)
        assert current == room, path
        assert ("is-first" in page) == (path in ("/settings", "/admin")), "on a phone those two are the list of rooms"


def test_rooms_are_found_in_the_palette(login, user, make_user):
    theirs, admins = (login(person).get("/").text for person in (user, make_user(is_admin=True)))
    for page in (theirs, admins):
        commands = page[page.index('id="palette-commands"') :]
        assert "Personalisation and memory" in commands and 'data-words="Settings Security' in commands
    assert "/admin" not in theirs and 'data-words="Administration Activity' in admins


def test_the_theme_is_this_browsers_and_the_accounts(login, user, browser):
    assert "data-theme" not in browser.get("/").text.partition("<head>")[0]
    post_form(browser, "/settings/appearance", "/settings", theme="dark")
    assert 'data-theme="dark">' in browser.get("/").text
    assert re.search(r'data-scheme="dark"\s+media="all"', browser.get("/").text)
    assert 'data-theme="dark">' in login(user).get("/").text
    assert post_form(browser, "/settings/appearance", "/settings", theme="neon").status_code == 422


def test_a_token_is_shown_once_and_ends_when_its_owner_revokes_it(login, anonymous, make_user, browser):
    made = post_form(browser, "/settings/tokens", "/settings", access="full", token_name="Script")
    secret = re.search(r'<code id="new-token">([^<]+)</code>', follow(browser, made).text)[1]
    bearer = {"Authorization": f"Bearer {secret}"}
    assert anonymous.get("/api/conversations", headers=bearer).status_code == 200
    page = browser.get("/settings/tokens").text
    assert secret not in page and "Script" in page
    path = max(re.findall(r"/settings/tokens/\d+/revoke", page), key=lambda found: int(found.split("/")[3]))
    assert post_form(login(make_user()), path, "/settings").status_code == 404
    assert anonymous.get("/api/conversations", headers=bearer).status_code == 200
    assert post_form(browser, path, "/settings").status_code == 303
    assert anonymous.get("/api/conversations", headers=bearer).status_code == 401
    assert post_form(browser, "/settings/tokens", "/settings", access="full", token_name="  ").status_code == 422


def test_what_is_for_admins_or_services_says_so(app):
    """And `tests/test_access_matrix.py` calls what says so as everybody else."""
    views = [(rule.rule, access_of(app, rule.endpoint)) for rule in app.url_map.iter_rules()]
    areas = ("users", "site", "feedback", "connections", "local-servers", "groups", "quotas", "web-access")
    for start in ("/admin", *(f"/api/{name}" for name in areas), "/api/internal"):
        found = [(rule, access) for rule, access in views if rule.startswith(start)]
        wanted = "service" if start == "/api/internal" else "admin"
        assert found and not [(rule, access) for rule, access in found if access != wanted], start
    changes = [access for rule, access in views if re.match("/api/(prompts/.*versions|models/)", rule)]
    assert changes == ["admin"] * 3


def choose(browser, code: str, path: str):
    return post_form(browser, "/language", path, language=code, next=path)


def test_before_signing_in_the_choice_is_this_browsers(anonymous):
    asked = {"Accept-Language": "fr"}
    assert '<html lang="fr"' in anonymous.get("/register", headers=asked).text
    answer = choose(anonymous, "ar", "/register")
    assert answer.status_code == 303 and answer.location == "/register"
    assert 'dir="rtl"' in anonymous.get("/register", headers=asked).text
    assert choose(anonymous, "", "/register").status_code == 303
    assert '<html lang="fr"' in anonymous.get("/register", headers=asked).text


def test_the_accounts_choice_goes_everywhere_before_the_browsers(app, login, user, browser):
    assert choose(browser, "de", "/settings").location == "/settings"
    page = browser.get("/settings", headers={"Accept-Language": "fr"}).text
    assert '<html lang="de"' in page and '<option value="de" lang="de" selected>' in page
    other = login(user)
    assert '<html lang="de"' in other.get("/", headers={"Accept-Language": "es"}).text
    assert choose(browser, "", "/settings").status_code == 303
    assert '<html lang="es"' in other.get("/", headers={"Accept-Language": "es"}).text


def test_a_page_that_is_open_while_the_language_changes_gets_its_parts_in_its_own(browser):
    page = browser.get("/").text
    said = json.loads(html.unescape(re.search(r"hx-headers:inherited='([^']+)'", page)[1]))
    choose(browser, "de", "/settings")
    assert "conversations appear" in browser.get("/sidebar", headers={"HX-Request": "true", **said}).text
    assert "Unterhaltungen" in browser.get("/sidebar", headers={"HX-Request": "true"}).text
    unknown = {"HX-Request": "true", "X-Language": "xx"}
    assert "Unterhaltungen" in browser.get("/sidebar", headers=unknown).text


def test_nothing_but_a_language_is_chosen_and_it_leads_nowhere_else(anonymous):
    for code in ("xx", "EN", "../de", "de\x00"):
        assert choose(anonymous, code, "/register").status_code == 422
    data = {"language": "de", "next": "https://evil.example"}
    assert post_form(anonymous, "/language", "/register", **data).location == "/login"
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
