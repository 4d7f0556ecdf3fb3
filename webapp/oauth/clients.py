"""Checks what a program says about itself: its name, its redirect URLs, how it authenticates; pure."""

import re
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

from webapp.http.validation import Line

AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")
GRANT_TYPES = ("authorization_code", "refresh_token")
_HOST = re.compile(r"[\w.:-]+", re.ASCII)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OF_BROWSERS = frozenset(
    ("about", "blob", "brave", "chrome", "chrome-extension", "content", "data", "edge", "file", "filesystem", "ftp")
    + ("intent", "jar", "javascript", "mailto", "moz-extension", "opera", "resource", "view-source", "vbscript", "ws")
    + ("wss",)
)
"""Schemes that browsers, or Android for them, open by themselves."""
MAX_URI, MAX_URIS, MAX_ID = 1_000, 20, 255


class Metadata(BaseModel):
    """The data that a program registers, or its document gives (RFC 7591); what is not named here has no effect."""

    client_name: Line = Field("", max_length=100)
    redirect_uris: list[str] = Field(min_length=1, max_length=MAX_URIS)
    token_endpoint_auth_method: Literal["none", "client_secret_post", "client_secret_basic"] = "none"  # noqa: S105
    grant_types: list[str] = ["authorization_code"]
    response_types: list[str] = ["code"]

    @field_validator("redirect_uris")
    @classmethod
    def _check_redirect_uris(cls, uris: list[str]) -> list[str]:
        for uri in uris:
            if problem := redirect_problem(uri):
                raise ValueError(problem)
        return uris

    @field_validator("grant_types", "response_types")
    @classmethod
    def _check_code_flow(cls, values: list[str]) -> list[str]:
        if not {"authorization_code", "code"} & set(values):
            raise ValueError("has to include the authorization code flow; there is no other")
        return values

    @property
    def name(self) -> str:
        """Return the name people see."""
        return self.client_name.strip() or "A program without a name"


def redirect_problem(uri: str) -> str:
    """Return why a URL cannot be a redirect target; empty if it can.

    Allowed are https, http to the person's own machine, and apps' own schemes: a domain name backwards (RFC 8252, 7.1),
    or one followed by `//` and a host, as editors use (`cursor://anysphere…`), if no browser handles it itself.
    """
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return "holds something that is no address"
    if len(uri) > MAX_URI or not uri.isascii() or not uri.isprintable() or " " in uri or "\\" in uri:
        return "holds something that is no address"
    if parts.fragment or "#" in uri or parts.username or parts.password:
        return "must have neither a fragment nor a password"
    if parts.scheme == "https":
        # The host becomes part of the consent page's policy.
        return "" if _HOST.fullmatch(host) else "holds an address without a host"
    if parts.scheme == "http":
        return "" if host in _LOOPBACK else "may be http only on the person's own machine"
    is_an_apps = _is_reversed_domain(parts.scheme) or (bool(parts.netloc) and parts.scheme not in _OF_BROWSERS)
    return "" if is_an_apps else "holds a scheme that cannot be used"


def is_registered(uri: str, registered: list[str]) -> bool:
    """Return whether a program registered a URL: exactly, or with another port on the person's own machine."""
    if redirect_problem(uri):
        return False
    return uri in registered or (
        _is_local(uri) and any(_is_local(known) and _without_port(known) == _without_port(uri) for known in registered)
    )


def redirect_label(uri: str) -> str:
    """Return the redirect target as shown to people: a host, their own machine, or an app."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return "this computer" if parts.hostname in _LOOPBACK else parts.netloc
    return f"an app ({parts.scheme}:)"


def form_target(uri: str) -> str:
    """Return what a content security policy has to allow so that a form can lead to a URL."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def is_document_id(client_id: str) -> bool:
    """Return whether a program's id is the URL of its own document."""
    try:
        parts = urlsplit(client_id)
    except ValueError:
        return False
    return (
        parts.scheme == "https"
        and bool(parts.hostname)
        and parts.path not in ("", "/")
        and not (parts.query or parts.fragment or parts.username or parts.password)
        and not any(step in (".", "..") for step in parts.path.split("/"))
        and len(client_id) <= MAX_ID
        and client_id.isascii()
        and client_id.isprintable()
    )


def answer(client_id: str, metadata: Metadata, **more: Any) -> dict[str, Any]:
    """Return the response to a program that has registered."""
    return {
        "client_id": client_id,
        "client_name": metadata.name,
        "redirect_uris": metadata.redirect_uris,
        "grant_types": list(GRANT_TYPES),
        "response_types": ["code"],
        "token_endpoint_auth_method": metadata.token_endpoint_auth_method,
        **more,
    }


def _is_reversed_domain(scheme: str) -> bool:
    labels = scheme.split(".")
    return len(labels) > 1 and all(label and label[0] not in "-+" and label[-1] not in "-+" for label in labels)


def _is_local(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in _LOOPBACK


def _without_port(uri: str) -> tuple[str | None, str, str]:
    parts = urlsplit(uri)
    return parts.hostname, parts.path or "/", parts.query
