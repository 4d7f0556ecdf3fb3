"""Asking our own web whether it is ready, without waiting for the answer."""

import socket

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
    """True if a server listens on this Unix socket."""
    with socket.socket(socket.AF_UNIX) as attempt:
        try:
            attempt.connect(path)
        except OSError:
            return False
    return True
