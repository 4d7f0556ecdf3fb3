"""Tests a connection: what its server and a model on it can do, and why something fails, for whoever set it up."""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from webapp.i18n.marks import N_
from webapp.llm.capabilities import Capabilities
from webapp.llm.chat import ChatClient
from webapp.llm.complete import CompletionClient
from webapp.llm.embeddings import OpenAIEmbedder
from webapp.llm.errors import MalformedOutput, ModelError, classify_exception
from webapp.llm.events import ReasoningDelta, TextDelta
from webapp.llm.pool import CHARACTERS
from webapp.llm.sdk import get, sync_client
from webapp.llm.settings import LOADING_SECONDS, ModelSettings, is_own
from webapp.network.http_client import describe_error
from webapp.network.outbound import NO_TLS
from webapp.providers.server_models import (
    ListedModel,
    choices_of,
    makes_vectors,
    models_from_listing,
    next_page,
    prefers_at,
)

NOT_OPENAI = N_(
    "Something is answering at this address, but not like an OpenAI-compatible server. Most addresses end in /v1."
)
NO_SERVER = N_(
    "Nothing is answering at this address. Check the address, and that the server is running and can be reached "
    "from here."
)
NO_PICTURES = N_("This model does not support pictures.")
_WORDS = N_(
    {
        "unauthorized": "The server did not accept the key. Check the key and what it may be used for.",
        "missing_key": "This server needs a key. Enter one under Connection.",
        "model_not_found": "The server does not have this model.",
    }
)


def error_text(exc: Exception) -> str:
    """Return what went wrong; never the server's own text, which may contain keys."""
    error = classify_exception(exc)
    if error.code == "model_unavailable" and error.status is None and not isinstance(exc, ModelError):
        kind = type(exc).__name__
        if "Timeout" in kind:
            return error.detail
        if describe_error(exc) == NO_TLS:
            return NO_TLS
        return NO_SERVER if "Connect" in kind else NOT_OPENAI
    return _WORDS.get(error.code, error.detail)


def model_list_error_text(exc: Exception) -> str:
    """Return why the list of models cannot be read: a URL without one is no OpenAI-compatible server."""
    return NOT_OPENAI if classify_exception(exc).code in ("model_not_found", "malformed_output") else error_text(exc)


def picture_error_text(exc: Exception) -> str:
    """Return why a picture cannot be read: a refused request means a refused picture."""
    return NO_PICTURES if classify_exception(exc).status in (400, 404, 415, 422, 500, 501) else error_text(exc)


def root_of(url: str) -> str:
    """Return the URL of a server's own API, beside the one that all servers speak."""
    return url.removesuffix("/v1")


SECONDS = 20.0
MAX_PIECES = 48
"""Pieces of a reply after which its speed is known."""
MAX_PAGES = 50
"""The most pages of a server's list that are read."""
MAX_NAMES = 2_000
"""The most names of a server's models that are kept; aggregators have several hundred."""
MAX_NAME_LENGTH = 200
_SQUARE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItiFKMZ3Qi+hcEKLDX9WgQEBAQEBAQEBAQ"
    "EBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELgv7fwDT3fen/wAAAABJRU5ErkJggg=="
)
"""A green square of 64 by 64 pixels: several servers refuse smaller pictures."""
MODES = N_({"json_schema": "by schema", "json_object": "as JSON", "text": "by instruction"})
NO_EMBEDDING_MODEL = N_("It has no embedding model.")
_PROSE = "The harbour was quiet that morning, and the boats lay still on the grey water beside the wall. "
_TOOL = {
    "type": "function",
    "function": {"name": "note", "description": "Keeps a note.", "parameters": {"type": "object", "properties": {}}},
}


class Sum(BaseModel):
    """The answer that the test of structured answers asks for."""

    total: int


