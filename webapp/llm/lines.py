"""Lines from bytes that the network may cut anywhere; pure."""

from .errors import MalformedOutput

MAX_EVENT_BYTES = 8 * 1024 * 1024


class LineSplitter:
    """Bytes in, complete lines out; lines end with LF, CR or CR LF, as server-sent events allow."""

    __slots__ = ("_after_cr", "_tail")

    def __init__(self) -> None:
        self._tail = b""
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by `chunk`, without their ends."""
        if not chunk:
            return []
        if self._after_cr:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        data = self._tail + chunk if self._tail else chunk
        lines = data.splitlines()
        if data.endswith(b"\r"):
            self._after_cr = True
            self._tail = b""
        elif data.endswith(b"\n") or not lines:
            self._tail = b""
        else:
            self._tail = lines.pop()
            if len(self._tail) > MAX_EVENT_BYTES:
                raise MalformedOutput("The model server sent an event that is too large.")
        return lines

    def rest(self) -> bytes:
        """Return what was left unterminated at the end of the stream."""
        tail, self._tail = self._tail, b""
        return tail
