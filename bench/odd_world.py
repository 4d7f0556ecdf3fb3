"""Odd servers against the running product: what a reader sees of each, as ../shared/odd_world says it should be.

`python -m bench odd_world [--data FOLDER] [NAME ...]`: one row for each case that is wrong, and a count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.stack import Stack, run_stack
from testkit.processes import ROOT, end, free_port, spawn, wait_until

DATA = ROOT.parent / "shared" / "odd_world"
QUESTION = "How do I make green tea?"
MARKUP = (
    "</think",
    "<think",
    "[THINK]",
    "<|",
    "<seed:",
    "<end_of_turn>",
    "<tool_call",
    "<function",
    "<thought",
    "<reasoning",
    "｜",
)


def main(arguments: list[str]) -> bool:
    """Run the cases; returns whether all are right."""
    parser = argparse.ArgumentParser(prog="python -m bench odd_world")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    if not (options.data / "weird_server.py").exists():
        print(f"no cases in {options.data}")
        return True
    with run_stack(database="sqlite") as stack, _server(stack, options.data / "weird_server.py") as url:
        cases: dict[str, dict[str, Any]] = _get(f"{url}/cases")
        names = [name for name in cases if not options.names or name in options.names]
        models = [{"model": name} for name in names]
        stack.client.ask("POST", "/api/connections", {"name": "odd", "base_url": url, "models": models})
        listed = stack.client.ask("GET", "/api/models")["models"]
        ids = {model["name"]: model["id"] for model in listed}
        wrong = 0
        for name in names:
            found = _faults(_ask(stack, ids[name]), cases[name])
            if found:
                wrong += 1
                print(f"{name:26} {'; '.join(found)}", flush=True)
    print(f"{len(names) - wrong} of {len(names)} right")
    return not wrong


@contextlib.contextmanager
def _server(stack: Stack, program: Path) -> Iterator[str]:
    port = free_port()
    process = spawn(
        [sys.executable, str(program), str(port)], stack.servers.directory / "odd.log", dict(stack.environment)
    )
    url = f"http://127.0.0.1:{port}/v1"

    def answers() -> bool:
        with contextlib.suppress(OSError):
            return bool(_get(f"{url}/models"))
        return False

    try:
        wait_until(answers, "the odd server", process=process)
        yield url
    finally:
        end(process)


def _ask(stack: Stack, model: str) -> dict[str, Any]:
    """The reply of a model as it is stored, with its `reasoning`, and `streamed`: the text as it arrived."""
    streamed, reply, status = "", dict[str, Any](), "no end"
    for kind, data in stack.client.stream("/api/chat/stream", {"message": QUESTION, "model": model}, ""):
        if kind == "status" and data != 200:
            status = f"HTTP {data}"
        elif kind == "delta":
            streamed += data["text"]
        elif kind == "snapshot":
            streamed = data["text"]
        elif kind in ("done", "error"):
            reply = data["message"]
    if not reply:
        return {"content": "", "status": status, "error": None, "streamed": streamed}
    found = stack.client.call("GET", f"/api/messages/{reply['message_id']}/reasoning")
    if found.status == 200:
        reply["reasoning"] = found.body.get("text")
    return reply | {"streamed": streamed}


def _faults(reply: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    content, error = reply["content"], str(reply.get("error") or "")
    found = []
    if reply["status"] in ("complete",) and reply["streamed"].strip() != content.strip():
        found.append(f"streamed {reply['streamed'][-80:]!r}")
    if "reply" in expected and not expected.get("loose") and content.strip() != expected["reply"].strip():
        found.append(f"{reply['status']}: {content[:110]!r} {error[:90]}")
    found += [
        f"lacks {text!r}: {content[:80]!r} {error[:60]}" for text in expected.get("has", ()) if text not in content
    ]
    if (text := expected.get("no_text")) and text in content:
        found.append(f"shows {text!r}")
    if expected.get("reasoning") and not reply.get("reasoning"):
        found.append("no reasoning kept")
    if expected.get("not_blank") and reply["status"] == "complete" and not content.strip():
        found.append("a blank reply")
    if expected.get("not_status") == reply["status"]:
        found.append(f"status {reply['status']}")
    if "calls" in expected:
        calls = [str((call.get("output") or {}).get("result")) for call in reply.get("tool_calls") or ()]
        if calls != expected["calls"]:
            found.append(f"calls {[call.get('output') for call in reply.get('tool_calls') or ()]}"[:160])
    if wanted := expected.get("error"):
        if reply["status"] not in ("failed", "interrupted"):
            found.append(f"status {reply['status']}")
        elif isinstance(wanted, str) and wanted not in error:
            found.append(f"reason lost: {error}")
    if (
        not expected.get("loose")
        and "has" not in expected
        and "`" not in content
        and any(mark in content for mark in MARKUP)
    ):
        found.append("markup shown") if not expected.get("note") else None
    return found


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as response:
        return json.load(response)
