"""Extraction measured on labelled cases: a model's answers are recorded once and replayed through the rules.

    python -m bench extraction --record NAME [--model URL] [--cases FOLDER] [--only id,kind]
    python -m bench extraction [NAME …]          replays recordings/NAME.jsonl, all of them by default
    python -m bench extraction --ask-twice [NAME …] [--model URL]
                                                 the same, without what the model says no to when it is asked again
    python -m bench extraction --perfect         an extractor that says exactly what the labels ask for

The folder of cases (EVAL_CASES, ../shared/memory_eval by default) holds cases_*.json and score.py; it is not part of
the repository. Recording builds the same prompt and schema that the product sends. Replaying takes seconds, so that the
effect of a rule shows in recall and violations. A recording identifies the memories it was shown by their text: if a
rule changes what is kept of an earlier session, a number that would now point to nothing points to nothing here, too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.extraction import twice
from bench.extraction.perfect import perfect_answer
from testkit.memory_extraction import SimulatedUser, as_rows
from webapp.llm.errors import MalformedOutput
from webapp.llm.structured import complete_items, parse_object, strict_schema
from webapp.memories.learning.model_call import SCHEMA_NAME, TEMPERATURE, call_options
from webapp.memories.learning.prompt import ExtractionCall
from webapp.memories.rules.statements import FIELD

RECORDINGS = Path(__file__).parent / "recordings"


def scorer(folder: Path) -> ModuleType:
    """The scorer that comes with the cases."""
    spec = importlib.util.spec_from_file_location("memory_eval_score", folder / "score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(url: str, bench: SimulatedUser, said: list[str]) -> dict[str, Any]:
    """One real answer, with what the model was shown."""
    call, parts = bench.call(said)
    asked = call_options(call, parts)
    row = post(url, SCHEMA_NAME, call.messages, asked["shown"], asked["max_tokens"])
    known = {
        number: memory.content
        for number, ref in call.numbered.items()
        for memory in bench.memories
        if memory.ref == ref
    }
    return {"known": known} | row


def post(url: str, name: str, messages: Sequence[Any], shown: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """Return a model's raw answer, the seconds that it took, and its usage."""
    schema, strict = strict_schema(shown)
    body = {
        "model": "m",
        "messages": list(messages),
        "max_tokens": max_tokens,
        "temperature": TEMPERATURE,
        "response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}},
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


class SecondLook:
    """The model's answers to the second question, from a recording; those that it lacks are asked for and added."""

    def __init__(self, name: str, url: str) -> None:
        self._path, self._url = RECORDINGS / "twice" / f"{Path(name).stem}.jsonl", url
        self._answers = {tuple(row["sentences"]): row["answer"] for row in _rows(self._path)}

    def __call__(self, call: ExtractionCall, items: Sequence[Any]) -> list[Any]:
        """Return the statements of an answer that the model does not say no to when it is asked again."""
        sentences = twice.sentences_of(call, items)
        asked = tuple(dict.fromkeys(sentences.values()))
        if asked and asked not in self._answers:
            row = post(self._url, twice.NAME, *twice.question(asked), twice.MAX_TOKENS_EACH * len(asked))
            self._path.parent.mkdir(exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"sentences": asked} | row, ensure_ascii=False) + "\n")
            self._answers[asked] = row["answer"]
        gone = twice.rejections(self._answers[asked], asked) if asked else set()
        return twice.without(items, sentences, gone)


def replay(
    case: dict[str, Any],
    rows: Iterable[dict[str, Any]],
    look: Callable[[ExtractionCall, Sequence[Any]], Sequence[Any]] = lambda _call, items: items,
) -> SimulatedUser:
    """The memory after the recorded answers to a case's sessions, each after a `look` at it."""
    bench = SimulatedUser()
    by_session = {row["session"]: row for row in rows}
    for number, said in enumerate(case["sessions"]):
        call, _ = bench.call(said)
        row = by_session.get(number)
        if row is None:
            bench.take(call, [])
            continue
        by_text = {memory.content: memory.ref for memory in bench.memories if memory.is_open}
        numbered = {int(n): by_text[text] for n, text in row["known"].items() if text in by_text}
        bench.take(call, look(call, items_of(row["answer"])), numbered)
    return bench


def record(args: argparse.Namespace, cases: list[dict[str, Any]]) -> None:
    """Ask the model about every session that has not been recorded yet."""
    path = RECORDINGS / f"{args.record}.jsonl" if "/" not in args.record else Path(args.record)
    done = _rows(path)
    for case in cases:
        bench = SimulatedUser()
        for number, said in enumerate(case["sessions"]):
            row = next((r for r in done if (r["case"], r["session"]) == (case["id"], number)), None)
            if row is None:
                row = {"case": case["id"], "session": number, **ask(args.model, bench, said)}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                print(
                    f"{case['id']} {number}: {row['seconds']} s, {row['usage'].get('completion_tokens')} tokens",
                    flush=True,
                )
            call, _ = bench.call(said)
            by_text = {memory.content: memory.ref for memory in bench.memories if memory.is_open}
            known = {int(n): by_text[text] for n, text in row["known"].items() if text in by_text}
            bench.take(call, items_of(row["answer"]), known)


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


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
    parser.add_argument("--ask-twice", action="store_true", dest="asks_twice")
    parser.add_argument("--model", default="http://127.0.0.1:8350/v1")
    parser.add_argument("--cases", type=Path, default=Path(os.environ.get("EVAL_CASES", "../shared/memory_eval")))
    parser.add_argument("--only", default="")
    parser.add_argument("-v", action="store_true", dest="show")
    args = parser.parse_args(argv or [])
    score = scorer(args.cases)
    only = [word for word in args.only.split(",") if word]
    cases = [c for c in score.load_cases(str(args.cases)) if not only or c["id"] in only or c["tags"][0] in only]
    if args.record:
        record(args, cases)
        args.names = [args.record]
    runs: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in args.names or ([] if args.perfect else sorted(path.stem for path in RECORDINGS.glob("*.jsonl"))):
        runs[name] = {}
        for row in _rows(RECORDINGS / f"{name}.jsonl" if "/" not in name else Path(name)):
            runs[name].setdefault(row["case"], []).append(row)
    if args.perfect:
        runs["perfect"] = {}
    for name, rows in runs.items():
        look = {"look": SecondLook(name, args.model)} if args.asks_twice else {}
        results = []
        for case in cases:
            if name == "perfect":
                bench = SimulatedUser()
                for number, said in enumerate(case["sessions"]):
                    call, _ = bench.call(said)
                    bench.take(call, perfect_answer(case["id"], number, bench.memories, call))
            elif case["id"] in rows:
                bench = replay(case, rows[case["id"]], **look)
            else:
                continue
            results.append((bench, score.score_case(case, as_rows(bench.memories))))
        _table(name, results, score.summary([result for _, result in results]), args.show)
    return True
