"""E-mail about accounts against a real SMTP server: joining, a new password, a confirmed address, an invitation."""

import email
import html
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.header import decode_header, make_header
from email.message import Message
from typing import Any
from urllib.parse import unquote, urlencode

import pytest
from aiosmtpd.controller import Controller
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select, text, update

from testkit.people import Person, csrf_token, post_form
from testkit.processes import free_port
from tests.support.queries import execute, scalar, scalars
from webapp.accounts import mails, tokens
from webapp.accounts.mail_pages import init_mail
from webapp.accounts.mail_texts import JOIN, KINDS, compose
from webapp.accounts.models import AccountMail, ApiToken, Passkey, User, UserIdentity
from webapp.accounts.schemas import NewToken
from webapp.accounts.smtp import MailUnavailable, send
from webapp.admin.doctor import checks
from webapp.admin.doctor.checks import run_checks
from webapp.audit.models import AuditEvent
from webapp.config import ConfigError, Settings
from webapp.db.base import add_row, db, now, write_transaction
from webapp.i18n import LANGUAGES, SOURCE
from webapp.i18n.request_language import use_language
from webapp.oauth.models import OAuthClient, OAuthCode, OAuthGrant
from webapp.schedules.models import ScheduleFeed
from webapp.shell import upkeep
from webapp.webhooks.models import Webhook

GOOD = "a heron on the tide mill"
SITE = "https://chat.example.org"
Jobs = Callable[..., Any]


class Postman:
    """What an SMTP server does with a message: keeps it, or answers something else."""

    def __init__(self) -> None:
        self.letters: list[Message] = []
        self.answer = ""

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:
        if self.answer:
            return self.answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        self.letters.append(email.message_from_bytes(envelope.content))
        return "250 OK"


@pytest.fixture
def postman(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Postman]:
    """A mail server, and an application that uses it."""
    found = Postman()
    controller = Controller(found, hostname="127.0.0.1", port=free_port())
    controller.start()
    given = {"smtp_host": "127.0.0.1", "smtp_port": controller.port, "smtp_tls": "none", "site_url": SITE}
    settings = app.extensions["settings"].model_copy(update={**given, "smtp_from": "Commonplace <chat@example.org>"})
    monkeypatch.setitem(app.extensions, "settings", settings)
    init_mail(app, settings)
    app.jinja_env.spoken.clear()
    yield found
    controller.stop()
    app.jinja_env.globals["sends_mail"] = False
    app.jinja_env.spoken.clear()


def link(letter: Message) -> str:
    """The path of the link in a letter."""
    found = re.search(rf"^{SITE}(/\S*)\s*$", str(letter.get_payload(decode=True), "utf-8"), re.MULTILINE)
    assert found, letter
    return found[1]


def wait(run_jobs: Jobs, postman: Postman, count: int = 1) -> Message:
    run_jobs()
    assert len(postman.letters) == count
    return postman.letters[-1]


def ask(browser: FlaskClient, address: str, path: str = "/register/mail", page: str = "/register") -> Any:
    answer = post_form(browser, path, page, email=address)
    return browser.get(answer.location) if answer.status_code == 303 else answer


def test_without_mail_everything_is_as_it_was(anonymous, user):
    assert 'name="password"' in anonymous.get("/register").text
    assert "Forgot" not in anonymous.get("/login").text
    for path in ("/forgot-password", "/join", "/reset-password", "/verify-email"):
        assert anonymous.get(path).status_code == 404


def test_the_first_account_is_not_made_by_a_mail_but_as_before(postman, anonymous, run_jobs, app):
    """The page of the first account may ask for the set-up token; a link would be a way around it."""
    assert ask(anonymous, "stranger@example.org").status_code == 403
    run_jobs()
    assert postman.letters == []
    assert scalar(app, select(AccountMail.mail_id)) is None
    form = {"name": "Ada", "email": "ada@example.org", "password": GOOD}
    assert post_form(anonymous, "/register", "/register", **form).status_code == 303


