"""`/v1/chat/completions`: what to answer, and sending it, streamed or in one piece."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from .pace import Flow, Pacer
from .providers import Quirks
from .script import Rule, Script
from .script_faults import Fault, has_images, refusals
from .tasks import run_task
from .tasks.request import task_request
from .wire import CHAT_MODEL, DONE, Answer, StreamEvents, completion, error, tokens_of, usage

Frame = bytes | Callable[[], bytes]


class Refusal(Exception):
    """An answer with an HTTP error."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers or {}

    def response(self) -> web.Response:
        """Return it as an HTTP response."""
        if isinstance(self.body, str):
            return web.Response(status=self.status, text=self.body, headers=self.headers)
        return web.json_response(self.body, status=self.status, headers=self.headers)


def read_request(body: Any, script: Script | None) -> dict[str, Any]:
    """Return the body of a chat request. Raises `Refusal` if it is not one."""
    if not isinstance(body, dict):
        raise Refusal(400, error("The body must be a JSON object."))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) and "role" in m for m in messages):
        raise Refusal(400, error("'messages' must be a list of messages with a role.", param="messages"))
    if not isinstance(body.get("model"), str):
        raise Refusal(400, error("'model' is missing.", param="model"))
    if script is None and body["model"] != CHAT_MODEL:
        text = f"The model does not exist; this server has '{CHAT_MODEL}'."
        raise Refusal(404, error(text, code="model_not_found", param="model"))
    if script is None and has_images(body):
        raise Refusal(400, error("This model does not support image input."))
    return body


def refuse(fault: Fault, body: dict[str, Any]) -> None:
    """Raise `Refusal` for a request that contains something the fault refuses, or for any if it has a status."""
    for is_present, refusal in refusals(fault, body):
        if is_present:
            raise Refusal(400, refusal)
    if fault.http_status:
        raise Refusal(fault.http_status, error("scripted fault") if fault.body is None else fault.body, fault.headers)


def answer_for(body: dict[str, Any], rule: Rule | None, quirks: Quirks) -> Answer:
    """Return what to answer, by script, by structured task or with numbered tokens, with a provider's quirks."""
    if rule is not None:
        answer = (replace(rule, **rule.respond(body)) if rule.respond else rule).answer()
    elif (task := task_request(body)) is not None:
        answer = Answer(tokens_of(json.dumps(run_task(task), ensure_ascii=False)))
    else:
        answer = Rule().answer()
    answer.reasoning = answer.reasoning or tokens_of(quirks.reasoning)
    answer.reports_usage = quirks.reports_usage
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    if isinstance(limit, int) and 0 < limit < len(answer.tokens):
        answer.tokens, answer.finish_reason = answer.tokens[:limit], "length"
    return answer


async def send_whole(body: dict[str, Any], answer: Answer, rule: Rule | None) -> web.Response:
    """Return the answer in one piece; with a script, after the time that streaming it would take."""
    if rule is not None:
        await asyncio.sleep(answer.first_delay + answer.token_delay * len(answer.tokens))
        if rule.fault.raw is not None:
            return web.Response(text=rule.fault.raw, content_type="application/json")
        if rule.fault.hang_after is not None:
            await asyncio.Event().wait()  # until the client leaves
    count = len(answer.tokens)
    counts = usage(body["messages"], count) if answer.reports_usage else None
    return web.json_response(completion(answer, body["model"], counts))


async def send_stream(
    request: web.Request, body: dict[str, Any], answer: Answer, rule: Rule | None, pacer: Pacer, call: dict[str, Any]
) -> web.StreamResponse:
    """Stream the answer as server-sent events at its pace, with the script's faults; note in `call` how far it got."""
    fault = rule.fault if rule else Fault()
    frames, ends_early = _frames(body, answer, fault)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    await response.write(b": ok\n\n")  # sends the headers; from here on the pacer writes to the transport itself
    transport = request.transport
    if transport is None:
        return response
    hold = rule.hold if rule else None
    at = len(frames) if hold is None else hold.after
    flows = [Flow(transport, frames[:at], answer.token_delay)]
    try:
        await pacer.send(flows[0], answer.first_delay)
        if hold is not None:
            await hold.wait()
            flows.append(Flow(transport, frames[at:], answer.token_delay))
            await pacer.send(flows[1], 0.0)
        if fault.hang_after is not None:
            await asyncio.Event().wait()
    finally:
        call["sent"] = sum(flow.sent for flow in flows)
    if ends_early:
        transport.abort()
        return response
    await response.write_eof()
    return response


def _frames(body: dict[str, Any], answer: Answer, fault: Fault) -> tuple[Sequence[Frame], bool]:
    """Return the frames to send, and whether the connection is dropped after them."""
    if fault.raw is not None:
        return _split([fault.raw.encode()], fault.split_bytes), False
    events = StreamEvents(body["model"])
    frames: list[Frame] = []
    if answer.stamp:
        frames += [_stamp(events, number) for number in range(len(answer.tokens))]
    else:
        frames += [events.delta({"reasoning_content": token}) for token in answer.reasoning]
        frames += [events.text(token) for token in answer.tokens]
    frames += events.tool_calls(answer.tool_calls)
    early = [n for n in (fault.cut_after, fault.hang_after) if n is not None]
    if early:
        frames = [*frames, events.delta({}, answer.reason)][: min(early)]
    elif fault.error is not None:
        frames = [*frames[: fault.error_after], f"data: {json.dumps({'error': fault.error})}\n\n".encode()]
    else:
        ending = [events.delta({}, answer.reason)]
        if (body.get("stream_options") or {}).get("include_usage") and answer.reports_usage:
            ending.append(events.usage(usage(body["messages"], len(answer.tokens))))
        if not fault.no_done:
            ending.append(DONE)
        frames.append(b"".join(ending))
    if frames and not callable(frames[0]):
        frames[0] = events.delta({"role": "assistant", "content": ""}) + frames[0]
    return _split(frames, fault.split_bytes), fault.cut_after is not None


def _stamp(events: StreamEvents, number: int) -> Callable[[], bytes]:
    return lambda: events.text(f"{number}:{time.time_ns()} ")


def _split(frames: list[Frame], size: int | None) -> list[Frame]:
    """Return the same bytes, cut every `size` bytes."""
    if size is None:
        return frames
    data = b"".join(frame if isinstance(frame, bytes) else frame() for frame in frames)
    return [data[start : start + size] for start in range(0, len(data), size)]
