"""Signing in at an OpenID provider: discovery, PKCE, state, nonce, linking, groups, and all that may go wrong."""

import json
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
import requests
from joserfc.jwk import OctKey, RSAKey
from sqlalchemy import func, select

from testkit.people import PASSWORD, post_form
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, Provider
from tests.support.queries import change_row, get_row, scalar
from webapp.accounts import deletion, identities, second_factor, service
from webapp.accounts.identities import ProviderClaims
from webapp.accounts.models import User
from webapp.accounts.oidc_pages import init_oidc
from webapp.accounts.schemas import EmailChange, Registration
from webapp.accounts.service import create_user
from webapp.config import ConfigError, Settings
from webapp.db.base import now, write_transaction
from webapp.spaces import members
from webapp.spaces.models import SpaceVersion
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space


@pytest.fixture(scope="module")
def _provider():
    made = Provider()
    yield made
    made.stop()


@pytest.fixture
def provider(_provider):
    """The provider, which vouches for Ann."""
    _provider.claims = {"sub": "ann-1", "email": "ann@example.org", "email_verified": True, "name": "Ann"}
    _provider.spoil, _provider.userinfo_claims, _provider.offers = {}, {}, {}
    key = _provider.key
    yield _provider
    _provider.key = key


@pytest.fixture
def configure(app, settings, provider, monkeypatch):
    """`configure(**settings)`: the application with this provider."""
    before = app.extensions["settings"]

    def set_up(**more):
        wished = settings.model_copy(
            update={
                "oidc_issuer": provider.issuer,
                "oidc_client_id": CLIENT_ID,
                "oidc_client_secret": CLIENT_SECRET,
                "oidc_name": "Example",
                **more,
            }
        )
        app.extensions["settings"] = wished
        init_oidc(app, wished)

    yield set_up
    app.extensions["settings"] = before
    app.extensions.pop("oidc", None)
    init_oidc(app, before)


def at_the_provider(browser, path="/login/oidc"):
    """Go there, agree, and come back with this address."""
    there = browser.get(path)
    assert there.status_code == 302, there.text
    back = requests.get(there.location, allow_redirects=False, timeout=5).headers["Location"]
    parts = urlsplit(back)
    return f"{parts.path}?{parts.query}"


@pytest.fixture
def ann(app, make_user):
    """An account with the address the provider vouches for, known to be hers."""
    person = make_user(email="ann@example.org")
    confirm(app, person)
    return person


def confirm(app, person):
    """Make an address one that is known to be its owner's."""
    change_row(app, User, person.user_id, email_verified_at=now())


def accounts(app):
    """How many there are."""
    return scalar(app, select(func.count()).select_from(User))


def me(browser):
    """The account that is signed in."""
    return browser.get("/api/account").json


def test_the_first_account_of_an_open_site_is_no_strangers(app, configure, provider, anonymous):
    """Whoever the provider knows is not thereby the administrator: that takes the set-up token, or the admin group."""
    anonymous.environ_base["REMOTE_ADDR"] = "203.0.113.7"
    configure()
    assert anonymous.get(at_the_provider(anonymous)).status_code == 403
    configure(oidc_admin_group="admins")
    assert anonymous.get(at_the_provider(anonymous)).status_code == 403
    assert scalar(app, select(func.count()).select_from(User)) == 0
    provider.claims["groups"] = ["admins"]
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    assert me(anonymous)["is_admin"] is True


def test_a_new_person_gets_an_account(app, make_user, configure, anonymous):
    make_user(is_admin=True)
    configure()
    assert "Sign in with Example" in anonymous.get("/login").text
    answer = anonymous.get(at_the_provider(anonymous, "/login/oidc?next=/memory"))
    assert (answer.status_code, answer.location) == (303, "/memory")
    assert "signed in with Example, you have none" in anonymous.get("/settings/security").text
    account = me(anonymous)
    assert (account["email"], account["name"], account["is_admin"]) == ("ann@example.org", "Ann", False)
    again = app.test_client()
    again.get(at_the_provider(again))
    assert me(again)["user_id"] == me(anonymous)["user_id"]
    assert "signed_in" in [event["action"] for event in again.get("/api/audit").json["events"]]