def test_joining_by_a_link(postman, anonymous, run_jobs, make_user, app):
    make_user(is_admin=True)
    assert 'name="password"' not in anonymous.get("/register").text
    sent = ask(anonymous, "New@Example.org")
    assert sent.status_code == 200 and "Check your e-mail" in sent.text
    letter = wait(run_jobs, postman)
    assert letter["To"] == "new@example.org" and letter["Auto-Submitted"] == "auto-generated"
    path = link(letter)
    assert "new@example.org" in anonymous.get(path).text
    weak = post_form(anonymous, path, path, name="New", password="password1")
    assert weak.status_code == 422 and "too common" in weak.text
    assert post_form(anonymous, path, path, name="New", password=GOOD).status_code == 303
    assert "new@example.org" in anonymous.get("/settings").text
    assert app.test_client().get(path).status_code == 410
    (user,) = scalars(app, select(User).where(User.email == "new@example.org"))
    assert user.email_verified_at is not None and not user.is_admin


CONSENT = "/oauth/authorize?client_id=desk&state=a%2Fb"


def test_who_was_on_the_way_somewhere_gets_there_after_the_mail(postman, anonymous, run_jobs, make_user, app):
    """A program sends somebody who has no account yet, or has forgotten the password, to its consent page."""
    make_user(is_admin=True)
    forms = _targets(anonymous.get("/login", query_string={"next": CONSENT}).text)
    assert [unquote(path).partition("=")[2] for path in forms if path.startswith(("/register", "/forgot"))] == [
        CONSENT
    ] * 2
    (path,) = {
        path for path in _targets(anonymous.get("/register", query_string={"next": CONSENT}).text) if "mail" in path
    }
    ask(anonymous, "new@example.org", path)
    followed = link(wait(run_jobs, postman))
    joined = post_form(anonymous, followed, followed, name="New", password=GOOD)
    assert joined.location == CONSENT
    browser = app.test_client()
    ask(browser, "new@example.org", f"/forgot-password?{urlencode({'next': CONSENT})}", "/forgot-password")
    followed = link(wait(run_jobs, postman, 2))
    done = post_form(browser, followed, followed, password="quite another long one")
    assert unquote(done.location) == f"/login?next={CONSENT}"


def test_a_mail_leads_to_no_other_site(postman, anonymous, run_jobs, make_user):
    make_user(is_admin=True)
    for number, target in enumerate(("https://evil.example", "//evil.example", "/" + "x" * 3_000), start=1):
        address = f"new{number}@example.org"
        ask(anonymous, address, f"/register/mail?{urlencode({'next': target})}")
        path = link(wait(run_jobs, postman, number))
        assert post_form(anonymous, path, path, name="New", password=GOOD).location == "/"
        post_form(anonymous, "/logout", "/settings")


def _targets(page: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(r'(?:href|action)="([^"]*next=[^"]*)"', page)]


def test_registering_reveals_no_account(postman, anonymous, run_jobs, user, app):
    there, free = ask(anonymous, user.email), ask(anonymous, "free@example.org")
    assert there.status_code == free.status_code == 200
    assert _bare(there.text) == _bare(free.text)
    run_jobs()
    told = {letter["To"]: letter["Subject"] for letter in postman.letters}
    assert told == {
        user.email: "You already have an account on Commonplace",
        "free@example.org": "Your account on Commonplace",
    }
    # Nor does the form that makes accounts where no mail is sent.
    token = csrf_token(anonymous.get("/register").text)
    form = {"name": "x", "email": user.email, "password": GOOD, "csrf_token": token}
    assert anonymous.post("/register", data=form).status_code == 403
    unknown = ask(anonymous, "nobody@example.org", "/forgot-password", "/forgot-password")
    known = ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    assert _bare(unknown.text) == _bare(known.text) and "Check your e-mail" in known.text
    of_resets = select(AccountMail.email).where(AccountMail.kind == "reset").order_by(AccountMail.mail_id)
    assert scalars(app, of_resets) == ["nobody@example.org", user.email]
    run_jobs()
    assert [letter["To"] for letter in postman.letters[2:]] == [user.email]
    sent = post_form(anonymous, "/forgot-password", "/forgot-password", email="nobody@example.org")
    assert sent.status_code == 303, "a reload asks for no second mail"


def _bare(page: str) -> str:
    return re.sub(r'(csrf_token" value|X-CSRFToken": )="?[^"]*|"X-CSRFToken": "[^"]*"', "", page)


