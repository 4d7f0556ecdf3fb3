"""What settings come to that are not given, or given only in part."""

import pytest
from sqlalchemy import make_url

from webapp.config import ConfigError, Settings


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, 60),
        ({"MODEL_FIRST_TOKEN_TIMEOUT": "20"}, 20),
        ({"MODEL_REQUEST_TIMEOUT": "900"}, 900),
        ({"MODEL_REQUEST_TIMEOUT": "30"}, 60),
        ({"MODEL_REQUEST_TIMEOUT": "900", "MODEL_FIRST_TOKEN_TIMEOUT": "20"}, 20),
    ],
)
def test_a_silent_model_is_waited_for_longer_only_where_that_is_said(environ, seconds):
    assert Settings.from_env({"SECRET_KEY": "x" * 64, **environ}).model.first_token_timeout == seconds


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgres://u@h/x", "begins with postgres://"),
        ("mysql+pymysql://u@h/x", "begins with mysql"),
        ("nonsense", "cannot be read"),
        ("mysql://u:p@h:port/x", "cannot be read"),
        ("mysql://u:p@h", "names no database"),
        ("sqlite://", "names no database"),
        ("mysql://u:se@cret@h/x", "written %40"),
        ("mysql://u:p@h/x?ssl-mode=REQUIRED", "unknown options: ssl-mode; known .* ssl_mode"),
    ],
)
def test_a_database_that_cannot_be_connected_to_is_refused_with_the_reason(url, reason):
    with pytest.raises(ConfigError, match=f"DATABASE_URL: .*{reason}") as error:
        Settings.from_env({"DATABASE_URL": url})
    assert "cret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("mysql://u:p%40@h/x", "mysql+mysqldb://u:p%40@h/x?charset=utf8mb4"),
        ("mariadb:///x?unix_socket=/s&charset=utf8", "mysql+mysqldb:///x?charset=utf8&unix_socket=%2Fs"),
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
    ],
)
def test_the_database_of_a_url(url, full):
    assert Settings.from_env({"DATABASE_URL": url}).sqlalchemy_url == full


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "redis://localhost:port"),
        ("REDIS_URL", "redis://localhost?protocol=3"),
        ("REDIS_URL", "redis://localhost?decode_responses=true"),
        ("REDIS_URL", "redis://localhost?no_such_thing=1"),
        ("REDIS_URL", "redis://localhost/zero"),
        ("PORT", "99999"),
        ("OIDC_ISSUER", "id.example.org"),
        ("OPENAI_BASE_URL", "localhost:11434"),
        ("EMBEDDING_BASE_URL", "ftp://x"),
        ("SITE_URL", "chat.example.org"),
        ("CORS_ORIGINS", "https://a.example, b.example"),
        ("CORS_ORIGINS", "https://a.example/page"),
    ],
)
def test_an_address_that_is_none_is_named(name, value):
    with pytest.raises(ConfigError, match=rf"\n  {name}: (?!Value error)"):
        Settings.from_env({name: value})


@pytest.mark.parametrize("name", ["plain", "two words", "50%20", "what?x=1", "a#b&c", "Jürgen"])
def test_the_database_is_in_the_data_folder_whatever_that_is_called(name, tmp_path):
    url = make_url(Settings.from_env({"VAR_DIR": str(tmp_path / name)}).sqlalchemy_url)
    assert url.database == str(tmp_path / name / "commonplace.sqlite3")
