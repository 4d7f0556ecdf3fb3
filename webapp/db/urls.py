"""The forms of DATABASE_URL."""

from importlib.util import find_spec
from pathlib import Path

_FORM = "it is mysql://user:password@host/name, or unset for SQLite"
_KINDS = ("mysql", "mariadb", "mysql+mysqldb", "sqlite")
_OPTIONS = {
    *("unix_socket", "charset", "use_unicode", "compress", "binary_prefix", "local_infile", "init_command", "sql_mode"),
    *("connect_timeout", "read_timeout", "write_timeout", "client_flag", "read_default_file", "read_default_group"),
    *("ssl_mode", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_key", "ssl_cipher"),
}


def sqlite_url(path: Path) -> str:
    """Return the URL of a file."""
    from sqlalchemy.engine import URL  # noqa: PLC0415 - 13 MB, which gunicorn's master on SQLite has no use for

    return str(URL.create("sqlite", database=str(path)))


def sqlalchemy_url(text: str) -> str:
    """Return the URL as SQLAlchemy takes it. Raises ValueError, without the password, if no connection can be made."""
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - as above
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - as above

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(f"cannot be read; {_FORM}") from None
    if url.drivername not in _KINDS:
        raise ValueError(f"begins with {url.drivername}://; {_FORM}")
    if not url.database:
        raise ValueError(f"names no database; {_FORM}")
    if url.drivername == "sqlite":
        return text
    if "@" in (url.host or ""):
        raise ValueError("has an @ in its password, which has to be written %40")
    if unknown := url.query.keys() - _OPTIONS:
        raise ValueError(f"has unknown options: {', '.join(sorted(unknown))}; known are {', '.join(sorted(_OPTIONS))}")
    if find_spec("MySQLdb") is None:
        raise ValueError("needs mysqlclient; `DATABASE_URL=mysql: python3 -m webapp.cli.prepare run` installs it")
    complete = url.set(drivername="mysql+mysqldb", query={"charset": "utf8mb4", **url.query})
    return complete.render_as_string(hide_password=False)