def test_what_is_asked_of_the_provider(configure, anonymous):
    """Its own address is the site's, and not the request's."""
    configure(site_url="https://chat.example.org/")
    asked = parse_qs(urlsplit(anonymous.get("/login/oidc", headers={"Host": "evil.example"}).location).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["openid email profile"]
    assert {"state", "nonce", "code_challenge"} <= set(asked)
    assert asked["redirect_uri"] == ["https://chat.example.org/login/oidc/callback"]


def test_a_verified_address_takes_over_the_account_and_another_does_not(ann, configure, provider, anonymous, app):
    for creates in (True, False):
        configure(oidc_create=creates)
        provider.claims["email_verified"] = False
        refused = anonymous.get(at_the_provider(anonymous))
        assert refused.status_code == 403 and "email_verified" in refused.text
        assert accounts(app) == 1
    provider.claims["email_verified"] = True
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    assert me(anonymous)["user_id"] == ann.user_id


def test_an_unverified_address_makes_no_account_that_its_owner_comes_into(app, configure, provider, anonymous):
    configure()
    provider.claims |= {"sub": "eve-1", "email_verified": False}
    assert anonymous.get(at_the_provider(anonymous)).status_code == 403
    assert accounts(app) == 0
    del provider.claims["email_verified"]  # one that says nothing of addresses makes one, as hers alone
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    provider.claims |= {"sub": "ann-1", "email_verified": True}
    owner = app.test_client()
    assert owner.get(at_the_provider(owner)).status_code == 403
    assert owner.get("/api/account").status_code == 401
    assert me(anonymous)["email"] == "ann@example.org"


def register(app, email="ann@example.org", password="a heron on the tide mill"):
    """A browser in which somebody has just registered with this address."""
    browser = app.test_client()
    answer = post_form(browser, "/register", "/register", name="", email=email, password=password)
    assert answer.status_code == 303
    return browser


def sign_in(browser, password="a heron on the tide mill"):
    return post_form(browser, "/login", "/login", email="ann@example.org", password=password)


def test_who_proves_the_account_is_linked_to_it_and_nobody_else_shares_it(app, configure, anonymous):
    """With the password, in the browser in which the provider vouched for them; elsewhere nothing comes of it."""
    configure()
    eve = register(app)
    refused = anonymous.get(at_the_provider(anonymous))
    assert refused.status_code == 403 and "sign in to it with its password" in refused.text
    assert anonymous.get("/api/account").status_code == 401
    assert sign_in(anonymous, "a wrong guess at it").status_code == 401
    assert anonymous.get(at_the_provider(anonymous)).status_code == 403
    assert me(eve)["email"] == "ann@example.org"
    elsewhere = app.test_client()
    assert sign_in(elsewhere).status_code == 303
    assert anonymous.get(at_the_provider(anonymous)).status_code == 403
    assert sign_in(anonymous).status_code == 303
    later = app.test_client()
    assert later.get(at_the_provider(later)).status_code == 303
    assert me(later)["user_id"] == me(eve)["user_id"]


def test_linking_waits_for_the_second_step_and_not_for_ever(app, configure, anonymous, monkeypatch):
    configure()
    user_id = me(register(app))["user_id"]
    monkeypatch.setattr(second_factor, "is_on", lambda _user_id: True)
    monkeypatch.setattr(second_factor, "check", lambda _user_id, code: code == "right")
    anonymous.get(at_the_provider(anonymous))
    assert sign_in(anonymous).location.startswith("/login/code")
    monkeypatch.setattr(identities, "SECONDS", -1)
    post_form(anonymous, "/login/code", "/login/code", code="right")
    later = app.test_client()
    assert later.get(at_the_provider(later)).status_code == 403
    monkeypatch.undo()
    monkeypatch.setattr(second_factor, "is_on", lambda _user_id: True)
    monkeypatch.setattr(second_factor, "check", lambda _user_id, code: code == "right")
    assert sign_in(later).location.startswith("/login/code")
    assert post_form(later, "/login/code", "/login/code", code="right").status_code == 303
    monkeypatch.undo()
    again = app.test_client()
    assert again.get(at_the_provider(again)).status_code == 303
    assert me(again)["user_id"] == user_id


def test_linking_is_with_the_account_of_that_address_only(app, make_user, configure, anonymous):
    """Whoever signs in to another account than the one they were refused links nothing to it."""
    other = make_user()
    configure()
    register(app)
    anonymous.get(at_the_provider(anonymous))
    form = {"email": other.email, "password": other.password}
    assert post_form(anonymous, "/login", "/login", **form).status_code == 303
    later = app.test_client()
    assert later.get(at_the_provider(later)).status_code == 403


def test_an_address_that_changed_hands_is_no_key(app, make_user, configure, provider, anonymous):
    """The provider tells two people apart by `sub`; changing one's address to another's catches nobody either."""
    eve = make_user(is_admin=True)
    configure()
    anonymous.get(at_the_provider(anonymous))
    provider.claims["sub"] = "ann-2"
    successor = app.test_client()
    assert successor.get(at_the_provider(successor)).status_code == 403
    provider.claims |= {"sub": "bea", "email": "bea@example.org"}
    with app.app_context(), write_transaction():
        service.change_email(eve.user_id, EmailChange(email="bea@example.org", password=eve.password))
    assert successor.get(at_the_provider(successor)).status_code == 403


def test_letters_that_look_alike_are_one_address(app, configure, provider, anonymous):
    """Full-width and mathematical letters are normalised when an account is made and whenever somebody signs in."""
    configure()
    provider.claims["email"] = "ＡＮＮ@ｅｘａｍｐｌｅ.org"
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    assert me(anonymous)["email"] == "ann@example.org"
    for email in ("𝐚nn@example.org", "ann@EXAMPLE.org", "ann@example.org"):
        provider.claims |= {"sub": email, "email": email}
        assert anonymous.get(at_the_provider(anonymous)).status_code == 403
    assert accounts(app) == 1


def test_an_admin_vouches_for_the_address_of_an_account_they_make(app, configure, anonymous):
    with app.app_context(), write_transaction():
        made = create_user(Registration(email="ann@example.org", password="a heron on the tide mill")).user_id
    configure(oidc_create=False)
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    assert me(anonymous)["user_id"] == made


def test_groups_make_and_unmake_admins(make_user, configure, provider, anonymous):
    make_user(is_admin=True)
    configure(oidc_admin_group="keepers", oidc_groups_claim="realm_access.roles")
    for groups in (["readers", "keepers"], ["readers"], ["keepers"], []):
        provider.claims["realm_access"] = {"roles": groups}
        anonymous.get(at_the_provider(anonymous))
        assert me(anonymous)["is_admin"] == ("keepers" in groups)


def test_groups_that_are_not_told_change_nothing(make_user, configure, provider, anonymous, caplog):
    make_user(is_admin=True)
    configure(oidc_admin_group="keepers")
    for groups in (["keepers"], 7):
        provider.claims["groups"] = groups
        anonymous.get(at_the_provider(anonymous))
        assert me(anonymous)["is_admin"]
    assert "did not send your groups" in anonymous.get("/settings").text
    assert "the provider did not send somebody's groups" in caplog.messages


def test_the_address_may_be_in_another_claim(ann, configure, provider, anonymous):
    provider.claims |= {"email": None, "upn": "ann", "preferred_username": "ann@example.org", "edov": "1"}
    configure(oidc_email_verified_claim="edov")
    refused = anonymous.get(at_the_provider(anonymous))
    assert refused.status_code == 403 and "OIDC_EMAIL_CLAIM" in refused.text
    configure(oidc_email_verified_claim="edov", oidc_email_claim="email, upn, preferred_username")
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    assert me(anonymous)["user_id"] == ann.user_id


@pytest.mark.parametrize(
    ("offers", "key", "lacks"),
    [
        ({"token_endpoint_auth_methods_supported": ["client_secret_post"]}, None, ""),
        ({"id_token_signing_alg_values_supported": ["HS256"]}, OctKey.import_key(CLIENT_SECRET), ""),
        ({"userinfo_signing_alg_values_supported": ["RS256"]}, None, "email"),
        ({}, None, "email_verified"),
    ],
)
def test_what_a_provider_does_in_its_own_way(ann, configure, provider, anonymous, offers, key, lacks):
    provider.offers, provider.key, provider.userinfo_claims = offers, key or provider.key, provider.claims
    provider.claims = {name: value for name, value in provider.claims.items() if name != lacks}
    configure()
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303


@pytest.mark.parametrize(("sub", "status"), [("ann-1", 303), ("eve-1", 403)])
def test_address_and_groups_may_be_in_the_userinfo_of_the_same_person(ann, configure, provider, anonymous, sub, status):
    configure(oidc_admin_group="keepers")
    provider.userinfo_claims = {"sub": sub, "email": provider.claims.pop("email"), "email_verified": True}
    provider.userinfo_claims["groups"] = ["keepers"]
    assert anonymous.get(at_the_provider(anonymous)).status_code == status
    assert me(anonymous).get("is_admin", False) == (sub == "ann-1")


@pytest.mark.parametrize("group", ["", "keepers"])
def test_userinfo_is_asked_for_groups_only_if_they_matter(ann, configure, provider, anonymous, group):
    configure(oidc_admin_group=group)
    provider.userinfo_claims = {"sub": "ann-1", "groups": ["keepers"], "name": "Ann from the userinfo"}
    before = provider.userinfo_asked
    anonymous.get(at_the_provider(anonymous))
    assert me(anonymous)["user_id"] == ann.user_id
    assert provider.userinfo_asked - before == bool(group)


def test_a_subject_that_ends_with_a_space_is_nobody_else(ann, configure, provider, anonymous):
    configure()
    anonymous.get(at_the_provider(anonymous))
    assert me(anonymous)["user_id"] == ann.user_id
    anonymous.get("/logout")
    provider.claims |= {"sub": "ann-1 ", "email": "eve@example.org"}
    answer = anonymous.get(at_the_provider(anonymous))
    assert answer.status_code == 403
    assert "ends with a space" in answer.text


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"sub": 17}, {"subject": "17"}),
        ({"sub": "a", "emails": ["kim@example.org", "k@example.org"]}, {"email": "kim@example.org"}),
        ({"sub": "a", "email": " kim@example.org "}, {"email": "kim@example.org"}),
        ({"sub": "a", "apps": {"x.example": {"mail": "kim@example.org"}}}, {"email": "kim@example.org"}),
        ({"sub": "a", "name": None, "preferred_username": "kim"}, {"name": "kim"}),
        ({"sub": "a", "name": {"first": "Kim"}}, {"name": ""}),
        ({"sub": "a", "given_name": "Kim", "family_name": "Lee", "preferred_username": "k"}, {"name": "Kim Lee"}),
        ({"sub": "a", "groups": '["staff", "board"]'}, {"groups": {"staff", "board"}}),
        ({"sub": "a", "groups": "staff"}, {"groups": {"staff"}}),
        ({"sub": "a", "groups": ["/staff"]}, {"groups": {"/staff", "staff"}}),
        ({"sub": "a", "groups": [{"name": "staff"}]}, {"groups": None}),
        ({"sub": "a", "groups": {"staff": {}}}, {"groups": None}),
    ],
)
def test_claims_are_read_in_the_forms_in_which_they_come(claims, expected):
    settings = Settings(oidc_email_claim="email, emails, apps.x.example.mail")
    found = ProviderClaims.of("https://example.org", claims, settings)
    assert {name: getattr(found, name) for name in expected} == expected


