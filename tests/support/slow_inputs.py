"""Inputs that make a regular expression with a quadratic step slow, made from its own parts, and the work it takes.

A pattern goes wrong on a long run of what one of its repeats accepts, of what leads up to the repeat, or of several
repeats at once, followed by something that does not fit. These are made from the parsed pattern.

Work is CPU time of this process, not time on the clock, and what counts is how it grows: twice the input is twice the
work of a linear pattern and four times that of a quadratic one. Little work is not looked at, because it proves nothing
(and some kernels count CPU time in ticks of 4 ms); much of it is measured again, so that a pattern is slow only if it
was each time.

Judging all patterns takes two minutes, so `linear.txt` has the digests of those that were found linear, and only others
are judged, with `--slow` all again. `python -m tests.support.slow_inputs` adds what is new to the list: what takes long
has to be there.
"""

import hashlib
import re
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from re import _constants as ops, _parser as parser
from typing import Any

from tests.support.patterns import Found, patterns

LINEAR = Path(__file__).with_name("linear.txt")
SIZE, TIMES = 12_000, 750
"""The characters, and how often a run is repeated, at least."""
LITTLE = 0.04
"""Seconds of CPU below which a pattern is not slow."""
LONGEST = 100_000
"""Characters; work that is still little at this length is no danger."""
MUCH = 1.0
"""Seconds of CPU after which a pattern is stopped: no linear one needs a tenth of that."""
GROWTH = 3.0
_FAR = 1_000
_RUNS = tuple(" \n\taA1.-,*_`<[(\"'/:é漢\x01")
_RUNS_OF_WORDS = ("a ", "1 ", "a.", "a\n", " \n", "1.", "A-", "'a", "漢。")
_AROUND = (("", "\x01"), ("a ", "\n\x01!"))


class TooSlow(Exception):
    """A pattern took more than MUCH."""


def digest(found: Found) -> str:
    """Return the digest that a pattern is known by, wherever it stands."""
    return hashlib.sha256(f"{found.pattern.pattern!r} {found.pattern.flags} {found.anchored}".encode()).hexdigest()[:16]


def takes_long(found: Found) -> bool:
    """Return whether a pattern has so many parts that judging it takes a minute, not a tenth of a second."""
    return len(set(_runs(found.pattern))) > 200


def slow(found: Iterable[Found]) -> Iterator[str]:
    """Yield a line for each pattern that takes more than linear work, with its input."""
    signal.signal(signal.SIGVTALRM, _stop)
    return (line for each in found if _repeats(each.pattern) and (line := _judge(each)))


def _judge(found: Found) -> str | None:
    for run in dict.fromkeys(_runs(found.pattern)):
        for before, after in _AROUND:
            if cause := _growth(found, before, run, after):
                shape = f"{before!r} + {run!r} * n + {after!r}"
                return f"{found.where} {found.pattern.pattern!r:.200} on {shape:.200}: {cause}"
    return None


def _growth(found: Found, before: str, run: str, after: str) -> str:
    """Return how the work grew, if it was more than linear; else an empty string."""
    times = max(TIMES, SIZE // len(run))
    lowest = float("inf")
    once = _work(found, before, run, after, times)
    while LITTLE / 8 <= once < LITTLE and times * len(run) < LONGEST:
        times *= 2  # on a fast machine it takes more to tell
        once = _work(found, before, run, after, times)
    if once >= MUCH:
        return f"more than {MUCH} s"
    while once >= 3 * LITTLE and times > 1:
        times //= 2  # it takes less to tell
        once = _work(found, before, run, after, times)
    for _ in range(4):
        if once < LITTLE:
            return ""
        twice = _work(found, before, run, after, 2 * times)
        if twice >= MUCH:  # stopped, so it says nothing of how much more
            return f"more than {MUCH} s"
        lowest = min(lowest, twice / once)
        if lowest < GROWTH:
            return ""
        once = _work(found, before, run, after, times)
    return f"{lowest:.1f} times the work for twice the input"


def _work(found: Found, before: str, run: str, after: str, times: int) -> float:
    text: Any = before + run * times + after
    if isinstance(found.pattern.pattern, bytes):
        text = text.encode("utf-8", "surrogatepass")
    begin = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, MUCH)
        if found.anchored:
            found.pattern.match(text)
            found.pattern.fullmatch(text)
        else:
            for _ in found.pattern.finditer(text):
                pass
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)  # in here: it may go off just before
    except TooSlow:
        return MUCH
    return time.process_time() - begin


