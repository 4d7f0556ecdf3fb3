"""Model servers that answer on this machine, told in one line when everything runs; by hand, to stay small."""

import socket
from collections.abc import Mapping

LOCAL_SERVERS = "Ollama=http://127.0.0.1:11434/v1,llama.cpp=http://127.0.0.1:8080/v1,LM Studio=http://127.0.0.1:1234/v1"
"""Where they usually are, as in webapp/config.py, which is not imported here, to stay small."""
SECONDS = 0.3


def line_about_servers(environ: Mapping[str, str], url: str) -> str:
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
