"""The URL of a Redis behind Sentinel, from REDIS_URL."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

SCHEMES = ("redis+sentinel", "rediss+sentinel")
PORT = 26_379
SHAPES = {"protocol", "legacy_responses", "decode_responses", "encoding", "encoding_errors"}
"""Parameters of redis-py's by which answers come in another form than the one that is read here."""


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """The Sentinels, the name of the master they watch, and our credentials for the servers and for the Sentinels."""

    service: str
    sentinels: tuple[tuple[str, int], ...]
    db: int = 0
    user: str = ""
    password: str = ""
    sentinel_user: str = ""
    sentinel_password: str = ""
    tls: bool = False

    @classmethod
    def parse(cls, url: str) -> "SentinelAddress | None":
        """Return what a URL of one of SCHEMES says; None for any other URL. Raises ValueError if it cannot be read."""
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:
            return None
        credentials, _, hosts = parts.netloc.rpartition("@")
        user, _, password = credentials.partition(":")
        service, _, db = parts.path.strip("/").partition("/")
        if not service or not hosts:
            raise ValueError("is not redis+sentinel://host:port,host:port/name-of-the-master")
        if db and not db.isdecimal():
            raise ValueError("has no number of a database after the name of the master")
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if unknown := options.keys() - {"sentinel_user", "sentinel_password"}:
            raise ValueError(f"has parameters that are not known: {', '.join(sorted(unknown))}")
        return cls(
            unquote(service),
            tuple(_host(host) for host in hosts.split(",")),
            int(db or 0),
            unquote(user),
            unquote(password),
            options.get("sentinel_user", ""),
            options.get("sentinel_password", ""),
            parts.scheme == "rediss+sentinel",
        )


def check_url(url: str) -> None:
    """Raise ValueError for a URL, of Sentinels or of a server, that cannot be used."""
    parts = urlsplit(url)
    if SentinelAddress.parse(url) or (parts.scheme == "unix" and not parts.query):
        return
    from redis import ConnectionPool  # noqa: PLC0415 - 7 MB, for gunicorn's master, whose Redis is one of make run's

    pool = ConnectionPool.from_url(url)
    if refused := sorted(SHAPES & pool.connection_kwargs.keys()):
        raise ValueError(f"may not say in which form answers come: leave out {', '.join(refused)}")
    parts = urlsplit(url)
    if parts.scheme != "unix" and parts.path.strip("/") and not parts.path.strip("/").isdecimal():
        raise ValueError("has no number of a database after the host")
    try:
        pool.make_connection()
    except TypeError as error:
        raise ValueError(f"has a parameter that is not known: {error}") from None


def _host(text: str) -> tuple[str, int]:
    """Return a host and its port; an IPv6 address is in brackets."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        raise ValueError(f"names no host in {text!r}")
    return host, port or PORT
