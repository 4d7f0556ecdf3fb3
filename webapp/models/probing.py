"""Tests a connection: what its server and a model on it can do, and why something fails."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from webapp.languages.marks import N_
from webapp.llm.capabilities import Capabilities
from webapp.llm.complete import CompletionClient
from webapp.llm.embeddings import OpenAIEmbedder
from webapp.llm.sdk import sync_client
from webapp.llm.settings import ModelSettings
from webapp.models.troubles import why, why_no_list, why_no_pictures
from webapp.models.windows import window_told

SECONDS = 20.0
MOST_NAMES = 2_000
"""The most names of a server's models that are kept; aggregators have several hundred."""
LONGEST_NAME = 200
_EDGE = 64
"""Edge of the test picture: several servers refuse smaller ones."""
MODES = N_({"json_schema": "by schema", "json_object": "as JSON", "text": "by instruction"})
NONE_MAKES_VECTORS = N_("It has no embedding model.")
_MAKES_VECTORS = ("embed", "minilm", "bge-", "e5-", "gte-")
"""Parts of the names of models that make vectors."""
_NO_CHAT = (*_MAKES_VECTORS, "rerank", "whisper", "tts", "clip")
"""Parts of the names of models that cannot chat."""
_TOOL = {
    "type": "function",
    "function": {"name": "note", "description": "Keeps a note.", "parameters": {"type": "object", "properties": {}}},
}


class Sum(BaseModel):
    """What the test of structured answers asks for."""

    total: int


def probe(settings: ModelSettings, model: str | None, embedding_model: str | None = None) -> dict[str, Any]:
    """What works: `models`, `chat`, `streaming`, `tools`, `structured`, `images`, `embeddings`.

    Each is {"ok": bool, "detail": str}. Without `model`, the first in the server's list that can chat is tested.
    Vectors are asked of the given model, or of the first in the list whose name suggests them. Nothing may be held
    meanwhile.
    """
    found: dict[str, Any] = {"model": model}
    names: list[str] = []

    def listed() -> int:
        rows = _listed(settings)
        names.extend(sorted(rows))
        found["windows"] = {name: window for name, window in sorted(rows.items())[:MOST_NAMES] if window}
        return len(names)

    found["models"] = _try(listed, why_no_list)
    found["names"] = names[:MOST_NAMES]
    wanted = model or next((name for name in names if not any(part in name.lower() for part in _NO_CHAT)), None)
    if wanted is None:
        if names:
            found["embeddings"] = _embeddings(settings, embedding_model, names)
        return found
    found["model"] = wanted
    with_model = CompletionClient(settings, Capabilities())
    try:
        found["chat"] = _try(lambda: with_model.complete_text(_say("Say hi."), model=wanted, timeout=SECONDS).model)
        if found["chat"]["ok"]:
            found["streaming"] = _try(lambda: _stream(settings, wanted))
            found["tools"] = _try(lambda: _raw(settings, wanted, tools=[_TOOL]))
            found["structured"] = _try(lambda: _structured(with_model, wanted))
            picture = [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": _square()}},
            ]
            seen = [{"role": "user", "content": picture}]
            found["images"] = _try(lambda: _raw(settings, wanted, messages=seen), why_no_pictures)
        found["embeddings"] = _embeddings(settings, embedding_model, names)
    finally:
        with_model.close()
    return found


def capabilities_of(result: dict[str, Any] | None, model: str) -> list[str]:
    """What a test found that a model can do; nothing if it tested another model."""
    kinds = ("chat", "streaming", "tools", "structured", "images")
    found = result if result and result.get("model") == model else {}
    return [kind for kind in kinds if (found.get(kind) or {}).get("ok")]


def _try(work: Callable[[], Any], said: Callable[[Exception], str] = why) -> dict[str, Any]:
    """Whether something works, and if not, why; `count` is added if the work returns a number."""
    try:
        found = work()
        if isinstance(found, int):
            return {"ok": True, "detail": "", "count": found}
        return {"ok": True, "detail": str(found or "")[:200]}
    except Exception as error:  # a third-party server may answer anything
        return {"ok": False, "detail": said(error)}


def _square() -> str:
    """A small green picture."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = (b"\x00" + b"\x20\x80\x40" * _EDGE) * _EDGE
    head = struct.pack(">IIBBBBB", _EDGE, _EDGE, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def _say(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def _listed(settings: ModelSettings) -> dict[str, int | None]:
    """The models of a server, with the context of each if the server reports it."""
    with sync_client(settings) as client:
        page = client.with_options(timeout=SECONDS).models.list()
        if page.object != "list" and not isinstance(page.data, list):
            raise TypeError("this is no list of models")
        return {model.id: window_told(model.model_extra or {}) for model in page if len(model.id) <= LONGEST_NAME}


def _stream(settings: ModelSettings, model: str) -> int:
    with sync_client(settings) as client:
        pieces = client.with_options(timeout=SECONDS).chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": "Count to three."}],
            stream=True,
        )
        return sum(1 for _ in pieces)


def _raw(settings: ModelSettings, model: str, **more: Any) -> str:
    body = {"model": model, "messages": _say("Hi")} | more
    with sync_client(settings) as client:
        client.with_options(timeout=SECONDS).chat.completions.create(**body)
    return ""


def _structured(client: CompletionClient, model: str) -> str:
    ask = _say("What is 2 + 3? Answer with the total.")
    _, completion = client.complete_structured(ask, Sum, "sum", model=model, timeout=SECONDS)
    return MODES[completion.mode]


def trouble_with(settings: ModelSettings) -> str:
    """Why a server's embedding model makes no vectors; empty if it does."""
    found = _try(lambda: _embed(settings))
    return "" if found["ok"] else str(found["detail"])


def trouble_working(settings: ModelSettings, model: str) -> str:
    """Why a server's model cannot do background work, which needs structured answers; empty if it can."""
    client = CompletionClient(settings, Capabilities())
    try:
        found = _try(lambda: _structured(client, model))
    finally:
        client.close()
    return "" if found["ok"] else str(found["detail"])


def _embeddings(settings: ModelSettings, model: str | None, names: list[str]) -> dict[str, Any]:
    wanted = model or next((name for name in names if any(part in name.lower() for part in _MAKES_VECTORS)), None)
    if wanted is None:
        return {"ok": False, "detail": NONE_MAKES_VECTORS}
    return {**_try(lambda: _embed(settings.with_embeddings(wanted))), "model": wanted}


def _embed(settings: ModelSettings) -> int:
    embedder = OpenAIEmbedder(settings, Capabilities())
    try:
        vectors = embedder.embed_passages(["hello"])
    finally:
        embedder.close()
    return len(vectors[0])
