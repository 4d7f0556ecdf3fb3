"""The model and server that write a reply, and the settings of the adapters, as immutable values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

OPENAI_URL = "https://api.openai.com/v1"
LOADING_SECONDS = 180.0
"""How long a server of one's own may be silent: it may have to load the model, and stops that with the request."""
CHAT_PATH = "/chat/completions"
"""What a copied address may end with: a provider's example of a request names the whole of it."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Addresses of the models and how patient to be; times are in seconds.

    `first_token_timeout` bounds a reply's wait for a silent server, unless its measured speed prolongs that and
    `first_token_is_set` is false; `request_timeout` one that sends comments. An empty `api_key` is an error only for
    servers known to need one. The embedding URL and key default to the chat server's.
    """

    base_url: str = OPENAI_URL
    api_key: str = field(default="", repr=False)
    chat_model: str = "gpt-4o-mini"
    background_model: str = "gpt-4o-mini"
    embedding_model: str = "text-embedding-3-small"
    embedding_base_url: str = ""
    embedding_api_key: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    connect_timeout: float = 5.0
    first_token_timeout: float = 60.0
    first_token_is_set: bool = False
    idle_timeout: float = 30.0
    request_timeout: float = 120.0
    embedding_timeout: float = 30.0
    max_retries: int = 2
    retry_base: float = 0.5
    max_retry_wait: float = 20.0
    max_connections: int = 1024
    embedding_batch: int = 64

    def __post_init__(self) -> None:
        for url in filter(None, (self.base_url, self.embedding_base_url)):
            if urlsplit(url).scheme not in ("http", "https"):
                raise ValueError("the model server's address must start with http:// or https://")

    def with_embeddings(self, model: str) -> "ModelSettings":
        """Return the same server, with this model for embeddings."""
        return replace(self, embedding_model=model, embedding_base_url="", embedding_api_key="")

    def endpoint(self, *, embeddings: bool = False) -> tuple[str, str]:
        """Return the base URL and key of the chat or embedding server."""
        if embeddings and self.embedding_base_url:
            return self.embedding_base_url.rstrip("/"), self.embedding_api_key
        key = (self.embedding_api_key or self.api_key) if embeddings else self.api_key
        return self.base_url.rstrip("/").removesuffix(CHAT_PATH), key


def needs_key(base_url: str) -> bool:
    """Return whether this URL is known to refuse requests without a key."""
    return (urlsplit(base_url).hostname or "").endswith(("openai.com", "openrouter.ai"))


def is_loopback(base_url: str) -> bool:
    """Return whether the server runs on this machine, where a proxy from the environment must not be used."""
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def is_own(base_url: str) -> bool:
    """Return whether the URL is in this machine or network: a server that computes itself, and may be slow."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal"))


@dataclass(frozen=True, slots=True)
class Target:
    """A model, its server, and what is sent along; `id` is the name under which people chose it.

    `builtin_tools` tells whether arithmetic and dates are offered to it, `sees` whether it accepts pictures, if a test
    found out; `system` is added to the instructions of its conversations.
    """

    id: str
    model: str
    settings: ModelSettings
    parameters: Mapping[str, Any] = field(default_factory=dict)
    context_window: int | None = None
    builtin_tools: bool = True
    sees: bool | None = None
    system: str = ""
    prompt_speed: float | None = None
