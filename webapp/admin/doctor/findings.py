"""What a look at an installation finds, and in which words it is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "fault"]
MARKS: dict[State, str] = {"ok": "ok     ", "warning": "warning", "fault": "FAULT  "}

CLOCK_WARNING, CLOCK_FAULT = 1.0, 10.0
"""Seconds by which the clock of a server may be off."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `advice` says what to do unless all is well."""

    part: str
    state: State
    said: str
    advice: str = ""


def ok(part: str, said: str) -> Finding:
    """All is well."""
    return Finding(part, "ok", said)


def warning(part: str, said: str, advice: str) -> Finding:
    """It works, and will not always."""
    return Finding(part, "warning", said, advice)


def fault(part: str, said: str, advice: str) -> Finding:
    """It does not work, or lets in whom it should not."""
    return Finding(part, "fault", said, advice)


def clock(part: str, off: float) -> Finding:
    """What to say about a clock that is off by so many seconds."""
    said = f"its clock is {abs(off):.1f} s {'ahead of' if off > 0 else 'behind'} ours"
    advice = "Set every machine's clock by NTP (systemd-timesyncd, chrony): sessions, leases and codes rest on it."
    if abs(off) >= CLOCK_FAULT:
        return fault(part, said, advice)
    return warning(part, said, advice) if abs(off) >= CLOCK_WARNING else ok(part, "its clock agrees with ours")


def in_lines(findings: Iterable[Finding]) -> list[str]:
    """The findings as lines for a terminal, each with its advice below."""
    lines = []
    for finding in findings:
        lines.append(f"{MARKS[finding.state]}  {finding.part}: {finding.said}")
        if finding.advice:
            lines.append(f"{' ' * len(MARKS[finding.state])}  → {finding.advice}")
    return lines


def is_sound(findings: Iterable[Finding]) -> bool:
    """Whether nothing is broken; warnings do not count."""
    return all(finding.state != "fault" for finding in findings)
