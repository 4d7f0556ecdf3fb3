"""Completions for background jobs: complete answers, as text or as a validated pydantic model."""

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .capabilities import STRUCTURED_MODES, Capabilities
from .chunks import text_of_parts, unwrap
from .dialects import finish_of
from .errors import CutOffAnswer, MalformedOutput, ModelError, RefusedByModel, classify_exception
from .events import Finish, ReasoningDelta, StreamDecoder, TextDelta
from .partial_calls import ToolCall
from .reply_markup import answer_and_thought
from .request_format import adapt_body, learn_rejection, rejects_format
from .sdk import json_of, post, process_client, with_retries
from .settings import ModelSettings
from .structured import describe_schema, parse_object, strict_schema
from .usage import ROOM, Usage, has_thought, is_limit_used_up, usage_of

log = logging.getLogger(__name__)

SchemaT = TypeVar("SchemaT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Completion:
    """A complete answer; `usage` is of every request, `sent` the last one's characters, `mode` the structured mode."""

    text: str
    model: str
    usage: Usage
    finish_reason: str = "stop"
    mode: str = "text"
    sent: int = 0


class CompletionClient:
    """Thread-safe and synchronous; may be created before a fork: connections belong to the process that opened them."""

    def __init__(self, settings: ModelSettings, capabilities: Capabilities | None = None) -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._client = process_client(settings)

    def complete_text(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Return one complete answer as text; raises `ModelError`."""
        return self._ask(self._body(messages, model, max_tokens), timeout)

    def complete_structured(
        self,
        messages: Sequence[dict[str, Any]],
        schema: type[SchemaT],
        name: str,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
        temperature: float | None = None,
        shown: dict[str, Any] | None = None,
    ) -> tuple[SchemaT, Completion]:
        """Return an answer validated against `schema`, called `name` on the wire (letters, digits, `_`, `-`).

        `shown` is the JSON schema given to the model if it says more. Tries JSON schema, JSON mode and plain text, and
        remembers which is accepted. An unreadable answer is sent back once, then raises `MalformedOutput`; one cut off
        at `max_tokens` raises `CutOffAnswer`.
        """
        json_schema = shown or schema.model_json_schema()
        base_url, _ = self.settings.endpoint()
        body = self._body(messages, model, max_tokens)
        if temperature is not None:
            body["temperature"] = temperature
        stored_mode = self.capabilities.structured_mode(base_url, body["model"])
        modes = STRUCTURED_MODES[STRUCTURED_MODES.index(stored_mode) :] if stored_mode else STRUCTURED_MODES
        for position, mode in enumerate(modes):
            request = _structured_body(body, mode, name, json_schema)
            try:
                completion = self._ask(request, timeout)
            except _FormatRefused as refusal:
                if position + 1 < len(modes):
                    log.info("model server refuses response_format %s", mode)
                    continue
                raise refusal.error from None
            if mode != stored_mode:
                self.capabilities.set_structured_mode(base_url, body["model"], mode)
            hint = describe_schema(name, json_schema)
            return self._parse_or_repair(request, replace(completion, mode=mode), schema, hint, timeout)
        raise AssertionError("unreachable: the last mode returns or raises")

    def close(self) -> None:
        """Close this process's connections."""
        self._client.close()

    def _parse_or_repair(
        self,
        request: dict[str, Any],
        completion: Completion,
        schema: type[SchemaT],
        hint: str,
        timeout: float | None,
    ) -> tuple[SchemaT, Completion]:
        try:
            return _validate(completion, schema), completion
        except (MalformedOutput, ValidationError) as error:
            problem = _problem(error)
        if completion.finish_reason == "length":
            raise _with_answer(CutOffAnswer(completion.text), completion)
        log.info("model answer for %s is malformed: asking once more", schema.__name__)
        repair = {
            **request,
            "messages": [
                *request["messages"],
                {"role": "assistant", "content": completion.text},
                {
                    "role": "user",
                    # Repeat the schema: a server that accepts `response_format` but ignores it never showed it to the
                    # model.
                    "content": f"That is not valid: {problem}. Correct it. {hint}",
                },
            ],
        }
        try:
            second = replace(self._ask(repair, timeout), mode=completion.mode)
        except ModelError as error:
            raise _with_answer(error, completion) from None
        second = replace(second, usage=completion.usage.plus(second.usage))
        try:
            return _validate(second, schema), second
        except (MalformedOutput, ValidationError):
            raise _with_answer(MalformedOutput(), second) from None

    def _ask(self, body: dict[str, Any], timeout: float | None) -> Completion:
        """Return one answer, retrying transient failures; raises `_FormatRefused` if `response_format` is to blame."""
        read = timeout or self.settings.request_timeout
        return with_retries(partial(self._request, body, read), self.settings)

    def _request(self, body: dict[str, Any], read: float) -> Completion:
        base_url, key = self.settings.endpoint()
        client = self._client()
        spent = Usage(requests=0)
        while True:
            thinks = self.capabilities.thinks(base_url, body["model"])
            room = {"max_tokens": body["max_tokens"] + ROOM} if thinks and "max_tokens" in body else {}
            request = adapt_body(body | room, base_url, self.capabilities)
            try:
                payload = _payload(post(client, "/chat/completions", request, settings=self.settings, read=read))
                if not thinks and has_thought(payload):
                    self.capabilities.note_thinking(base_url, body["model"])
                    if is_limit_used_up(payload):
                        spent = spent.plus(usage_of(payload.get("usage")))
                        continue  # once a day per model: from now on there is room for its reasoning
                completion = _completion(payload, request)
                return replace(completion, usage=spent.plus(completion.usage)) if spent.requests else completion
            except ModelError:
                raise
            except Exception as exc:
                if learn_rejection(exc, request, base_url, self.capabilities):
                    continue
                error = classify_exception(exc, has_key=bool(key))
                if "response_format" in request and rejects_format(exc, error):
                    raise _FormatRefused(error) from None
                raise error from None

    def _body(self, messages: Sequence[dict[str, Any]], model: str | None, max_tokens: int | None) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model or self.settings.background_model, "messages": list(messages)}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        return body


def _with_answer(error: ModelError, answer: Completion) -> ModelError:
    error.answer = answer
    return error


class _FormatRefused(Exception):
    """The server does not take this `response_format`."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(str(error))
        self.error = error


def _structured_body(body: dict[str, Any], mode: str, name: str, json_schema: dict[str, Any]) -> dict[str, Any]:
    if mode == "json_schema":
        schema, strict = strict_schema(json_schema)
        wire = {"name": name, "schema": schema if strict else json_schema, "strict": strict}
        return {**body, "response_format": {"type": "json_schema", "json_schema": wire}}
    instruction = {"role": "system", "content": describe_schema(name, json_schema)}
    leading = [m for m in body["messages"] if m.get("role") == "system"]
    others = [m for m in body["messages"] if m.get("role") != "system"]
    result = {**body, "messages": [*leading, instruction, *others]}
    if mode == "json_object":
        result["response_format"] = {"type": "json_object"}
    return result


def _payload(body: bytes) -> dict[str, Any]:
    """Return a completion in OpenAI's shape; a body in any other shape is decoded like a stream. Raises ModelError."""
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        payload = unwrap(json_of(body))
        if isinstance(payload["choices"][0]["message"], dict):
            return dict(payload)
    decoder = StreamDecoder()
    events = [*decoder.feed(body), *decoder.end()]
    if not decoder.finished:
        raise decoder.error or MalformedOutput()
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    calls = [{"function": {"arguments": event.arguments}} for event in events if isinstance(event, ToolCall)]
    (end,) = (event for event in events if isinstance(event, Finish))
    return {
        "model": end.model,
        "usage": end.usage and asdict(end.usage),
        "choices": [
            {
                "message": {"content": text, "reasoning_content": thought, "tool_calls": calls},
                "finish_reason": end.reason,
            }
        ],
    }


def _completion(payload: dict[str, Any], request: dict[str, Any]) -> Completion:
    """Return the answer in a completion object; raises `RefusedByModel` or `MalformedOutput`."""
    choice = payload["choices"][0]
    message = choice["message"]
    reason = finish_of(str(choice.get("finish_reason") or "stop"))
    if message.get("refusal") or reason == "content_filter":
        raise RefusedByModel
    text = answer_and_thought(text_of_parts(message.get("content")))[0] or _misplaced_answer(message)
    if not text.strip() and "response_format" not in request:
        raise MalformedOutput("The model gave an empty answer. Try again, or choose another model.")
    model = payload.get("model")
    name = model if isinstance(model, str) and model else request["model"]
    sent = sum(len(str(message.get("content") or "")) for message in request["messages"])
    return Completion(text, name, usage_of(payload.get("usage")), reason, sent=sent)


def _misplaced_answer(message: Mapping[str, Any]) -> str:
    """Return the answer that some servers send as an object, or put in the arguments of a call, or the reasoning."""
    for value in map(message.get, ("content", "parsed")):
        if isinstance(value, dict):
            return json.dumps(value)
    with suppress(KeyError, IndexError, TypeError):
        arguments = message["tool_calls"][0]["function"]["arguments"]
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    thought = message.get("reasoning_content") or message.get("reasoning")
    return thought if isinstance(thought, str) and "{" in thought else ""


def _validate(completion: Completion, schema: type[SchemaT]) -> SchemaT:
    fields = {field.alias or name for name, field in schema.model_fields.items()}
    return schema.model_validate(parse_object(completion.text, fields))


def _problem(error: MalformedOutput | ValidationError) -> str:
    if isinstance(error, ValidationError):
        errors = error.errors(include_url=False, include_input=False, include_context=False)[:5]
        return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'object'}: {e['msg']}" for e in errors)
    return "it is not exactly one JSON object"
