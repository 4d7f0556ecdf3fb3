"""What events name, said in the reader's language, and that nothing is recorded which cannot be."""

import ast
import re
from collections.abc import Iterator

from testkit.people import follow, post_form
from testkit.processes import ROOT
from webapp.audit import service
from webapp.audit.actions import Action
from webapp.audit.service import SYSTEM
from webapp.audit.targets import REASONS, THINGS, conversation_of, describe_target, reason
from webapp.db.base import write_transaction
from webapp.i18n.request_language import use_language

RECORDERS = {"record", "audit.record", "signals.note", "log_read", "record_admin_access", "audit.record_admin_access"}


def test_what_was_recorded_is_told_in_the_readers_language(app):
    two_days, auf_deutsch = "example.org: it failed for two days. ", "example.org: zwei Tage lang ohne Erfolg. "
    read, lesen = "Desk: read memory through MCP", "Desk: Gedächtnis über MCP lesen"
    cases = [
        (Action.SIGNED_IN, "Firefox on Linux", "Firefox unter Linux"),
        (Action.SESSION_ENDED, "1 session", "1 Sitzung"),
        (Action.SESSION_ENDED, "3 sessions", "3 Sitzungen"),
        (Action.MEMORIES_READ, "1 memory, 2 passages", "1 Erinnerung, 2 Passagen"),
        (Action.MEMORIES_CHANGED, "12 forgotten", "12 vergessen"),
        (Action.ADMIN_LOOKED, "messages of conversation 7", "Nachrichten der Unterhaltung 7"),
        (Action.EXPORT_MADE, "2 conversations", "2 Unterhaltungen"),
        (Action.PROGRAM_CONNECTED, read, lesen),
        (Action.PROGRAM_CONNECTED, f"{read}, see and change schedules through MCP",
         f"{lesen}, Zeitpläne über MCP sehen und ändern"),
        (Action.PROGRAM_DISCONNECTED, "A: b: a code was used twice", "A: b: ein Code wurde zweimal verwendet"),
        (Action.WEBHOOK_DISABLED, f"{two_days}It answered 500.", f"{auf_deutsch}Antwort: 500."),
        (Action.WEBHOOK_DISABLED, f"{two_days}It did not answer in time.", f"{auf_deutsch}Keine rechtzeitige Antwort."),
        (Action.WEBHOOK_DISABLED, f"{two_days}It answered with more than 65,536 bytes.",
         f"{auf_deutsch}Die Antwort war größer als 65,536 Bytes."),
    ]  # fmt: skip
    with app.app_context():
        for action, what, german in cases:
            with use_language("de"):
                assert describe_target(action, what) == german
            with use_language("en"):
                assert describe_target(action, what).casefold() == what.casefold()


def test_names_and_what_is_not_known_stay_as_they_are(app):
    cases = [
        (Action.TOKEN_CREATED, "all tokens"),
        (Action.PASSKEY_ADDED, "memories"),
        (Action.IMPORT_MADE, "conversation 5"),
        (Action.MEMORIES_READ, "2 memories, or so"),
        (Action.PROGRAM_CONNECTED, "Desk"),
        (Action.WEBHOOK_DISABLED, "example.org: 100 % broken %(name)s"),
        ("from_a_later_version", "3 sessions"),
        (Action.SIGNED_IN, ""),
    ]
    with app.app_context(), use_language("de"):
        for action, what in cases:
            assert describe_target(action, what) == what
        assert reason("anything else") == "anything else"


def test_what_programs_call_by_one_word_and_other_words_of_old_are_told_in_those_of_today(app):
    with app.app_context():
        with use_language("en"):
            assert describe_target(Action.EXPORT_MADE, "account") == "the whole account"
            assert describe_target(Action.ROLE_CHANGED, "no admin any more") == "no longer an admin"
            assert reason("the account is stopped") == "the account is deactivated"
        with use_language("de"):
            assert describe_target(Action.ADMIN_LOOKED, "memories") == "die Erinnerungen"
            assert describe_target(Action.ROLE_CHANGED, "no admin any more") == "kein Admin mehr"
            assert reason("the account is stopped") == "das Konto ist gesperrt"


def test_only_ones_own_conversations_are_linked():
    assert conversation_of(Action.SHARE_CREATED, "conversation 7") == 7
    assert conversation_of(Action.ADMIN_LOOKED, "digest of conversation 7") == 7
    assert conversation_of(Action.ADMIN_LOOKED, "memories") is None
    assert conversation_of(Action.IMPORT_MADE, "conversation 7") is None
    assert conversation_of(Action.SHARE_CREATED, "conversation 9" + "9" * 30) is None


def test_the_page_tells_and_links_them(app, user, browser):
    with app.app_context(), write_transaction():
        service.record(user.user_id, Action.SHARE_CREATED, "conversation 7", actor=SYSTEM)
        service.record(user.user_id, Action.IMPORT_MADE, "<b>notes</b>.json", actor=SYSTEM)
    page = browser.get("/settings/activity", headers={"Accept-Language": "de"}).text
    assert re.search(r'<a href="/c/7">Unterhaltung 7</a>', page)
    assert "&lt;b&gt;notes&lt;/b&gt;.json" in page


def test_a_revoked_token_is_named(browser):
    page = follow(browser, post_form(browser, "/settings/tokens", "/settings", access="full", token_name="Notes")).text
    path = max(re.findall(r"/settings/tokens/\d+/revoke", page), key=lambda found: int(found.split("/")[3]))
    post_form(browser, path, "/settings")
    event = browser.get("/api/audit").json["events"][0]
    assert (event["action"], event["what"]) == ("token_revoked", "Notes")


def test_every_text_that_is_recorded_is_known():
    """A `what` with words in it has its line in THINGS, or nobody can read it but in English."""
    samples = list(_recorded_texts())
    assert len(samples) > 20
    for place, action, what in samples:
        known = THINGS.get(action, ()) if action else [form for forms in THINGS.values() for form in forms]
        texts = [text for form in (*known, *REASONS) for text in ((form,) if isinstance(form, str) else form)]
        assert any(_fits(text, what) for text in texts), f"{place}: {what!r} has no line in webapp/audit/targets.py"


def _fits(text: str, what: str) -> bool:
    return re.fullmatch(r"\d".join(map(re.escape, re.split(r"%\(num(?:ber)?\)s", text))), what) is not None


def _recorded_texts() -> Iterator[tuple[str, str, str]]:
    """Place, action (empty where it differs) and a sample of every text with words in it that code records."""
    for path in sorted((ROOT / "webapp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or len(node.args) < 3:
                continue
            if ast.unparse(node.func) not in RECORDERS:
                continue
            action = _action(node.args[1])
            for text in _texts(node.args[2]):
                if re.search("[a-z]", text):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", action, text


def _action(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Action":
        return str(Action[node.attr])
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        # A plural's "s" is the only part that differs and is no number.
        yield "".join(
            part.value if isinstance(part, ast.Constant) else "s" if isinstance(part.value, ast.IfExp) else "7"
            for part in node.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        )
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