def test_without_an_admin_group_the_provider_says_nothing_of_roles(app, make_user, configure, anonymous):
    make_user(is_admin=True)
    confirm(app, make_user(email="ann@example.org", is_admin=True))
    configure()
    anonymous.get(at_the_provider(anonymous))
    assert me(anonymous)["is_admin"]


def test_a_stopped_account_stays_out(app, ann, configure, anonymous):
    configure()
    change_row(app, User, ann.user_id, is_active=False)
    assert anonymous.get(at_the_provider(anonymous)).status_code == 403
    assert anonymous.get("/api/account").status_code == 401


def test_a_wrong_token_signs_nobody_in(configure, provider, anonymous, caplog):
    configure()
    for provider.spoil in ({"nonce": "another"}, {"aud": "another"}, {"exp": 1}, {"iss": "http://elsewhere"}):
        answer = anonymous.get(at_the_provider(anonymous))
        assert (answer.status_code, provider.spoil) == (401, provider.spoil)
        assert anonymous.get("/api/account").status_code == 401
    assert "iss" in [record.error for record in caplog.records if hasattr(record, "error")][-1]  # the claim


def test_a_provider_may_change_its_key(app, ann, configure, provider, anonymous):
    configure()
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    provider.key = RSAKey.generate_key(2048, {"kid": "one"})
    another = app.test_client()
    assert another.get(at_the_provider(another)).status_code == 303


