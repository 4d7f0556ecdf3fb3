"""Asking servers on this machine whether they answer: our own web, and model servers; by hand, to stay small."""

import socket
from collections.abc import Mapping

REQUEST = b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n"


class Probe:
    """One question at a time to /readyz: `ask`, then `answer` when its socket can be read, and `close` after that."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._received = b""
        self.socket: socket.socket | None = None

    def ask(self) -> socket.socket | None:
        """Send the question; the socket to watch, or None if nobody listens."""
        try:
            # The launcher itself holds the listening socket, so connecting never has to wait.
            self.socket = socket.create_connection(self._address, timeout=1)
            self.socket.sendall(REQUEST)
            self.socket.setblocking(False)
        except OSError:
            self.close()
        return self.socket

    def answer(self) -> tuple[int, str] | None:
        """Status and body once the whole answer is here, (0, "") if it broke off, None if there is more to come."""
        assert self.socket is not None
        try:
            data = self.socket.recv(65_536)
        except BlockingIOError:
            return None
        except OSError:
            return (0, "")
        if data:
            self._received += data
            return None
        head, _, body = self._received.partition(b"\r\n\r\n")
        words = head.split(None, 2)
        return (int(words[1]) if len(words) > 1 and words[1].isdigit() else 0, body.decode(errors="replace").strip())

    def close(self) -> None:
        """Be done with the question, if there is one."""
        if self.socket is not None:
            self.socket.close()
        self.socket, self._received = None, b""


def accepts_connections(path: str) -> bool:
    """Return whether a server listens on this Unix socket."""
    with socket.socket(socket.AF_UNIX) as attempt:
        try:
            attempt.connect(path)
        except OSError:
            return False
    return True


LOCAL_SERVERS = "Ollama=http://127.0.0.1:11434/v1,llama.cpp=http://127.0.0.1:8080/v1,LM Studio=http://127.0.0.1:1234/v1"
"""Where they usually are, as in webapp/config.py, which is not imported here, to stay small."""
SECONDS = 0.3


def describe_servers(environ: Mapping[str, str], url: str) -> str:
    """Return what to tell of them; empty if the environment names a server, or nobody wants to know."""
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"):
        return ""
    if environ.get("FIND_LOCAL_MODELS", "").lower() in ("0", "false", "no", "off"):
        return ""
    pairs = (item.partition("=") for item in (environ.get("LOCAL_MODEL_SERVERS") or LOCAL_SERVERS).split(","))
    names = [name.strip() for name, _, address in pairs if _answers(address.strip())]
    place = f"{url}/admin/models/new"
    if not names:
        return f"No model server answers on this machine. Connect a model at {place}"
    return f"Found on this machine: {', '.join(names)}. Use it at {place}"


def _answers(address: str) -> bool:
    """Return whether a list of models is at a URL on this machine."""
    place, _, path = address.removeprefix("http://").partition("/")
    host, _, port = place.rpartition(":")
    if not port.isdigit():
        return False
    request = f"GET /{path}/models HTTP/1.0\r\nHost: {place}\r\n\r\n"
    try:
        with socket.create_connection((host, int(port)), SECONDS) as server:
            server.sendall(request.encode())
            return server.recv(16).split(b" ")[1:2] == [b"200"]
    except (OSError, OverflowError, UnicodeError):
        return False
