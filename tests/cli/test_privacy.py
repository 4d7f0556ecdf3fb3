"""Data of an installation is readable by its owner only, whoever made it first and with what umask."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.processes import ROOT
from webapp import create_app
from webapp.cli.launch.privacy import is_open_to_others, is_ours, keep_private
from webapp.config import Settings


@pytest.fixture(autouse=True)
def _generous_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_was_made_first_by_others_is_closed(tmp_path):
    var, outside = tmp_path / "var", tmp_path / "data.sqlite3"
    (var / "files" / "ab").mkdir(parents=True)
    for path in (var / "commonplace.sqlite3", var / "commonplace.sqlite3-wal", var / "secret_key", outside):
        path.write_text("x")
        path.chmod(0o664)
    assert all(map(is_open_to_others, (var, var / "files", outside)))
    keep_private(var, outside)
    assert mode(var) == mode(var / "files") == 0o700
    assert {mode(path) for path in (*var.glob("*.sqlite3*"), var / "secret_key", outside)} == {0o600}
    (var / "later").write_text("x")
    assert mode(var / "later") == 0o600


def test_the_application_makes_its_data_private(tmp_path):
    var = tmp_path / "var"
    app = create_app(Settings(var_dir=var, openai_base_url="http://127.0.0.1:9/v1"), serving=False)
    with app.app_context():
        sqlite3.connect(var / "commonplace.sqlite3").execute("CREATE TABLE t (x)").connection.close()
    assert mode(var) == 0o700
    assert mode(var / "secret_key") == mode(var / "commonplace.sqlite3") == 0o600


@pytest.mark.parametrize("folder", [Path("/"), Path("/tmp"), Path("/srv"), Path.home(), ROOT])
def test_a_folder_that_is_not_only_ours_stays_as_it_is(folder):
    assert not is_ours(folder)


def test_a_link_to_elsewhere_is_not_followed_and_a_device_left_open(tmp_path):
    var, elsewhere = tmp_path / "var", tmp_path / "elsewhere"
    elsewhere.write_text("x")
    elsewhere.chmod(0o644)
    var.mkdir()
    (var / "secret_key").symlink_to(elsewhere)
    os.mkfifo(tmp_path / "device", 0o666)  # as sqlite:////dev/null, which everybody needs to write to
    keep_private(var, tmp_path / "device")
    assert mode(tmp_path / "device") == 0o666
    assert mode(elsewhere) == 0o644
