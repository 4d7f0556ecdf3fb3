"""Typed settings, read once from the environment and `.env`."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from webapp.db.urls import sqlalchemy_url, sqlite_url
from webapp.environment import BOOT_ERROR, LaunchError, complete
from webapp.llm.settings import LOADING_SECONDS, OPENAI_URL, ModelSettings, is_own
from webapp.network.outbound import AllowedHosts
from webapp.redis.urls import check_url

MIN_SECRET = 16
"""Characters below which a secret can be guessed."""


class ConfigError(RuntimeError):
    """A setting in the environment is missing or malformed; the message names it."""


@contextmanager
def exit_on_config_error() -> Iterator[None]:
    """End the process with the message of a ConfigError, and without a traceback."""
    try:
        yield
    except ConfigError as error:
        print(error, file=sys.stderr)
        raise SystemExit(BOOT_ERROR) from None


LOCAL_SERVERS = "Ollama=http://127.0.0.1:11434/v1,llama.cpp=http://127.0.0.1:8080/v1,LM Studio=http://127.0.0.1:1234/v1"
"""Where these listen by default."""
FIRST_TOKEN_SECONDS = 60.0


class Settings(BaseModel):
    """Everything an installation can set; each field is read from the variable of its name in capitals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Where things are
    var_dir: Path = Path("var")
    database_url: str = ""
    redis_url: str = "redis://127.0.0.1:6379/0"
    secret_key: str = ""
    tombstone_keys: str = ""

    # The web
    port: int = Field(8000, ge=0, le=65_535)
    web_concurrency: int = Field(2, ge=1)
    web_threads: int = Field(600, ge=1)
    session_cookie_secure: bool = False
    trusted_proxies: int = Field(0, ge=0, le=5)
    registration_open: bool = True
    session_days: int = Field(30, ge=1)
    # Signing in at an OpenID provider, besides passwords
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: str = ""
    oidc_name: str = "single sign-on"
    oidc_scope: str = "openid email profile"
    oidc_email_claim: str = "email"  # or several, separated by commas
    oidc_email_verified_claim: str = "email_verified"
    oidc_email_verified: Literal["claim", "always"] = "claim"
    oidc_groups_claim: str = "groups"
    oidc_admin_group: str = ""
    oidc_create: bool = True
    oidc_spaces: str = ""  # which groups belong to which spaces, as JSON: {"staff": [3], "board": [3, 4]}
    cors_origins: str = ""  # whose pages may use /v1, /mcp and /api with a token, separated by commas
    # The address of the site: where links in mail, shared links and other programs lead
    site_url: str = ""
    # E-mail about accounts
    smtp_host: str = ""
    smtp_port: int = Field(587, ge=1, le=65_535)
    smtp_user: str = ""
    smtp_password: str = ""
    smtp_from: str = ""
    smtp_tls: Literal["starttls", "tls", "none"] = "starttls"
    session_max_days: int = Field(90, ge=1)
    # Hosts and networks inside this one where webhooks and program descriptions may be: 10.0.0.0/8, hooks.lan
    outbound_allow: str = ""
    # Days within which somebody who deletes their account can change their mind; 0 deletes it at once
    account_grace_days: int = Field(7, ge=0, le=365)
    audit_days: int = Field(365, ge=1)
    # A message of a megabyte takes up three if every character of it is escaped.
    max_request_bytes: int = Field(4 * 1024 * 1024, ge=65_536)
    image_edge: int = Field(1_280, ge=256, le=4_096)
    max_file_bytes: int = Field(32 * 1024**2, ge=65_536)
    # A bucket that speaks S3's protocol, for attachments; without one they are kept in VAR_DIR/files
    s3_bucket: str = ""
    s3_endpoint: str = Field("", pattern=r"^(https?://\S+)?$")
    s3_region: str = "us-east-1"
    s3_access_key: str = ""
    s3_secret_key: str = ""
    s3_prefix: str = Field("", pattern=r"^[\w./-]*$")
    max_import_bytes: int = Field(8 * 1024**3, ge=65_536)
    rate_limits: bool = True
    login_rate: str = "10 per minute; 60 per hour"
    message_rate: str = "120 per minute"
    database_pool: int = Field(20, ge=2)
    database_seconds: int = Field(60, ge=1)

    # The model
    openai_api_key: str = ""
    openai_base_url: str = ""
    chat_model: str = ""
    background_model: str = ""
    embedding_model: str = ""
    context_tokens: int = Field(16_000, ge=512)
    reply_tokens: int = Field(2_048, ge=64)
    suggestions: bool = True
    # Journeys kept beside the shipped ones, in JSON or YAML
    journeys_folder: Path | None = None
    schedules_per_person: int = Field(50, ge=0, le=10_000)
    # What was retrieved for a reply, as excerpts; less if the window is small
    retrieved_tokens: int = Field(1_500, ge=0, le=100_000)
    model_connect_timeout: float = Field(5.0, gt=0)
    # How long a reply waits for a silent model, with all tries; unset: 60, or MODEL_REQUEST_TIMEOUT if longer
    model_first_token_timeout: float | None = Field(None, gt=0)
    model_idle_timeout: float = Field(45.0, gt=0)
    model_tools: bool = True
    # Whether MCP servers that people add for themselves may be inside the network
    tool_servers_inside: bool = False
    model_request_timeout: float = Field(120.0, gt=0)
    model_retries: int = Field(2, ge=0, le=10)
    offline_model: bool = False
    # Servers on this machine, name=address with commas between, offered to an admin while no model is connected
    find_local_models: bool = True
    local_model_servers: str = LOCAL_SERVERS

    # Embeddings: from the model server, one of their own, or a packaged model (200 MB; one for all at the socket)
    embedder: Literal["server", "local", "multilingual"] = "server"
    embedder_socket: str = ""
    embedding_base_url: str = ""
    embedding_api_key: str = ""
    embedding_query_seconds: float = Field(0.25, gt=0)

    # Retrieval, summaries and digests
    index_cache_mb: int = Field(64, ge=1)
    index_wait_seconds: float = Field(0.3, ge=0)
    summary_threshold: int = Field(30, ge=4)
    summary_batch: int = Field(20, ge=2)
    digest_idle_minutes: int = Field(60, ge=0)

    # Turns
    turn_lease_seconds: float = Field(10.0, gt=1)
    turn_drain_seconds: float = Field(20.0, ge=0)
    max_turns_per_process: int = Field(1_000, ge=1)

    # Logs
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "text"] = "json"

    # Traces, under OpenTelemetry's names: where a collector listens, its headers, the share of traces that is kept
    otel_exporter_otlp_endpoint: str = ""
    otel_exporter_otlp_headers: str = ""
    otel_service_name: str = "commonplace"
    otel_traces_sampler_arg: float = Field(1.0, ge=0, le=1)

    @field_validator("otel_exporter_otlp_endpoint", "site_url", "oidc_issuer", "openai_base_url", "embedding_base_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("is not an address that begins with http:// or https://")
        return value

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, value: str) -> str:
        for item in value.replace("*", "").split(","):
            if not re.fullmatch(r"([\w+.-]+://[^/]+/?)?", item.strip()):
                raise ValueError(f"{item.strip()} is not the origin of a page, like https://app.example.org")
        return value

    @property
    def otel_headers(self) -> dict[str, str]:
        """Return the headers for the collector, from percent-encoded `name=value` pairs separated by commas."""
        pairs = (pair.partition("=") for pair in self.otel_exporter_otlp_headers.split(",") if "=" in pair)
        return {name.strip(): unquote(value.strip()) for name, _, value in pairs}

    @field_validator("outbound_allow", "oidc_spaces", "database_url", "redis_url")
    @classmethod
    def _parses(cls, value: str, info: ValidationInfo) -> str:
        if value:
            _PARSERS[info.field_name or ""](value)
        return value

    @property
    def spaces_of_groups(self) -> dict[str, list[int]]:
        """Return the ids of the spaces that a group's people become members of, by the group's name."""
        return _groups(self.oidc_spaces)

    @property
    def outbound_allowed(self) -> AllowedHosts:
        """Return what may be reached even though it is inside this network."""
        return AllowedHosts.parse(self.outbound_allow)

    @field_validator("secret_key", "tombstone_keys")
    @classmethod
    def _long_enough(cls, value: str, info: ValidationInfo) -> str:
        keys = value.split(",") if info.field_name == "tombstone_keys" else [value]
        if value and any(len(key.strip()) < MIN_SECRET for key in keys):
            raise ValueError(f"is shorter than {MIN_SECRET} characters; `openssl rand -hex 32` makes a good one")
        return value

    @property
    def local_servers(self) -> dict[str, str]:
        """Return addresses of model servers to look for on this machine, by name."""
        listed = self.local_model_servers.split(",") if self.find_local_models else ()
        pairs = (item.partition("=") for item in listed if "=" in item)
        return {name.strip(): address.strip().rstrip("/") for name, _, address in pairs}

    @property
    def sqlalchemy_url(self) -> str:
        """Return the database URL SQLAlchemy understands; SQLite in `var_dir` when none is set."""
        if not self.database_url:
            return sqlite_url(self.var_dir.absolute() / "commonplace.sqlite3")
        return sqlalchemy_url(self.database_url)

    def first_token_seconds(self, base_url: str) -> float:
        """Return how long a reply waits for a model that has sent nothing."""
        if self.model_first_token_timeout is not None:
            return self.model_first_token_timeout
        least = LOADING_SECONDS if is_own(base_url) else FIRST_TOKEN_SECONDS
        is_slow = "model_request_timeout" in self.model_fields_set
        return max(least, self.model_request_timeout if is_slow else 0.0)

    @property
    def model(self) -> ModelSettings:
        """Return the model server and the models on it; what is not set falls back to the adapters' defaults."""
        fields: dict[str, Any] = {
            "base_url": self.openai_base_url,
            "api_key": self.openai_api_key,
            "chat_model": self.chat_model,
            "background_model": self.background_model or self.chat_model,
            "embedding_model": self.embedding_model,
            "embedding_base_url": self.embedding_base_url,
            "embedding_api_key": self.embedding_api_key,
        }
        return ModelSettings(
            **{name: value for name, value in fields.items() if value},
            connect_timeout=self.model_connect_timeout,
            first_token_timeout=self.first_token_seconds(self.openai_base_url or OPENAI_URL),
            first_token_is_set=self.model_first_token_timeout is not None,
            idle_timeout=self.model_idle_timeout,
            request_timeout=self.model_request_timeout,
            max_retries=self.model_retries,
        )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Return this process's settings, completed from `.env`; empty is unset. Raises ConfigError with all names."""
        if environ is None:
            environ = os.environ
            try:
                complete(os.environ)
            except LaunchError as error:
                raise ConfigError(str(error)) from None
        values = {name: environ[name.upper()] for name in cls.model_fields if environ.get(name.upper())}
        try:
            return cls(**values)
        except ValidationError as error:
            lines = [f"{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors()]
            text = "\n  ".join(lines).replace(": Value error, ", ": ")  # pydantic's words for a validator of ours
            raise ConfigError(f"Settings that cannot be read:\n  {text}") from None


def _groups(text: str) -> dict[str, list[int]]:
    try:
        return TypeAdapter(dict[str, list[PositiveInt]]).validate_json(text or "{}", strict=True)
    except ValidationError:
        raise ValueError('is not JSON of groups and space ids, like {"staff": [3]}') from None


_PARSERS: dict[str, Callable[[str], object]] = {
    "outbound_allow": AllowedHosts.parse,
    "oidc_spaces": _groups,
    "database_url": sqlalchemy_url,
    "redis_url": check_url,
}
"""The readers of settings that are a language of their own; each raises ValueError."""
