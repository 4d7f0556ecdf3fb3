"""Settings that would be unsafe are refused at the start, with the name of the variable; log lines cannot be forged."""

import json
import logging
import sys

import pytest
from flask import url_for

from webapp import create_app
from webapp.accounts.access import access_of
from webapp.config import ConfigError, Settings
from webapp.telemetry.logs import JsonFormatter, TextFormatter


@pytest.mark.parametrize("name", ["SECRET_KEY", "TOMBSTONE_KEYS"])
def test_a_short_secret_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name}.*shorter than 16"):
        Settings.from_env({name: "x" * 15})
    assert Settings.from_env({name: "x" * 16})
    with pytest.raises(ConfigError):
        Settings.from_env({"TOMBSTONE_KEYS": "x" * 16 + ",short"})


@pytest.mark.parametrize(
    ("setting", "value"),
    [("login_rate", "ten a minute"), ("message_rate", "120"), ("oidc_issuer", "https://id.example")],
)
def test_what_cannot_work_is_refused_at_the_start(settings, setting, value):
    """A rate that is none was a 500 for everybody who signed in."""
    named = "OIDC_CLIENT_ID" if setting == "oidc_issuer" else setting.upper()
    with pytest.raises(ConfigError, match=named):
        create_app(settings.model_copy(update={setting: value}))


HOSTILE = [
    "\n12:00 INFO forged",
    "\x1b[2Jb",
    "\x9b31mb",
    "\u2028b",
    "\rb",
    "\x7f",
    "\xad",
    "\u202eb",
    "\U000e0041",
    "\ud800",
]


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_is_sent_forges_no_line_and_commands_no_terminal(formatter, hostile):
    fields = {"name": "webapp.access", "msg": f"request{hostile}", "levelname": "INFO", "path": f"/a{hostile}"}
    line = formatter.format(logging.makeLogRecord(fields))
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert "/a" in line
    if isinstance(formatter, JsonFormatter):
        assert json.loads(line)["path"] == fields["path"]


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_neither_does_what_an_exception_says(formatter, hostile):
    try:
        raise ValueError(f"no such file: x{hostile}")
    except ValueError:
        record = logging.makeLogRecord({"name": "jobs", "msg": "failed", "exc_info": sys.exc_info()})
    first, *others = formatter.format(record).split("\n")
    assert all(line.isprintable() and line.splitlines() == [line] for line in (first, *others))
    assert all(line.startswith("  ") for line in others)


def test_a_value_ends_where_its_field_does():
    """A path of spaces and equal signs was read as fields of their own."""
    record = logging.makeLogRecord({"name": "webapp.access", "msg": "request", "path": "/a status=200", "status": 404})
    assert TextFormatter().format(record).endswith('path="/a status=200" status=404')


def test_no_log_opens_what_an_address_opens(app, anonymous, caplog):
    """Whoever read the log had every shared link and calendar that was opened."""
    rules = [rule for rule in app.url_map.iter_rules() if access_of(app, rule.endpoint) == "public" and rule.arguments]
    with caplog.at_level(logging.INFO, "webapp.access"), app.test_request_context():
        for rule in rules:
            anonymous.get(url_for(rule.endpoint, **dict.fromkeys(rule.arguments, "AllYouNeed")))
    paths = {record.path for record in caplog.records if record.name == "webapp.access"}
    assert {"/s/…", "/schedules/….ics", "/deleted/…"} <= paths and "AllYouNeed" not in str(paths)
