"""The page meant by a URL that only forms send to, when it is typed in or reloaded after a failed form."""

from __future__ import annotations

import re

from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter, RequestRedirect

_MEANT = {
    "/memories": "/memory",
    "/facts": "/memory",
    "/imports": "/transfer",
    "/exports": "/transfer",
    "/conversations": "/organise",
    "/folders": "/organise",
}
"""Pages whose URL differs from the word in the form's URL."""
_TURN = re.compile(r"/turns/(\d+)\Z")


def page_meant(adapter: MapAdapter, path: str) -> str:
    """The nearest page at or above a URL that does not answer GET; the first page if there is none."""
    while path:
        if found := _page(adapter, path):
            return found
        path = path.rpartition("/")[0]
    return "/"


def _page(adapter: MapAdapter, path: str) -> str | None:
    path = _TURN.sub(r"/messages/\1", path)
    if path in _MEANT:
        return _MEANT[path]
    try:
        adapter.match(path, method="GET")
    except RequestRedirect:
        return path
    except HTTPException:
        return None
    return path
