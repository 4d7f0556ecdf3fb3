"""Odd documents and exports against the running product: what becomes of each file of ../shared/odd_world/inputs.

`python -m bench odd_inputs [--data FOLDER] [NAME ...]`: a row for each file. Documents have to end as text, as a
picture or with a reason; exports in something imported or with a reason, and nothing in an error of the server.
"""

from __future__ import annotations

import argparse
import json
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from bench.odd_world import DATA
from bench.report import verdict
from bench.stack import Stack, run_stack

WORDS = 70
ENDED = ("ready", "failed")


def main(arguments: list[str]) -> bool:
    """Print what becomes of each file; returns whether none is lost without a reason."""
    parser = argparse.ArgumentParser(prog="python -m bench odd_inputs")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    files = sorted((options.data / "inputs").glob("[DI][0-9]*")) if options.data.exists() else []
    files = [file for file in files if not options.names or file.name in options.names]
    lost = []
    with run_stack(database="sqlite", worker=True) as stack:
        for file in files:
            told = _document(stack, file) if file.name.startswith("D") else _export(stack, file)
            print(f"{file.name:30} {told or 'LOST'}", flush=True)
            lost += [] if told else [file.name]
    return verdict(f"{len(files) - len(lost)} of {len(files)} files end in something or say why", not lost)


def _document(stack: Stack, file: Path) -> str:
    """Return the fate of a document in words; empty if nothing says it."""
    status, found = _send(stack, "files", file)
    if status >= 400:
        return _refusal(status, found)
    if found["status"] != "ready":
        return f"unreadable: {found['reason']}"
    if not found["pages"]:
        return f"a picture, {found['tokens']} tokens"
    text = _get(stack, f"files/{found['file_id']}/pages/1").get("text", "")
    return " ".join(text.split())[:WORDS] or f"{found['picture_pages']} of {found['pages']} pages are pictures"


def _export(stack: Stack, file: Path) -> str:
    """Return what an export brought in words; empty if nothing says it."""
    status, found = _send(stack, "imports", file)
    if status >= 400:
        return _refusal(status, found)
    place = f"imports/{found['import_id']}"
    found = _wait(stack, place, ENDED)
    if found["status"] == "ready":
        _call(stack, "POST", f"{place}/start", b"{}", "application/json")
        found = _wait(stack, place, ("done", "failed"))
    counts = ", ".join(f"{name} {count}" for name, count in found["counts"].items())
    return " · ".join(filter(None, (counts, found["error"])))


def _wait(stack: Stack, place: str, statuses: tuple[str, ...]) -> dict[str, Any]:
    end = time.monotonic() + 60
    while (found := _get(stack, place))["status"] not in statuses and time.monotonic() < end:
        time.sleep(0.1)
    return found


def _refusal(status: int, found: dict[str, Any]) -> str:
    """Return why a file was refused; an error of the server is no reason."""
    errors = found.get("errors") or [{"msg": found.get("detail") or found.get("title") or ""}]
    return f"refused: {errors[0]['msg']}" if status < 500 else ""


def _send(stack: Stack, path: str, file: Path) -> tuple[int, dict[str, Any]]:
    mark = uuid.uuid4().hex
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'
    body = head.encode() + file.read_bytes() + f"\r\n--{mark}--\r\n".encode()
    return _call(stack, "POST", path, body, f"multipart/form-data; boundary={mark}")


def _get(stack: Stack, path: str) -> dict[str, Any]:
    return _call(stack, "GET", path)[1]


def _call(
    stack: Stack, method: str, path: str, body: bytes | None = None, kind: str = ""
) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {stack.token}", **({"Content-Type": kind} if kind else {})}
    request = urllib.request.Request(f"{stack.url}/api/{path}", body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=90) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")
