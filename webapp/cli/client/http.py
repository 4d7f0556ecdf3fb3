"""Requests to the JSON API, with the standard library only: JSON, event streams, uploads and downloads."""

import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

import click

from webapp.cli.client import config
from webapp.cli.client.config import FAILED, REFUSED, UNKNOWN, UNREACHABLE, Access, ClientError

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 120.0
CHUNK = 256 * 1024
_CODES = {401: REFUSED, 403: REFUSED, 404: UNKNOWN}


class BrokenStream(Exception):
    """A stream broke off."""


class Server:
    """A server, called as the owner of a token."""

    def __init__(self, access: Access) -> None:
        self._url = urlsplit(access.url)
        self._token = access.token
        self.url = access.url

    def get(self, path: str, **query: Any) -> Any:
        """Return the response to a GET; parameters that are None are left out."""
        parameters = {name: value for name, value in query.items() if value is not None}
        return self._json("GET", path + (f"?{urlencode(parameters)}" if parameters else ""))

    def rows(self, path: str, name: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, page by page; `name` is their field."""
        cursor = None
        while True:
            page = self.get(path, **query, cursor=cursor)
            yield from page[name]
            cursor = page["next_cursor"]
            if not cursor:
                return

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the response to a POST, which carries an Idempotency-Key."""
        return self._json("POST", path, body or {}, {"Idempotency-Key": uuid.uuid4().hex})

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the answer to a change."""
        return self._json("PATCH", path, body)

    def delete(self, path: str) -> Any:
        """Return the response to a DELETE."""
        return self._json("DELETE", path)

    def events(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[tuple[str, str, Any]]:
        """Name, id and data of a stream's events as they arrive. Raises BrokenStream if the connection breaks."""
        with closing(self._open(method, path, body, headers)) as answer:
            yield from _events(_lines(answer))

    def upload(self, path: str, name: str, file: IO[bytes], size: int, fields: Mapping[str, str]) -> Any:
        """Send a file of `size` bytes as a form, piece by piece."""
        mark = uuid.uuid4().hex
        head = b"".join(
            f'--{mark}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
            for field, value in fields.items()
        )
        safe = "".join(sign for sign in name if sign.isprintable() and sign not in '"\\')
        head += f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{safe}"\r\n'.encode()
        head += b"Content-Type: application/octet-stream\r\n\r\n"
        tail = f"\r\n--{mark}--\r\n".encode()

        def pieces() -> Iterator[bytes]:
            yield head
            while piece := file.read(CHUNK):
                yield piece
            yield tail

        headers = {
            "Content-Type": f"multipart/form-data; boundary={mark}",
            "Content-Length": str(len(head) + size + len(tail)),
            "Idempotency-Key": uuid.uuid4().hex,
        }
        with closing(self._open("POST", path, pieces(), headers)) as answer:
            return _parse(answer.read())

    def download(self, path: str, into: Callable[[bytes], Any]) -> None:
        """Pass the bytes of a file to `into` as they arrive. Raises ClientError if there are fewer than announced."""
        with closing(self._open("GET", path)) as answer:
            try:
                while piece := answer.read(CHUNK):
                    into(piece)
            except (HTTPException, OSError) as error:
                raise ClientError(
                    f"The connection to {self.url} broke: {error or type(error).__name__}.", UNREACHABLE
                ) from None
            if answer.length:
                raise ClientError(f"The connection to {self.url} broke in the middle of the file.", UNREACHABLE)

    def _json(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        with closing(self._open(method, path, body, headers)) as answer:
            try:
                return _parse(answer.read())
            except (HTTPException, OSError) as error:
                raise self._unreachable(error) from None

    def _open(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> HTTPResponse:
        """Return the response, once its headers are there. Raises ClientError for anything but a success."""
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=CONNECT_SECONDS)
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "User-Agent": "commonplace-cli"}
        if isinstance(body, Mapping):
            sent["Content-Type"], body = "application/json", json.dumps(body).encode()
        try:
            connection.connect()
            connection.sock.settimeout(ANSWER_SECONDS)
            connection.request(method, self._url.path + path, body, {**sent, **(headers or {}), "Connection": "close"})
            answer = connection.getresponse()
        except (HTTPException, OSError) as error:
            connection.close()
            raise self._unreachable(error) from None
        if answer.status >= 300:
            with closing(answer):
                raise self._error_of(answer)
        return answer

    def _unreachable(self, error: Exception) -> ClientError:
        return ClientError(f"{self.url} cannot be reached: {error or type(error).__name__}", UNREACHABLE)

    def _error_of(self, answer: HTTPResponse) -> ClientError:
        if answer.status < 400:  # a redirect: the token must not be sent anywhere else
            location = answer.headers.get("Location", "somewhere else")
            return ClientError(
                f"{self.url} answers from {location}. Run `commonplace login` with that address.", FAILED
            )
        try:
            problem = _parse(answer.read(65_536))
        except (HTTPException, OSError):
            problem = None
        report = problem if isinstance(problem, dict) else {}
        fields = "; ".join(
            f"{'.'.join(map(str, item.get('loc', [])))}: {item.get('msg', '')}" for item in report.get("errors") or []
        )
        text = fields or report.get("detail") or report.get("title") or f"It answered {answer.status} {answer.reason}."
        if wait := answer.headers.get("Retry-After"):
            text += f" (again in {wait} s)"
        return ClientError(
            text, UNREACHABLE if answer.status == 503 else _CODES.get(answer.status, FAILED), status=answer.status
        )


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw.strip() else None
    except ValueError:
        raise ClientError("What is answering at this address is not Commonplace.", FAILED) from None


def _lines(answer: HTTPResponse) -> Iterator[str]:
    try:
        for line in answer:
            yield line.decode("utf-8", "replace").rstrip("\r\n")
    except (HTTPException, OSError) as error:
        raise BrokenStream(str(error)) from None


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str, Any]]:
    name, event_id = "", ""
    data: list[str] = []
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield name or "message", event_id, json.loads("\n".join(data))
            name, data = "", []
        elif field == "event":
            name = value
        elif field == "id":
            event_id = value
        elif field == "data":
            data.append(value)


as_json = click.option("--json", "as_json", is_flag=True, help="Answer with JSON.")
in_space = click.option("--space", "space_id", type=click.IntRange(min=1), metavar="ID", help="In this space.")


def server() -> Server:
    """Return the server that the command talks to. Raises ClientError without a token."""
    return Server(config.find(click.get_current_context().find_root().obj))


def read_piped_input() -> str:
    """Return what is piped in; empty in a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def words(parts: Sequence[str]) -> str:
    """Return the words of a command as one text; a lone `-` stands for piped input and is not a word."""
    return "" if tuple(parts) == ("-",) else " ".join(parts).strip()
