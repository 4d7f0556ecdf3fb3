"""Odd documents and exports against the running product: what becomes of each file of ../shared/odd_world/inputs.

`python -m bench odd_inputs [--data FOLDER] [NAME ...]`: a row for each file. Documents have to end as text, as a
picture or with a reason; exports in something imported or with a reason, and nothing in an error of the server.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.client import Answer
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
    sent = stack.client.upload("/api/files", file.name, file.read_bytes())
    if sent.status >= 400:
        return _refusal(sent)
    found = sent.body
    if found["status"] != "ready":
        return f"unreadable: {found['reason']}"
    if not found["pages"]:
        return f"a picture, {found['tokens']} tokens"
    text = stack.client.call("GET", f"/api/files/{found['file_id']}/pages/1").body.get("text", "")
    return " ".join(text.split())[:WORDS] or f"{found['picture_pages']} of {found['pages']} pages are pictures"


def _export(stack: Stack, file: Path) -> str:
    """Return what an export brought in words; empty if nothing says it."""
    sent = stack.client.upload("/api/imports", file.name, file.read_bytes())
    if sent.status >= 400:
        return _refusal(sent)
    place = f"/api/imports/{sent.body['import_id']}"
    found = stack.client.wait(place, *ENDED, seconds=60)
    if found["status"] == "ready":
        stack.client.call("POST", f"{place}/start", {})
        found = stack.client.wait(place, "done", "failed", seconds=60)
    counts = ", ".join(f"{name} {count}" for name, count in found["counts"].items())
    return " · ".join(filter(None, (counts, found["error"])))


def _refusal(answer: Answer) -> str:
    """Return why a file was refused; an error of the server is no reason."""
    found = answer.body
    errors = found.get("errors") or [{"msg": found.get("detail") or found.get("title") or ""}]
    return f"refused: {errors[0]['msg']}" if answer.status < 500 else ""
