"""Where the command finds its server and token, and where it does not."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from webapp.cli.client import config, output
from webapp.cli.client.config import REFUSED, USAGE, Access, ClientError
from webapp.cli.client.http import _events


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(config.URL, raising=False)
    monkeypatch.delenv(config.TOKEN, raising=False)
    return tmp_path


def test_what_is_saved_is_found_and_private(home):
    config.save(Access("https://a.example", "cmpl_1"))
    config.save(Access("https://a.example", "cmpl_2"))
    place = home / "commonplace" / "config.json"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert list(place.parent.iterdir()) == [place]
    assert config.find(None) == Access("https://a.example", "cmpl_2")
    assert config.forget()
    assert not config.forget()


def test_a_saved_token_goes_nowhere_else_and_the_environment_comes_before_it(monkeypatch):
    config.save(Access("https://a.example", "cmpl_1"))
    with pytest.raises(ClientError) as refused:
        config.find("https://b.example")
    assert refused.value.exit_code == REFUSED
    assert config.find("https://a.example/") == Access("https://a.example", "cmpl_1")
    monkeypatch.setenv(config.TOKEN, "cmpl_3")
    monkeypatch.setenv(config.URL, "https://c.example/")
    assert config.find("https://b.example") == Access("https://b.example", "cmpl_3")
    assert config.find(None) == Access("https://c.example", "cmpl_3")
    for odd in ("cmpl_kqaNzt…", "cmpl_1\nx"):
        monkeypatch.setenv(config.TOKEN, odd)
        with pytest.raises(ClientError, match="not a token"):
            config.find("https://b.example")


@pytest.mark.parametrize("url", ["", "a", "ftp://a.b", "http://", "http://a?b", "file:///x", "http://[", "http://a:b"])
def test_addresses_that_are_none(url):
    with pytest.raises(ClientError) as refused:
        config.clean_url(url)
    assert refused.value.exit_code == USAGE


def test_a_broken_file_is_named(home):
    place = home / "commonplace" / "config.json"
    place.parent.mkdir()
    place.write_text("{")
    with pytest.raises(ClientError, match=r"config\.json"):
        config.find(None)


def test_nothing_commands_the_terminal():
    assert output.clean("a\x1b[31mred\x07\u202eb\r\nc\td") == "a[31mredb\nc\td"
    assert output.one_line("a\n  b\x00", 3) == "a b"
    assert output.one_line("abcdef", 4) == "abc…"


def test_events_are_read_line_by_line():
    lines = [
        ": ping",
        "",
        "event: delta",
        "id: 1-0:2",
        'data: {"text":',
        'data: "x"}',
        "",
        "data: 3",
        "",
        "event: x",
        "",
    ]
    assert list(_events(iter(lines))) == [("delta", "1-0:2", {"text": "x"}), ("message", "1-0:2", 3)]