def test_closed_registration_sends_nothing(postman, anonymous, run_jobs, admin_browser):
    post_form(admin_browser, "/admin/registration", "/admin", open="0")
    token = csrf_token(anonymous.get("/login").text)
    refused = anonymous.post("/register/mail", data={"email": "a@example.org", "csrf_token": token})
    assert refused.status_code == 403
    run_jobs()
    assert postman.letters == []


def test_a_forgotten_password(postman, anonymous, run_jobs, user, login, app):
    elsewhere = login(user)
    ask(anonymous, user.email.upper(), "/forgot-password", "/forgot-password")
    path = link(wait(run_jobs, postman))
    done = post_form(anonymous, path, path, password="quite another long one")
    assert done.status_code == 303 and done.location == "/login"
    assert elsewhere.get("/settings").status_code == 303, "every session ends"
    signed_in = post_form(anonymous, "/login", "/login", email=user.email, password="quite another long one")
    assert signed_in.status_code == 303
    assert post_form(anonymous, path, "/settings", password="and a third long one").status_code == 410


@pytest.fixture
def access_counts(app: Flask, user: Person) -> dict[str, Callable[[], int]]:
    """An account into which one thing of each kind gets besides the password; how many of each there are."""
    with app.app_context(), write_transaction():
        client = OAuthClient(client_id="desk", name="The desk", redirect_uris=["https://desk.example/"])
        delegated, _ = tokens.create_delegated(
            user.user_id, NewToken(name="The desk", scopes=["mcp"]), space_ids=None, expires_at=now()
        )
        add_row(client)
        ids = {"user_id": user.user_id, "client_number": client.client_number, "scope": "mcp"}
        db.session.add_all(
            [
                OAuthGrant(token_id=delegated.token_id, expires_at=now() + timedelta(days=9), **ids),
                OAuthCode(code_hash="x", redirect_uri="https://desk.example/", challenge="x", **ids),
                Passkey(
                    user_id=user.user_id, name="The phone", credential_hash="x", credential_id=b"x", public_key=b"x"
                ),
                UserIdentity(user_id=user.user_id, issuer="https://id.example", subject="1"),
                Webhook(user_id=user.user_id, url="https://hooks.example/x", kinds=",x,", secret="x"),
                ScheduleFeed(user_id=user.user_id, digest="x", created_at=datetime(2026, 3, 14, tzinfo=UTC)),
            ]
        )

    def count(*statements: Any) -> Callable[[], int]:
        def total() -> int:
            return sum(scalar(app, statement) or 0 for statement in statements)

        return total

    def query(model: Any, *where: Any) -> Any:
        return select(func.count()).select_from(model).where(model.user_id == user.user_id, *where)

    return {
        "tokens": count(query(ApiToken, ApiToken.revoked_at.is_(None), ApiToken.is_delegated.is_(False))),
        "programs": count(
            query(OAuthGrant), query(OAuthCode), query(ApiToken, ApiToken.revoked_at.is_(None), ApiToken.is_delegated)
        ),
        "passkeys": count(query(Passkey)),
        "providers": count(query(UserIdentity)),
        "webhooks": count(query(Webhook)),
        "calendar": count(query(ScheduleFeed)),
    }


@pytest.mark.parametrize("kept", [None, "", "tokens", "programs", "passkeys", "providers", "webhooks", "calendar"])
def test_a_new_password_shuts_out_what_got_in_without_it(postman, anonymous, run_jobs, user, access_counts, kept):
    """Unless its box is unticked; `kept` is None for a form that does not ask."""
    ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    path = link(wait(run_jobs, postman))
    page = anonymous.get(path).text
    for name in ("test", "The desk", "The phone", "https://id.example", "hooks.example", "2026-03-14"):
        assert name in page
    assert page.count('name="ended"') == page.count(" checked>") == len(access_counts)
    form: dict[str, Any] = {"listed": list(access_counts), "ended": [name for name in access_counts if name != kept]}
    weak = post_form(anonymous, path, path, password="password1", **form)
    assert weak.status_code == 422 and weak.text.count(" checked>") == len(form["ended"])
    assert all(count() for count in access_counts.values())
    if kept is None:
        form = {}
    assert post_form(anonymous, path, path, password="quite another long one", **form).status_code == 303
    assert [name for name, count in access_counts.items() if count()] == ([kept] if kept else [])


