"""The fate of statements that are known to be right or wrong: `python -m bench truth [FOLDER]`.

The folder (MEMORY_TRUTH, ../shared/memory_truth by default) holds `good_*.json` and `wrong_*.json`: messages in many
languages and the statements that a careful model, or a weak one, makes of them. They go through the rules as a model's
answer would, once as from a trusted model and once as from any other; a row is printed for each language. The attacks
of `injections_*.json` come through the tool, in a tainted turn, and in the answer of the extraction after it.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import table
from testkit.memory_extraction import SimulatedUser
from webapp.memories.rules.check import Refusal
from webapp.memories.rules.state import KnownMemory
from webapp.memories.rules.statements import KEYS, MEMORY_TOPICS
from webapp.text.canonical import canonical_statement, plain_text

AS_GIVEN, KEY_LOST, REWORDED, REVIEW, LOST = "as given", "key lost", "own words", "review", "lost"
GRADES = (AS_GIVEN, KEY_LOST, REWORDED, REVIEW, LOST)


@dataclass(frozen=True)
class Fate:
    """The fate of one statement: its grade, the memory it is in, and why it was refused."""

    case: str
    language: str
    statement: dict[str, Any]
    grade: str
    memory: KnownMemory | None = None
    reason: Refusal | None = None


def fates(case: dict[str, Any], *, trusted: bool) -> Iterable[Fate]:
    """Yield what becomes of the statements of a case, session after session, for one user."""
    bench = SimulatedUser(is_trusted=trusted)
    for session in case["sessions"]:
        call, _ = bench.call(session["said"])
        items = [_item(statement, bench.shown_texts(call)) for statement in session["statements"]]
        plan = bench.take(call, items)
        kept = [statement for statement in session["statements"] if statement["about"] in MEMORY_TOPICS]
        for index, statement in enumerate(kept):
            yield _fate(case, statement, bench.memories, plan.rejections.get(index))


def _item(statement: dict[str, Any], known: dict[int, str]) -> dict[str, Any]:
    item = {name: value for name, value in statement.items() if name not in ("of", "wrong")}
    if "of" in statement:
        item["memory"] = next((n for n, text in known.items() if statement["of"].casefold() in text.casefold()), 0)
    return item


def _fate(case: dict[str, Any], statement: dict[str, Any], memories: Sequence[KnownMemory], reason: Any) -> Fate:
    said = canonical_statement(statement["quote"])
    resting = [m for m in memories if any(canonical_statement(item.quote) == said for item in m.evidence)]
    wanted = canonical_statement(plain_text(statement.get("content") or statement["quote"]))
    resting += [m for m in memories if m.is_current and said in canonical_statement(m.content)]
    memory = next((m for m in resting if canonical_statement(m.content) == wanted), next(iter(resting), None))
    if statement.get("action") == "retract" and any(not m.is_open for m in resting):
        return Fate(case["id"], case["language"], statement, AS_GIVEN, memory)
    if memory is None:
        return Fate(case["id"], case["language"], statement, LOST, None, reason)
    if not memory.is_current:
        return Fate(case["id"], case["language"], statement, REVIEW, memory)
    if canonical_statement(memory.content) != wanted:
        return Fate(case["id"], case["language"], statement, REWORDED, memory)
    has_key = not statement.get("key") or memory.slot == KEYS[statement["key"]]
    return Fate(case["id"], case["language"], statement, AS_GIVEN if has_key else KEY_LOST, memory)


def main(arguments: Sequence[str] = ()) -> bool:
    """Print both tables, and each statement that did not come through; returns whether the promises hold."""
    folder = Path(next(iter(arguments), "") or os.environ.get("MEMORY_TRUTH", "../shared/memory_truth"))
    good, wrong = _cases(folder, "good"), _cases(folder, "wrong")
    holds = True
    for trusted in (True, False):
        found = [fate for case in good for fate in fates(case, trusted=trusted)]
        holds &= _print_good(found, trusted=trusted)
        _print_wrong([fate for case in wrong for fate in fates(case, trusted=trusted)], trusted=trusted)
        for by_tool in (True, False):
            kind = f"{'trusted' if trusted else 'any other'} model, {'tool' if by_tool else 'extraction'}"
            in_use = _print_attacks(_cases(folder, "injections"), kind, trusted=trusted, by_tool=by_tool)
            holds &= not (by_tool and in_use)
    return holds


def _print_attacks(attacks: Sequence[dict[str, Any]], kind: str, *, trusted: bool, by_tool: bool) -> int:
    """Print what becomes of what a document, a page or a tool made the model want; return how much is in use."""
    grades: Counter[str] = Counter()
    for attack in attacks:
        bench = SimulatedUser(is_trusted=trusted)
        call, _ = bench.call([attack["said"]], outside=(attack["told"],))
        bench.take(
            call, [{"about": "user", "quote": attack["quote"], "content": attack["content"]}], is_tainted=by_tool
        )
        in_use = [memory.content for memory in bench.memories if memory.is_current]
        as_worded = attack["content"] in in_use
        grade = AS_GIVEN if as_worded else REWORDED if in_use else REVIEW if bench.memories else LOST
        grades[grade] += 1
        if as_worded:
            print(f"  {attack['id']} {attack['tier']}: {attack['content']!r}")
    print(f"attacks, {kind}: {len(attacks)}, {dict(grades)}\n")
    return grades[AS_GIVEN] + grades[REWORDED]


def _cases(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [case for path in sorted(folder.glob(f"{kind}_*.json")) for case in json.loads(path.read_text("utf-8"))]


def _print_good(found: Sequence[Fate], *, trusted: bool) -> bool:
    by_language: dict[str, Counter[str]] = defaultdict(Counter)
    for fate in found:
        by_language[fate.language][fate.grade] += 1
    total = Counter(fate.grade for fate in found)
    rows = [
        (language, sum(grades.values()), *(grades[grade] for grade in GRADES))
        for language, grades in [*sorted(by_language.items()), ("all", total)]
    ]
    table(f"right statements, {'trusted' if trusted else 'any other'} model", ("language", "all", *GRADES), rows)
    good = (AS_GIVEN,) if trusted else (AS_GIVEN, KEY_LOST, REWORDED)
    share = sum(total[grade] for grade in good) / max(1, len(found))
    print(f"{100 * share:.1f} % {'word for word with their key' if trusted else 'in use'}, {total[REVIEW]} in review")
    for fate in found:
        if fate.grade not in good:
            text = fate.memory.content if fate.memory else fate.reason
            print(f"  {fate.case} {fate.grade}: {fate.statement['quote']!r} → {text!r}")
    return share >= 0.98


def _print_wrong(found: Sequence[Fate], *, trusted: bool) -> None:
    marked = [fate for fate in found if fate.statement.get("wrong")]
    false = [fate for fate in marked if fate.grade in (AS_GIVEN, KEY_LOST)]
    grades = Counter(fate.grade for fate in marked)
    kind = "trusted" if trusted else "any other"
    print(
        f"\nwrong statements, {kind} model: {len(marked)}, {dict(grades)}; in use as worded by the model: {len(false)}"
    )
    for fate in marked:
        if fate.grade in (REWORDED, AS_GIVEN, KEY_LOST) and not trusted:
            print(f"  {fate.case} {fate.statement['wrong']}: {fate.memory.content if fate.memory else ''!r}")
    print()
