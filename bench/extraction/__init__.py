"""Extraction measured on labelled cases: a model's answers are recorded once and replayed through the rules.

    python -m bench extraction --record NAME [--model URL] [--cases FOLDER] [--only id,kind]
    python -m bench extraction [NAME …]          replays recordings/NAME.jsonl, all of them by default
    python -m bench extraction --perfect         an extractor that says exactly what the labels ask for

The folder of cases (EVAL_CASES, ../shared/memory_eval by default) holds cases_*.json and score.py; it is not part of
the repository. Recording builds the same prompt and schema that the product sends. Replaying takes seconds, so that the
effect of a rule shows in recall and violations. A recording identifies the memories it was shown by their text: if a
rule changes what is kept of an earlier session, a number that would now point to nothing points to nothing here, too.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.extraction.perfect import perfect_answer
from bench.report import import_file
from testkit.memory_extraction import SimulatedUser, as_rows
from webapp.llm.errors import MalformedOutput
from webapp.llm.structured import Part, complete_items, parse_object, strict_schema
from webapp.memories.learning.model_call import SCHEMA_NAME, TEMPERATURE, call_options
from webapp.memories.learning.prompt import ExtractionCall
from webapp.memories.rules.statements import FIELD

RECORDINGS = Path(__file__).parent / "recordings"


Answer = Callable[[SimulatedUser, int, ExtractionCall, list[Part]], tuple[list[Any], dict[int, int] | None]]
"""Called with a user, the number of a session and what is asked after it; returns the statements of an answer, and the
memories by the numbers in it if those are not the call's."""


def memory_after(case: dict[str, Any], answer: Answer) -> SimulatedUser:
    """The memory after the answers to a case's sessions."""
    bench = SimulatedUser()
    for number, said in enumerate(case["sessions"]):
        call, parts = bench.call(said)
        bench.take(call, *answer(bench, number, call, parts))
    return bench


class Recording:
    """A model's answers by case and session; those that it lacks are asked for at the `url`, if any, and added."""

    def __init__(self, name: str, url: str = "") -> None:
        self._path, self._url = Path(name) if "/" in name else RECORDINGS / f"{name}.jsonl", url
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        self._rows = {(row["case"], row["session"]): row for row in map(json.loads, filter(None, lines))}

    def has(self, case: str) -> bool:
        """Return whether there are answers of a case, or can be."""
        return bool(self._url) or any(name == case for name, _ in self._rows)

    def answer(self, case: str, bench: SimulatedUser, number: int, call: ExtractionCall, parts: list[Part]) -> Any:
        """Return the statements of an answer, and the memories by its numbers, which it was shown by their text."""
        row = self._rows.get((case, number))
        if row is None and not self._url:
            return [], None
        if row is None:
            row = {"case": case, "session": number, "known": bench.shown_texts(call), **ask(self._url, call, parts)}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(f"{case} {number}: {row['seconds']} s, {row['usage'].get('completion_tokens')} tokens", flush=True)
        by_text = {memory.content: memory.ref for memory in bench.memories if memory.is_open}
        numbered = {int(n): by_text[text] for n, text in row["known"].items() if text in by_text}
        return items_of(row["answer"]), numbered


def ask(url: str, call: ExtractionCall, parts: list[Part]) -> dict[str, Any]:
    """Return a model's raw answer, the seconds that it took, and its usage."""
    asked = call_options(call, parts)
    schema, strict = strict_schema(asked["shown"])
    shape = {"name": SCHEMA_NAME, "schema": schema, "strict": strict}
    body = {
        "model": "m",
        "messages": list(call.messages),
        "max_tokens": asked["max_tokens"],
        "temperature": TEMPERATURE,
        "response_format": {"type": "json_schema", "json_schema": shape},
    }
    began = time.time()
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=3_600) as answer:
        payload = json.load(answer)
    text = payload["choices"][0]["message"]["content"] or ""
    return {"answer": text, "seconds": round(time.time() - began, 1), "usage": payload.get("usage")}


def items_of(text: str) -> list[Any]:
    """The statements of a raw answer, as far as it can be read."""
    try:
        return parse_object(text, {FIELD}).get(FIELD) or []
    except MalformedOutput:
        return complete_items(text, FIELD)


def _perfect(case: str, bench: SimulatedUser, number: int, call: ExtractionCall, _parts: object) -> Any:
    return perfect_answer(case, number, bench.memories, call), None


def _table(name: str, results: list[tuple[SimulatedUser, dict[str, Any]]], summary: dict[str, Any], show: bool) -> None:
    for bench, result in results:
        ones = "" if result["exactly_one"] in (None, True) else f", {result['exactly_one_count']} instead of one"
        bad = "" if result["passed"] else "  ← "
        print(
            f"{result['id']:<14} {result['hit']}/{result['must']} found, {len(result['violations'])} violations, "
            f"{len(result['duplicates'])} duplicates, {result['memories']} kept, {result['in_review']} in "
            f"review{ones}{bad}"
            + " ".join(str(item) for item in [*result["missed"], *(v["content"] for v in result["violations"])] if bad)
        )
        if show:
            for memory in bench.memories:
                state = "" if memory.is_current else " (in review)" if memory.needs_review else " (closed)"
                print(f"      {memory.memory_type}, {memory.slot or '-'}: {memory.content}{state}")
            for _, found, plan in bench.plans:
                for index, reason in plan.rejections.items():
                    operation = found.operations[index]
                    print(f"      not kept, {reason.value}: {operation.content} “{operation.quote}”")
                if found.passed_over or found.malformed:
                    print(f"      passed over {dict(found.passed_over)}, malformed {found.malformed}")
    print(
        f"{name}: {summary['passed']} of {summary['cases']} cases pass, recall {summary['hit']}/{summary['must']} = "
        f"{100 * (summary['recall'] or 0):.0f} %, {summary['violations']} violations, {summary['duplicates']} "
        f"duplicates, "
        f"exactly one {summary['exactly_one']}, {summary['in_review']} in review\n"
    )


def main(argv: list[str] | None = None) -> bool:
    """Record or replay; returns whether every replay could be read."""
    parser = argparse.ArgumentParser(prog="python -m bench extraction")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--record")
    parser.add_argument("--perfect", action="store_true")
    parser.add_argument("--model", default="http://127.0.0.1:8350/v1")
    parser.add_argument("--cases", type=Path, default=Path(os.environ.get("EVAL_CASES", "../shared/memory_eval")))
    parser.add_argument("--only", default="")
    parser.add_argument("-v", action="store_true", dest="show")
    args = parser.parse_args(argv or [])
    score = import_file(args.cases / "score.py")
    only = [word for word in args.only.split(",") if word]
    cases = [c for c in score.load_cases(str(args.cases)) if not only or c["id"] in only or c["tags"][0] in only]
    names = [args.record] if args.record else args.names
    if not (names or args.perfect):
        names = sorted(path.stem for path in RECORDINGS.glob("*.jsonl"))
    for name in [*names, *(["perfect"] if args.perfect else [])]:
        recording = Recording(name, args.model if args.record else "")
        answer = _perfect if args.perfect and name == "perfect" else recording.answer
        results = []
        for case in cases:
            if answer is _perfect or recording.has(case["id"]):
                bench = memory_after(case, partial(answer, case["id"]))
                results.append((bench, score.score_case(case, as_rows(bench.memories))))
        _table(name, results, score.summary([result for _, result in results]), args.show)
    return True
