"""Settings that would be unsafe are refused at the start, with the name of the variable; log lines cannot be forged."""

from __future__ import annotations

import logging

import pytest

from webapp import create_app
from webapp.config import ConfigError, Settings
from webapp.logs import JsonFormatter, TextFormatter


@pytest.mark.parametrize("name", ["SECRET_KEY", "TOMBSTONE_KEYS"])
def test_a_short_secret_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}.*shorter than 16"):
        Settings.from_env({name: "x" * 15})
    assert Settings.from_env({name: "x" * 16})
    with pytest.raises(ConfigError):
        Settings.from_env({"TOMBSTONE_KEYS": "x" * 16 + ",short"})


@pytest.mark.parametrize(
    ("setting", "value"),
    [("login_rate", "ten a minute"), ("message_rate", "120"), ("oidc_issuer", "https://id.example")],
)
def test_what_cannot_work_is_refused_at_the_start(settings: Settings, setting: str, value: str) -> None:
    """A rate that is none was a 500 for everybody who signed in."""
    named = "OIDC_CLIENT_ID" if setting == "oidc_issuer" else setting.upper()
    with pytest.raises(ConfigError, match=named):
        create_app(settings.model_copy(update={setting: value}))


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
@pytest.mark.parametrize("hostile", ["/a\n12:00 INFO forged", "/a\x1b[2Jb", "/a\x9b31mb", "/a\u2028b", "/a\rb"])
def test_what_is_sent_forges_no_line_and_commands_no_terminal(formatter: logging.Formatter, hostile: str) -> None:
    record = logging.makeLogRecord({"name": "webapp.access", "msg": "request", "levelname": "INFO", "path": hostile})
    line = formatter.format(record)
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert "/a" in line
