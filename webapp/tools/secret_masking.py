"""Servers that repeat what they were sent: keys are masked in their answers before anybody reads them; pure."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[key]"
SHORTEST = 8
"""Shorter keys (in characters) are left in: masking them would hit ordinary words."""
_HEADERS = ("authorization", "x-subscription-token")


def keys_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets in a request's headers, in every form in which they may come back; the longest first."""
    sent = [value.removeprefix("Bearer ") for name, value in headers.items() if name.lower() in _HEADERS]
    forms = {
        form for key in sent if len(key) >= SHORTEST for form in (key, quote(key), quote(key, ""), quote_plus(key))
    }
    return tuple(sorted(forms, key=len, reverse=True))


def mask(value: Any, keys: tuple[str, ...]) -> Any:
    """Return a value read from JSON, with these keys masked. Raises RecursionError for one that is too deep."""
    if not keys:
        return value
    if isinstance(value, str):
        for key in keys:
            value = value.replace(key, MASK)
        return value
    if isinstance(value, list):
        return [mask(part, keys) for part in value]
    if isinstance(value, dict):
        return {mask(name, keys): mask(part, keys) for name, part in value.items()}
    return value
