"""What settings come to that are not given, or given only in part."""

import pytest
from sqlalchemy import make_url

from webapp.config import ConfigError, Settings


@pytest.mark.cases("environ", "seconds")
def test_a_silent_model_is_waited_for_longer_only_where_that_is_said(environ, seconds):
    assert Settings.from_env({"SECRET_KEY": "x" * 64, **environ}).model.first_token_timeout == seconds


@pytest.mark.cases("url", "reason")
def test_a_database_that_cannot_be_connected_to_is_refused_with_the_reason(url, reason):
    with pytest.raises(ConfigError, match=f"DATABASE_URL: .*{reason}") as error:
        Settings.from_env({"DATABASE_URL": url})
    assert "cret" not in str(error.value)


@pytest.mark.cases("url", "full")
def test_the_database_of_a_url(url, full):
    assert Settings.from_env({"DATABASE_URL": url}).sqlalchemy_url == full


@pytest.mark.cases("name", "value")
def test_an_address_that_is_none_is_named(name, value):
    with pytest.raises(ConfigError, match=rf"\n  {name}: (?!Value error)"):
        Settings.from_env({name: value})


@pytest.mark.parametrize("name", ["plain", "two words", "50%20", "what?x=1", "a#b&c", "Jürgen"])
def test_the_database_is_in_the_data_folder_whatever_that_is_called(name, tmp_path):
    url = make_url(Settings.from_env({"VAR_DIR": str(tmp_path / name)}).sqlalchemy_url)
    assert url.database == str(tmp_path / name / "commonplace.sqlite3")
