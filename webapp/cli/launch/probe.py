"""Asking servers on this machine whether they answer: our own web, and model servers; by hand, to stay small."""

import contextlib
import socket
from collections.abc import Mapping

SECONDS = 1.0
"""How long a server on this machine may take to be reached, and to send an answer that it has begun."""


def ask(address: tuple[str, int], path: str, name: str = "localhost", seconds: float = SECONDS) -> socket.socket | None:
    """Ask a server, by its name, for a path; return the socket the answer will come on, None if nobody listens."""
    try:
        question = socket.create_connection(address, seconds)
    except (OSError, OverflowError, UnicodeError):
        return None
    # What breaks off here breaks off for whoever reads the answer, too.
    with contextlib.suppress(OSError, UnicodeError):
        question.sendall(f"GET {path} HTTP/1.0\r\nHost: {name}\r\n\r\n".encode())
    return question


def parse_answer(received: bytes) -> tuple[int, str]:
    """Return the status and the body of an answer; 0 if it broke off."""
    head, _, body = received.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    return (int(words[1]) if len(words) > 1 and words[1].isdigit() else 0, body.decode(errors="replace").strip())


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
MODEL_SECONDS = 0.3


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
    question = ask((host, int(port)), f"/{path}/models", place, MODEL_SECONDS) if port.isdigit() else None
    if question is None:
        return False
    with question, contextlib.suppress(OSError):
        return parse_answer(question.recv(4_096))[0] == 200  # its first line is enough
    return False