def test_a_link_dies_with_a_new_password_its_time_and_any_change(postman, anonymous, run_jobs, user, app):
    ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    path = link(wait(run_jobs, postman))
    assert anonymous.get(path).status_code == 200
    for spoiled in (
        path[:-1] + ("0" if path[-1] != "0" else "1"),
        "/reset-password",
        path + "0",
        "/reset-password?token=é.x",
    ):
        assert anonymous.get(spoiled).status_code == 410
    assert anonymous.get(path.replace("/reset-password", "/join")).status_code == 410
    execute(app, update(User).values(auth_version=User.auth_version + 1))
    assert anonymous.get(path).status_code == 410
    with app.app_context(), write_transaction():
        db.session.execute(update(User).values(auth_version=User.auth_version - 1))
        db.session.execute(update(AccountMail).values(created_at=now() - timedelta(hours=2)))
    assert anonymous.get(path).status_code == 410


def test_confirming_an_address(postman, run_jobs, user, app, browser):
    assert "confirm this address" in browser.get("/settings").text
    assert post_form(browser, "/settings/verify-email", "/settings").status_code == 303
    path = link(wait(run_jobs, postman))
    assert app.test_client().get(path).status_code == 200
    assert "confirm this address" in browser.get("/settings").text, "looking at it is not enough"
    assert post_form(app.test_client(), path, path).status_code == 303
    assert "confirm this address" not in browser.get("/settings").text
    events = scalars(app, select(AuditEvent.action).where(AuditEvent.user_id == user.user_id))
    assert "email_verified" in events


def test_inviting_while_registration_is_closed(postman, anonymous, run_jobs, login, make_user):
    boss, friend = make_user(is_admin=True, name="Ada"), make_user()
    admin = login(boss)
    post_form(admin, "/admin/registration", "/admin", open="0")
    assert post_form(login(friend), "/admin/invitations", "/settings", email="x@example.org").status_code == 403
    assert post_form(admin, "/admin/invitations", "/admin/users", email=friend.email).status_code == 303
    assert "already has an account" in admin.get("/admin/users").text
    assert post_form(admin, "/admin/invitations", "/admin/users", email="guest@example.org").status_code == 303
    letter = wait(run_jobs, postman)
    assert "Ada invites you" in str(letter.get_payload(decode=True), "utf-8")
    path = link(letter)
    assert post_form(anonymous, path, path, name="Guest", password=GOOD).status_code == 303


def test_nobody_is_flooded(postman, anonymous, run_jobs, user):
    for _ in range(mails.PER_HOUR + 3):
        assert ask(anonymous, user.email, "/forgot-password", "/forgot-password").status_code == 200
    wait(run_jobs, postman, mails.PER_HOUR)


def test_a_server_that_is_away_gets_it_later_and_once(postman, anonymous, run_jobs, user, app):
    postman.answer = "451 try later"
    ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    run_jobs(failures=True)
    assert postman.letters == []
    postman.answer = ""
    with app.app_context():
        (mail_id,) = db.session.scalars(select(AccountMail.mail_id)).all()
        with write_transaction():
            db.session.execute(update(AccountMail).values(created_at=AccountMail.created_at))
        for number, ended in ((mail_id, "sent"), (mail_id, "nothing to do"), (0, "nothing to do")):
            with write_transaction():
                assert mails.send(number) == ended
    assert len(postman.letters) == 1


def test_a_job_that_was_lost_is_found_by_the_sweep(postman, anonymous, run_jobs, user, app):
    ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    app.extensions["redis"].flushdb()
    with app.app_context():
        with write_transaction():
            db.session.execute(update(AccountMail).values(created_at=now() - timedelta(minutes=5)))
        upkeep.sweep()
    wait(run_jobs, postman)


def test_one_that_was_sent_by_a_job_that_died_comes_again_as_the_same(postman, anonymous, run_jobs, user, app):
    for _ in range(2):
        ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    run_jobs()
    with app.app_context(), write_transaction():
        db.session.execute(update(AccountMail).values(sent_at=None))
        mail_ids = db.session.scalars(select(AccountMail.mail_id)).all()
    with app.app_context():
        assert [mails.send(mail_id) for mail_id in mail_ids] == ["sent", "sent"]
    ids = [letter["Message-ID"] for letter in postman.letters]
    assert len(set(ids)) == 2 and ids[:2] == ids[2:]