def probe(settings: ModelSettings, model: str | None, embedding_model: str | None = None) -> dict[str, Any]:
    """Return what works: `models`, `chat`, `streaming`, `tools`, `structured`, `images`, `embeddings`, and the `speed`.

    Each is {"ok": bool, "detail": str}. Without `model`, the most capable of the server's list is tested. Vectors are
    asked of the given model, or of the first in the list whose name suggests them. Nothing may be held meanwhile.
    """
    rows: list[ListedModel] = []

    def count_models() -> int:
        rows.extend(list_models(settings))
        return len(rows)

    result: dict[str, Any] = {"model": model, "models": _try(count_models, model_list_error_text)}
    result |= list_summary(rows) if result["models"]["ok"] else {"names": []}
    names = [row.name for row in rows]
    choices = choices_of(rows, prefers_at(settings.base_url))
    model_name = model or next((choice.name for choice in choices if choice.is_default), None)
    if model_name is None:
        if names:
            result["embeddings"] = _embeddings(settings, embedding_model, names)
        return result
    result["model"] = model_name
    # A test says what it met: it does not try again what took long.
    seconds = _timeout(settings)
    with closing(CompletionClient(replace(settings, max_retries=0), Capabilities())) as with_model:
        result["chat"] = _try(
            lambda: with_model.complete_text(_user_messages("Say hi."), model=model_name, timeout=seconds).model
        )
        if result["chat"]["ok"]:
            result |= try_streaming(settings, model_name)
            result["tools"] = _try(lambda: _raw(settings, model_name, tools=[_TOOL]))
            result["structured"] = _try(lambda: _ask_structured(with_model, model_name))
            picture = [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": _SQUARE}},
            ]
            seen = [{"role": "user", "content": picture}]
            result["images"] = _try(lambda: _raw(settings, model_name, messages=seen), picture_error_text)
        result["embeddings"] = _embeddings(settings, embedding_model, names)
    return result


def list_summary(rows: Sequence[ListedModel]) -> dict[str, Any]:
    """Return what is kept of a server's list: `names`, and the `windows` by name."""
    rows = sorted(rows, key=lambda row: row.name)[:MAX_NAMES]
    return {"names": [row.name for row in rows], "windows": {row.name: row.window for row in rows if row.window}}


def try_streaming(settings: ModelSettings, model: str) -> dict[str, Any]:
    """Return whether a reply arrives in pieces: `streaming`, and, for our own server, `speed`: the tokens of a `prompt`
    that it reads a second, and of a `generation` that it writes; and the windows of the models it has `loaded`."""
    speed: dict[str, float] = {}

    def stream() -> int:
        return _stream(settings, model, speed)

    result: dict[str, Any] = {"streaming": _try(stream)}
    return result | ({"speed": speed, "loaded": _loaded(settings)} if speed and is_own(settings.base_url) else {})


def _loaded(settings: ModelSettings) -> dict[str, int]:
    """Return the windows with which Ollama has loaded models: it lists none, and drops the beginning of what is longer
    without a word. Nothing for other servers."""
    with suppress(Exception), sync_client(settings) as client:  # a third-party server may answer anything
        answer = get(client, f"{root_of(settings.base_url)}/api/ps", settings=settings, read=SECONDS)
        return {row.name: row.window for row in models_from_listing(answer) if row.window}
    return {}


def capabilities_of(result: dict[str, Any] | None, model: str) -> list[str]:
    """Return what a test found that a model can do; nothing if it tested another model."""
    kinds = ("chat", "streaming", "tools", "structured", "images")
    capabilities = result if result and result.get("model") == model else {}
    return [kind for kind in kinds if (capabilities.get(kind) or {}).get("ok")]


def _try(work: Callable[[], Any], describe: Callable[[Exception], str] = error_text) -> dict[str, Any]:
    """Return whether something works, and if not, why; `count` is added if the work returns a number."""
    try:
        value = work()
        if isinstance(value, int):
            return {"ok": True, "detail": "", "count": value}
        return {"ok": True, "detail": str(value or "")[:200]}
    except Exception as error:  # a third-party server may answer anything
        return {"ok": False, "detail": describe(error)}