def test_an_answer_belongs_to_the_browser_that_asked(app, configure, anonymous):
    configure()
    address = at_the_provider(anonymous)
    assert app.test_client().get(address).status_code == 401
    assert anonymous.get(address).status_code == 303
    assert anonymous.get(address).status_code == 401  # and works once


def test_odd_answers(configure, anonymous):
    configure()
    for query in ("", "?error=access_denied", "?code=x&state=y", "?state=", "?code=" + "x" * 3_000):
        assert (query, anonymous.get(f"/login/oidc/callback{query}").status_code) == (query, 401)


def test_a_provider_that_is_away_or_does_not_end_says_so(configure, provider, anonymous):
    configure(oidc_issuer="http://127.0.0.1:9")
    assert anonymous.get("/login/oidc").status_code == 503
    configure()
    provider.userinfo_claims = {"sub": provider.claims["sub"], "pad": "x" * 10_000_000}
    del provider.claims["email"]
    assert anonymous.get(at_the_provider(anonymous)).status_code == 503
    provider.offers = {"pad": "x" * 10_000_000}
    configure()
    answer = anonymous.get("/login/oidc")
    assert answer.status_code == 503 and "sign in with your password" in answer.text


def test_without_a_provider_there_is_nothing(anonymous, make_user):
    make_user()
    assert anonymous.get("/login/oidc").status_code == 404
    assert anonymous.get("/login/oidc/callback").status_code == 404
    assert "/login/oidc" not in anonymous.get("/login").text