def _repeats(pattern: re.Pattern[Any]) -> bool:
    """Return whether a pattern has a repeat that goes far."""
    return any(
        mark in (pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1"))
        for mark in "*+{"
    )


def _stop(*_: object) -> None:
    raise TooSlow


def _runs(pattern: re.Pattern[Any]) -> Iterator[str]:
    yield from _RUNS
    yield from _RUNS_OF_WORDS
    text = pattern.pattern
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    yield from dict.fromkeys(char for char in text if not char.isalnum())
    yield from _of_items(list(parser.parse(text, pattern.flags & ~re.LOCALE & ~re.DEBUG)), "")


def _of_items(items: list[Any], before: str) -> Iterator[str]:
    """Yield what leads to each far repeat, what it accepts, both together; and all of it."""
    led = before
    for op, value in items:
        for body in _bodies(op, value):
            yield from _of_items(body, led)
        if op in _REPEATS and value[1] >= _FAR:
            once = _sample(list(value[2]))
            yield from (part for part in (led, once, led + once, led + " ", led + once * 3) if part)
        led += _sample([(op, value)])
    if led and led != before:
        yield led
        yield led[:-1] or led


_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


def _bodies(op: Any, value: Any) -> list[list[Any]]:
    if op in _REPEATS:
        return [list(value[2])]
    if op is ops.SUBPATTERN:
        return [list(value[3])]
    if op is ops.ATOMIC_GROUP:
        return [list(value)]
    if op is ops.BRANCH:
        return [list(branch) for branch in value[1]]
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [list(value[1])]
    return []


def _sample(items: list[Any]) -> str:
    """Return a short text that the items accept, lookarounds aside."""
    return "".join(_one(op, value) for op, value in items)


def _one(op: Any, value: Any) -> str:
    if op is ops.LITERAL:
        return chr(value)
    if op is ops.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if op is ops.ANY:
        return "a"
    if op is ops.IN:
        return _of_set(value)
    if op in _REPEATS:
        return _sample(list(value[2])) * max(1, min(value[0], 20))
    if op is ops.BRANCH:
        return _sample(list(value[1][0]))
    if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
        return _sample(_bodies(op, value)[0])
    return ""


def _of_set(items: list[Any]) -> str:
    accepted = re.compile(_write_items(items), re.DOTALL)
    return next((char for char in "a1 A.-_\n/:漢é\"'[<(*\x01" if accepted.match(char)), _first(items))


def _write_items(items: list[Any]) -> str:
    out = ""
    for op, value in items:
        if op is ops.NEGATE:
            out += "^"
        elif op is ops.LITERAL:
            out += re.escape(chr(value))
        elif op is ops.RANGE:
            out += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif op is ops.CATEGORY:
            out += _CATEGORIES[value]
    return f"[{out}]"


def _first(items: list[Any]) -> str:
    for op, value in items:
        if op is ops.LITERAL:
            return chr(value)
        if op is ops.RANGE:
            return chr(value[0])
    return "%"


_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d",
    ops.CATEGORY_NOT_DIGIT: r"\D",
    ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S",
    ops.CATEGORY_WORD: r"\w",
    ops.CATEGORY_NOT_WORD: r"\W",
}


if __name__ == "__main__":
    everything = [*patterns("webapp"), *patterns("jobs")]
    known = set(LINEAR.read_text().split())
    good = {digest(each) for each in everything if digest(each) in known or not list(map(print, slow([each])))}
    LINEAR.write_text("".join(f"{line}\n" for line in sorted(good)))
