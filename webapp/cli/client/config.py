"""The server and the token for it, from the environment or a file only its owner may read; errors and exit codes."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import click

FAILED, USAGE, REFUSED, UNKNOWN, UNREACHABLE = 1, 2, 3, 4, 5
"""Exit codes: the server refused; the command is wrong; the token is missing or insufficient; not found; the server
cannot be reached. 130 is Ctrl-C."""
INTERRUPTED = 130


class ClientError(click.ClickException):
    """A sentence for the caller, on standard error; the exit code; and the HTTP status if there was one."""

    def __init__(self, message: str, code: int = FAILED, *, status: int = 0) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]  # click's own errors say it per class
        self.status = status


URL, TOKEN = "COMMONPLACE_URL", "COMMONPLACE_TOKEN"
DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Access:
    """A server's URL, without a trailing slash, and a token that a header can hold. Raises ClientError."""

    url: str
    token: str

    def __post_init__(self) -> None:
        if not self.token.isascii() or not self.token.isprintable():
            raise ClientError("This is not a token: it has characters that no token has.", REFUSED)


def path() -> Path:
    """Return the file, in the configuration folder that XDG defines."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".config"
    return folder / "commonplace" / "config.json"


def read_config() -> Access | None:
    """Return what `login` wrote; None if there is no file. Raises ClientError if it cannot be read."""
    try:
        data = json.loads(path().read_text("utf-8"))
        return Access(clean_url(data["url"]), str(data["token"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClientError(f"{path()} cannot be read ({error}). Run `commonplace login` again.", USAGE) from None


def save(access: Access) -> None:
    """Write the file; only its owner can read it, at any moment."""
    place = path()
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = place.with_name(f"{place.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"url": access.url, "token": access.token}, file, indent=2)
        file.write("\n")
    draft.replace(place)


def forget() -> bool:
    """Remove the file; returns whether there was one."""
    try:
        path().unlink()
    except FileNotFoundError:
        return False
    return True


def find(url: str | None) -> Access:
    """Return the access to use, a saved token only for its URL. Raises ClientError without a token."""
    settings = read_config()
    base = clean_url(url or os.environ.get(URL) or (settings.url if settings else DEFAULT_URL))
    token = os.environ.get(TOKEN, "").strip()
    if not token and settings is not None and settings.url == base:
        token = settings.token
    if not token:
        raise ClientError(f"There is no token for {base}. Run `commonplace login`, or set {TOKEN}.", REFUSED)
    return Access(base, token)


def clean_url(url: str) -> str:
    """Return a URL as it is compared and used. Raises ClientError for anything other than http and https."""
    try:
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError
        _ = parts.port  # which raises ValueError, too
    except ValueError:
        raise ClientError(
            f"{url!r} is not the address of a server. It should look like https://commonplace.example.org", USAGE
        ) from None
    return url.strip().rstrip("/")
