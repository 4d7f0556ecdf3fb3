"""Lines from bytes that the network may cut anywhere; pure."""

from .errors import MalformedOutput

MAX_EVENT_BYTES = 8 * 1024 * 1024
MAX_ANSWER_BYTES = 128 * 1024 * 1024
"""A thousand bytes around each of as many tokens as no model writes: who sends more will never end."""


class LineSplitter:
    """Bytes in, complete lines out; lines end with LF, CR or CR LF, as server-sent events allow."""

    __slots__ = ("_after_cr", "_size", "_tail", "_total")

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._size = self._total = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by `chunk`, without their ends. Raises MalformedOutput for too much."""
        self._total += len(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        lines = chunk.splitlines()
        self._after_cr = chunk.endswith(b"\r")
        last = b"" if chunk.endswith((b"\r", b"\n")) else lines.pop()
        if lines:
            lines[0] = self.rest() + lines[0]
        self._tail.append(last)
        self._size += len(last)
        if self._size > MAX_EVENT_BYTES or self._total > MAX_ANSWER_BYTES:
            raise MalformedOutput("The model server sent more than an answer can be.", retryable=False)
        return lines

    def rest(self) -> bytes:
        """Return what was left unterminated at the end of the stream."""
        tail, self._tail, self._size = b"".join(self._tail), [], 0
        return tail