@pytest.fixture
def spaces(app, make_user):
    """Two spaces of an owner: their ids."""
    owner = make_user(is_admin=True)
    with app.app_context(), write_transaction():
        return owner, [create_space(owner.user_id, NewSpace(kind="project", name=name)).space_id for name in "AB"]


def spaces_of(browser):
    return {space["space_id"] for space in browser.get("/api/spaces").json["spaces"] if space["status"] == "active"}


def test_groups_are_joined_and_left_at_sign_in(app, spaces, configure, provider, anonymous):
    _, (first, second) = spaces
    configure(oidc_spaces=json.dumps({"staff": [first], "board": [first, second], "gone": [987]}))

    def sign_in(*groups):
        provider.claims["groups"] = list(groups)
        browser = app.test_client()
        assert browser.get(at_the_provider(browser)).status_code == 303
        return browser

    assert spaces_of(sign_in()) == set()
    browser = sign_in("staff", "gone", "unknown")
    assert spaces_of(browser) == {first}
    version = space_version(app, first)
    assert spaces_of(sign_in("staff")) == {first}
    assert space_version(app, first) == version  # nothing changed, nobody's index is read anew
    assert spaces_of(sign_in("board")) == {first, second}
    assert spaces_of(sign_in("staff")) == {first}
    assert browser.get(f"/api/spaces/{second}").status_code == 404  # the other browser, still signed in
    assert spaces_of(sign_in()) == set()
    told = [event["action"] for event in sign_in().get("/api/audit").json["events"]]
    assert (told.count("space_joined"), told.count("space_left")) == (2, 2)