def test_an_address_that_is_refused_for_good_is_not_tried_again(postman, anonymous, run_jobs, user, app):
    postman.answer = "550 no such user"
    ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    run_jobs()
    with app.app_context():
        mail = db.session.scalars(select(AccountMail)).one()
        assert mail.is_refused and mail.sent_at is not None and mails.overdue_mails() == []


def test_old_rows_are_purged(postman, anonymous, user, app):
    ask(anonymous, user.email, "/forgot-password", "/forgot-password")
    with app.app_context():
        with write_transaction():
            db.session.execute(update(AccountMail).values(created_at=now() - timedelta(days=31)))
        upkeep.purge()
        assert db.session.scalar(text("SELECT COUNT(*) FROM account_mails")) == 0


@pytest.mark.parametrize("lacking", ["smtp_from", "site_url"])
def test_what_is_missing_to_send_mail_is_said_at_the_start(app, lacking):
    given = {"smtp_host": "mail", "smtp_from": "a@example.org", "site_url": SITE, lacking: ""}
    with pytest.raises(ConfigError, match=lacking.upper()):
        init_mail(app, Settings(**given))
    app.jinja_env.globals["sends_mail"] = False


def test_a_server_that_is_not_there(postman, app, monkeypatch):
    with app.app_context():
        assert [finding.state for finding in run_checks((checks.mail,))] == ["ok"] and postman.letters == []
    settings = Settings(smtp_host="127.0.0.1", smtp_port=9, smtp_from="a@example.org", smtp_tls="none")
    with pytest.raises(MailUnavailable) as raised:
        send(settings, "secret@example.org", "s", "t", "1")
    assert "secret" not in str(raised.value)
    monkeypatch.setitem(app.extensions, "settings", settings)
    with app.app_context():
        (finding,) = run_checks((checks.mail,))
    assert finding.state == "fault" and "127.0.0.1:9 cannot be used (ConnectionRefusedError)" in finding.text


@pytest.mark.parametrize("kind", KINDS)
def test_each_mail_is_plain_and_says_what_to_do(app, kind):
    with app.app_context():
        written = compose(kind, SITE + "/", "1.token")
    assert f"{SITE}/" in written.body and "\n" not in written.subject and "ignore this e-mail" in written.body
    assert ("1.token" in written.body) == (kind != "known")


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != SOURCE])
@pytest.mark.parametrize("kind", KINDS)
def test_each_mail_can_be_written_in_every_language(app, kind, language):
    with app.app_context():
        english = compose(kind, SITE, "1.token", "Ann")
        with use_language(language):
            written = compose(kind, SITE, "1.token", "Ann")
    assert written.subject != english.subject and "\n" not in written.subject
    said, in_english = (set(text.body.splitlines()) - {""} for text in (written, english))
    (shared,) = said & in_english
    assert shared.startswith(SITE)  # the link, on a line of its own
    assert ("Ann" in written.body) == (kind == JOIN)


def test_a_mail_is_in_the_language_of_its_account_and_else_of_whoever_asks(app, anonymous, user, postman, run_jobs):
    with app.app_context(), write_transaction():
        row = db.session.get(User, user.user_id)
        assert row is not None
        row.settings = {**(row.settings or {}), "language": "fr"}
    headers = {"Accept-Language": "de-AT, en;q=0.5"}
    for page, path, address in (
        ("/forgot-password", "/forgot-password", user.email),
        ("/register", "/register/mail", user.email),
        ("/register", "/register/mail", "new@example.org"),
    ):
        token = csrf_token(anonymous.get(page, headers=headers).text)
        anonymous.post(path, data={"email": address, "csrf_token": token}, headers=headers)
    run_jobs()
    subjects = [str(make_header(decode_header(letter["Subject"]))) for letter in postman.letters]
    assert subjects == [
        "Un nouveau mot de passe pour Commonplace",
        "Vous avez déjà un compte Commonplace",
        "Dein Konto bei Commonplace",
    ]
