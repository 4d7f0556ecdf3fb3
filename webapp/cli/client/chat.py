"""`commonplace chat`: one message, or a conversation, with replies as they are written."""

import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from webapp.cli.client import output
from webapp.cli.client.config import FAILED, INTERRUPTED, UNREACHABLE, USAGE, ClientError
from webapp.cli.client.http import BrokenStream, Server, as_json, in_space, read_piped_input, server, words

MAX_RESUMES = 5
"""How often a broken stream is resumed."""


@dataclass(slots=True)
class Reply:
    """A reply so far: its turn, the position in its stream, and its text."""

    turn_id: int = 0
    conversation_id: int = 0
    event_id: str = ""
    text: str = ""
    message: dict[str, Any] = field(default_factory=dict)


@click.command()
@click.argument("message", nargs=-1)
@click.option(
    "-c",
    "--conversation",
    "conversation_id",
    type=click.IntRange(min=1),
    metavar="ID",
    help="Continue this conversation.",
)
@click.option("-C", "--continue", "latest", is_flag=True, help="Continue the latest conversation.")
@click.option("-t", "--temporary", is_flag=True, help="No memory, not listed, gone after a day.")
@click.option("-m", "--model", metavar="ID", help="One of the models you can choose, by its id in /api/models.")
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Attach a file; may be given several times.",
)
@in_space
@as_json
def chat(
    message: tuple[str, ...],
    conversation_id: int | None,
    latest: bool,
    temporary: bool,
    model: str | None,
    files: tuple[Path, ...],
    space_id: int | None,
    as_json: bool,
) -> None:
    """Send MESSAGE and show the reply as it is written. Piped input is added below it.

    Without either, a conversation begins: empty lines are ignored, Ctrl-C stops a reply, Ctrl-D ends it.
    """
    api = server()
    if sum(map(bool, (conversation_id, latest, temporary))) > 1:
        raise ClientError("Use only one of --conversation, --continue and --temporary.", USAGE)
    text = "\n\n".join(part for part in (words(message), read_piped_input()) if part)
    if not text and not sys.stdin.isatty():
        raise ClientError("There is no message.", USAGE)
    if latest:
        conversations = api.get("/api/conversations", limit=1)["conversations"]
        conversation_id = conversations[0]["conversation_id"] if conversations else None
    if temporary:
        conversation = api.post("/api/conversations", {"is_temporary": True, "space_id": space_id})
        conversation_id = conversation["conversation_id"]
    body: dict[str, Any] = {"conversation_id": conversation_id, "space_id": space_id, "model": model}
    body["file_ids"] = [_attach(api, path) for path in files]
    if text:
        reply = _ask(api, {**body, "message": text}, is_shown=not as_json)
        _end(reply, as_json)
    else:
        _converse(api, body, as_json)


def _converse(api: Server, body: dict[str, Any], as_json: bool) -> None:
    """Hold a conversation, a message per line, until the input ends."""
    with suppress(ImportError):
        import_module("readline")  # arrows and history at the prompt
    while True:
        try:
            line = input("\n› ").strip()
        except (EOFError, KeyboardInterrupt):
            click.echo(err=True)
            return
        if not line:
            continue
        try:
            reply = _ask(api, {**body, "message": line}, is_shown=not as_json)
        except _Stopped as stopped:
            reply = stopped.reply
        _end(reply, as_json)
        body = {**body, "conversation_id": reply.conversation_id or body["conversation_id"], "file_ids": []}


class _Stopped(click.exceptions.Exit):
    """The reply was stopped with Ctrl-C."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(INTERRUPTED)
        self.reply = reply


def _ask(api: Server, body: dict[str, Any], *, is_shown: bool) -> Reply:
    """Send a message and follow its reply to the end, shown as it comes; a broken connection is resumed."""
    reply, key = Reply(), uuid.uuid4().hex
    fields = {name: value for name, value in body.items() if value not in (None, [])}
    try:
        for left in reversed(range(MAX_RESUMES + 1)):
            try:
                if _follow(_stream(api, reply, fields, key), reply, is_shown=is_shown):
                    return reply
            except BrokenStream:
                pass
            except ClientError as error:
                if error.exit_code != UNREACHABLE or error.status or not (left and reply.turn_id):
                    raise
            time.sleep(0.2 * (MAX_RESUMES - left))
    except KeyboardInterrupt:
        if reply.turn_id:
            api.post(f"/api/chat/turns/{reply.turn_id}/stop")
        output.say("")
        raise _Stopped(reply) from None
    raise ClientError(f"The connection to {api.url} was lost. The reply continues in the conversation.", UNREACHABLE)


def _stream(api: Server, reply: Reply, body: dict[str, Any], key: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the events of the reply: from the beginning, or after the last one received."""
    if not reply.turn_id:
        return api.events("POST", "/api/chat/stream", body, {"Idempotency-Key": key})
    headers = {"Last-Event-ID": reply.event_id} if reply.event_id else {}
    return api.events("GET", f"/api/chat/turns/{reply.turn_id}/stream", headers=headers)


def _follow(events: Iterator[tuple[str, str, Any]], reply: Reply, *, is_shown: bool) -> bool:
    """Take in events; returns whether the reply has ended. Raises ClientError if it failed."""
    for name, event_id, data in events:
        reply.event_id = event_id or reply.event_id
        if name == "turn":
            reply.turn_id, reply.conversation_id = data["assistant_message_id"], data["conversation_id"]
        elif name == "delta":
            reply.text += data["text"]
            if is_shown:
                output.say(data["text"], end="")
        elif name == "done":
            reply.message = data["message"]
            return True
        elif name == "error":
            raise ClientError(data["detail"] or f"The reply failed ({data['code']}).", FAILED)
    return False


def _end(reply: Reply, as_json: bool) -> None:
    if as_json:
        output.dump({"conversation_id": reply.conversation_id, "message": reply.message or {"content": reply.text}})
        return
    if not reply.text.endswith("\n"):
        output.say("")
    output.note(f"[conversation {reply.conversation_id}]")


def _attach(api: Server, path: Path) -> int:
    """Upload a file; returns its id. Raises ClientError if the server cannot read it."""
    with path.open("rb") as file:
        sent = api.upload("/api/files", path.name, file, path.stat().st_size, {})
    if sent["status"] != "ready":
        raise ClientError(f"{path.name} cannot be read: {sent.get('reason') or sent['status']}", FAILED)
    return int(sent["file_id"])