def space_version(app, space_id):
    return get_row(app, SpaceVersion, space_id).version


def test_what_people_decided_no_group_undoes(app, spaces, configure, provider, anonymous, login):
    owner, (first, second) = spaces
    browser = login(owner)
    with app.app_context(), write_transaction():
        ann = create_user(Registration(email="ann@example.org", password="a heron on the tide mill")).user_id
        for space_id in (first, second):
            members.invite(owner.user_id, space_id, "ann@example.org")
        members.accept(ann, first)
    configure(oidc_spaces=json.dumps({"staff": [first, second]}))
    provider.claims["groups"] = ["staff"]
    anonymous.get(at_the_provider(anonymous))
    assert spaces_of(anonymous) == {first, second}  # the open invitation is taken up
    provider.claims["groups"] = []
    anonymous.get(at_the_provider(anonymous))
    assert spaces_of(anonymous) == {first}
    # The owner, in a group or not, stays the owner.
    confirm(app, owner)
    provider.claims |= {"sub": "owner", "email": owner.email, "groups": ["staff"]}
    again = app.test_client()
    again.get(at_the_provider(again))
    provider.claims["groups"] = []
    again.get(at_the_provider(again))
    assert spaces_of(again) == {first, second} == spaces_of(browser)


def test_one_who_was_handed_the_space_keeps_it_without_the_group(app, spaces, configure, provider, anonymous):
    owner, (first, _) = spaces
    configure(oidc_spaces=json.dumps({"staff": [first]}))
    provider.claims["groups"] = ["staff"]
    anonymous.get(at_the_provider(anonymous))
    with app.app_context(), write_transaction():
        members.hand_over(owner.user_id, first, me(anonymous)["user_id"])
    provider.claims["groups"] = []
    anonymous.get(at_the_provider(anonymous))
    assert spaces_of(anonymous) == {first}


def test_a_full_space_keeps_nobody_out_of_their_account(app, spaces, configure, provider, anonymous, monkeypatch):
    _, (first, second) = spaces
    monkeypatch.setattr(members, "MAX_MEMBERS", 1)
    configure(oidc_spaces=json.dumps({"staff": [first, second]}))
    provider.claims["groups"] = ["staff"]
    assert anonymous.get(at_the_provider(anonymous)).status_code == 303
    assert spaces_of(anonymous) == set()


@pytest.mark.parametrize("given", ["staff=3", "[3]", '{"staff": 3}', '{"staff": ["3"]}', '{"staff": [0]}'])
def test_a_mapping_that_is_none_is_refused_at_the_start(given):
    with pytest.raises(ConfigError, match="OIDC_SPACES"):
        Settings.from_env({"OIDC_SPACES": given})


@pytest.mark.parametrize("has_two_steps", [False, True])
def test_the_provider_leads_back_to_a_closed_account_with_its_second_step(
    app, configure, provider, anonymous, has_two_steps
):
    configure()
    with app.app_context(), write_transaction():
        ann = create_user(Registration(email="ann@example.org", name="Ann", password=PASSWORD)).user_id
    with app.app_context(), write_transaction():
        if has_two_steps:
            second_factor.begin(ann)
            codes = second_factor.confirm(ann, pyotp.TOTP(second_factor.pending_secret(ann)).now())
        deletion.close(ann, PASSWORD)
    answer = anonymous.get(at_the_provider(anonymous))
    if has_two_steps:
        assert answer.location.endswith("/login/code")
        assert anonymous.get("/account/keep").location.endswith("/login")
        answer = post_form(anonymous, "/login/code", page="/login/code", code=codes[0])
    assert answer.location.endswith("/account/keep")
    assert me(anonymous).get("user_id") is None, "not signed in by that"
    assert post_form(anonymous, "/account/keep", page="/account/keep").status_code == 303
    assert me(anonymous)["user_id"] == ann