def _user_messages(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def list_models(settings: ModelSettings) -> list[ListedModel]:
    """Return the models that a server lists. Raises any error of the request."""
    rows: dict[str, ListedModel] = {}
    path, pages = "/models", 0
    with sync_client(settings) as client:
        while path and pages < MAX_PAGES:
            payload = get(client, path, settings=settings, read=SECONDS)
            rows |= {row.name: row for row in models_from_listing(payload)}
            after = quote(next_page(payload), safe="")
            path, pages = f"/models?after_id={after}&after={after}" if after else "", pages + 1
    return [row for row in rows.values() if len(row.name) <= MAX_NAME_LENGTH]


def warm_up(settings: ModelSettings, model: str) -> None:
    """Make a local server load a model, so that the test does not time the loading; errors are left to the test."""
    if is_own(settings.base_url):
        with suppress(Exception):  # a third-party server may answer anything
            _raw(settings, model, seconds=LOADING_SECONDS, max_tokens=1)


def _timeout(settings: ModelSettings) -> float:
    return LOADING_SECONDS if is_own(settings.base_url) else SECONDS


def _stream(settings: ModelSettings, model: str, speed: dict[str, float]) -> int:
    """Read the beginning of a reply to a prompt that no cache holds; returns the number of its pieces."""
    prompt = f"{secrets.token_hex(4)}. {_PROSE * 12} Count to ten."
    seconds = _timeout(settings)
    settings = replace(
        settings, max_retries=0, first_token_timeout=seconds, idle_timeout=seconds, request_timeout=seconds
    )
    start = time.perf_counter()
    pieces = asyncio.run(_first_pieces(settings, model, prompt))
    if not pieces:
        raise MalformedOutput
    (first_at, first), *later = pieces
    duration = max(pieces[-1][0] - first_at, 1e-3)
    # A fast server's tokens come several to a piece.
    speed["prompt"] = round(len(prompt) / CHARACTERS / max(first_at - start, 1e-3), 1)
    speed["generation"] = round((sum(size for _, size in later) or first) / CHARACTERS / duration, 1)
    return len(pieces)


async def _first_pieces(settings: ModelSettings, model: str, prompt: str) -> list[tuple[float, int]]:
    """Return when each of the first pieces of a reply arrived, read as replies are, and its characters."""
    pieces: list[tuple[float, int]] = []
    async with (
        aclosing(ChatClient(settings)) as client,
        aclosing(client.stream(_user_messages(prompt), model=model)) as events,
    ):
        async for event in events:
            if isinstance(event, (TextDelta, ReasoningDelta)) and event.text:
                pieces.append((time.perf_counter(), len(event.text)))
            if len(pieces) >= MAX_PIECES:
                break
    return pieces


def _raw(settings: ModelSettings, model: str, seconds: float = SECONDS, **parameters: Any) -> str:
    body = {"model": model, "messages": _user_messages("Hi")} | parameters
    with sync_client(settings) as client:
        client.with_options(timeout=seconds).chat.completions.create(**body)
    return ""


def _ask_structured(client: CompletionClient, model: str) -> str:
    ask = _user_messages("What is 2 + 3? Answer with the total.")
    _, completion = client.complete_structured(ask, Sum, "sum", model=model, timeout=SECONDS)
    return MODES[completion.mode]


def embedding_problem(settings: ModelSettings) -> str:
    """Return why a server's embedding model makes no vectors; empty if it does."""
    result = _try(lambda: _embed(settings))
    return "" if result["ok"] else str(result["detail"])


def background_problem(settings: ModelSettings, model: str) -> str:
    """Return why a server's model cannot do background work, which needs structured answers; empty if it can."""
    with closing(CompletionClient(settings, Capabilities())) as client:
        result = _try(lambda: _ask_structured(client, model))
    return "" if result["ok"] else str(result["detail"])


def _embeddings(settings: ModelSettings, model: str | None, names: list[str]) -> dict[str, Any]:
    model_name = model or next((name for name in names if makes_vectors(name)), None)
    if model_name is None:
        return {"ok": False, "detail": NO_EMBEDDING_MODEL}
    return {**_try(lambda: _embed(settings.with_embeddings(model_name))), "model": model_name}


def _embed(settings: ModelSettings) -> int:
    with closing(OpenAIEmbedder(settings, Capabilities())) as embedder:
        return len(embedder.embed_passages(["hello"])[0])
