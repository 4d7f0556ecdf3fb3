"""Error bodies as servers send them: their words, codes and waits, however they are wrapped; pure."""

import email.utils
import json
import math
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

_MAX_REASON_LENGTH = 200
_LONG_WORD = 16
_MAX_DEPTH = 6
_MARKUP = re.compile("<[a-zA-Z!/]")
_ERRORS = ("error", "detail", "errors")
_FINE = ("0", "200")  # codes beside words that tell of no error
_WAITS = ("retryDelay", "retry_after", "retry_after_seconds")
_OBJECTS = ("metadata", "error", "errors", "err", "fault", "base_resp")
"""The fields of an object with an error's words; what a provider passes on from another comes first."""
_WORDS = (
    "message",
    "detail",
    "msg",
    "raw",
    "status_msg",
    "error_description",
    "error_message",
    "error_msg",
    "faultstring",
    "reason",
    "error",
    "err",
    "title",
)
"""The fields of the words; in `error` beside a message some servers name the status."""


def error_fields(payload: object) -> tuple[str, set[str], int | None]:
    """Message, codes (lower case) and status found in an error body, however nested; for classification only."""
    message = _words_of(payload, _MAX_DEPTH)
    for _ in range(_MAX_DEPTH):
        if isinstance(payload, dict):
            inner = payload.get("error") or payload.get("errors")
        else:
            inner = payload[0] if isinstance(payload, list) and payload else None
        if not isinstance(inner, (dict, list)):
            break
        payload = inner
    if not isinstance(payload, dict):
        return message, set(), None
    values = {
        str(payload[name]).lower() for name in ("code", "type", "param", "status") if payload.get(name) is not None
    }
    status = next((int(code) for code in values if code.isdecimal() and len(code) == 3), None)
    return message, values, status


def is_error(payload: Mapping[str, Any], *, is_completion: bool) -> bool:
    """Return whether an object is an error; the words of a message alone make it one where a completion should be."""
    if payload.get("error") and error_fields(payload["error"])[0]:
        return True
    if payload.get("choices"):
        return False
    is_fine = payload.get("success") is True or str(payload.get("code")) in _FINE
    return any(map(payload.get, _ERRORS)) or (is_completion and not is_fine and bool(error_fields(payload)[0]))


def _words_of(value: object, depth: int) -> str:
    """Return the words in an error body; of several errors, those of each, after the field that it is about."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return (value[:1] in ("{", "[") and _words_of(json.loads(value), depth - 1)) or value
        return value
    if depth and isinstance(value, list):
        return "; ".join(filter(None, (_words_of(item, depth - 1) for item in value[:3])))
    if not depth or not isinstance(value, dict):
        return ""
    fields = {str(name).lower(): part for name, part in value.items()}
    parts = [fields.get(name) for name in _OBJECTS if not isinstance(fields.get(name), str)]
    parts += map(fields.get, _WORDS)
    words = next(filter(None, (_words_of(part, depth - 1) for part in parts)), "")
    place = value.get("loc")
    return f"{'.'.join(map(str, place))}: {words}" if words and isinstance(place, list) else words


def wait_in(payload: object, depth: int = _MAX_DEPTH) -> float | None:
    """Return the seconds to wait that an error body names, as Google's does, or None."""
    waits: list[float | None] = []
    if isinstance(payload, dict):
        waits = [_number(payload.get(name)) for name in _WAITS]
        payload = list(payload.values())
    if depth and isinstance(payload, list):
        waits += [wait_in(part, depth - 1) for part in payload]
    return next((wait for wait in waits if wait is not None), None)


def parse_retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return seconds to wait according to `retry-after-ms` or `Retry-After` (seconds or an HTTP date), or None."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    parsed = email.utils.parsedate_tz(value)
    if parsed is None:
        return None
    return max(0.0, email.utils.mktime_tz(parsed) - (time.time() if now is None else now))


def _number(value: object) -> float | None:
    try:
        number = float(str(value).removesuffix("s"))
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def clean_reason(message: str) -> str:
    """Return a provider's words as a person may read them: one line, no markup, and nothing like a URL or a key."""
    if _MARKUP.search(message):
        return ""
    if message.startswith("Traceback ("):
        message = message.rstrip().rpartition("\n")[2]
    words = ("…" if _is_private(word) else word for word in message.split())
    return " ".join(words)[:_MAX_REASON_LENGTH].strip()


def _is_private(word: str) -> bool:
    has_digits = any(char.isdigit() for char in word)
    return "://" in word or word.lstrip("(\"'").startswith("sk-") or (len(word) >= _LONG_WORD and has_digits)


def code_for_log(codes: set[str]) -> str | None:
    """Return one short identifier-like code, or None: free text must not reach the logs."""
    return next((c for c in sorted(codes) if len(c) <= 40 and c.replace("_", "").isalnum()), None)
