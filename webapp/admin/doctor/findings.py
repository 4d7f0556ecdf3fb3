"""The findings of a check of an installation, and their printed form."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "fault"]
MARKS: dict[State, str] = {"ok": "ok     ", "warning": "warning", "fault": "FAULT  "}

CLOCK_WARNING, CLOCK_FAULT = 1.0, 10.0
"""Seconds from which a server's clock that is off is worth a warning, or is a fault."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked; `advice` says what to do about it and is empty if all is well."""

    part: str
    state: State
    text: str
    advice: str = ""


def ok(part: str, text: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(part, "ok", text)


def warning(part: str, text: str, advice: str) -> Finding:
    """Return a finding about something that works now but may fail later."""
    return Finding(part, "warning", text, advice)


def fault(part: str, text: str, advice: str) -> Finding:
    """Return a finding about something that fails, or that is not secure."""
    return Finding(part, "fault", text, advice)


def clock(part: str, off: float) -> Finding:
    """Return the finding about a clock that is off by so many seconds."""
    difference = f"its clock is {abs(off):.1f} s {'ahead of' if off > 0 else 'behind'} ours"
    advice = "Set every machine's clock by NTP (systemd-timesyncd, chrony): sessions, leases and codes rest on it."
    if abs(off) >= CLOCK_FAULT:
        return fault(part, difference, advice)
    return warning(part, difference, advice) if abs(off) >= CLOCK_WARNING else ok(part, "its clock agrees with ours")


def in_lines(findings: Iterable[Finding]) -> list[str]:
    """Return the findings as lines for a terminal, each with its advice below."""
    lines = []
    for finding in findings:
        lines.append(f"{MARKS[finding.state]}  {finding.part}: {finding.text}")
        if finding.advice:
            lines.append(f"{' ' * len(MARKS[finding.state])}  → {finding.advice}")
    return lines


def is_sound(findings: Iterable[Finding]) -> bool:
    """Return whether nothing is broken; warnings do not count."""
    return all(finding.state != "fault" for finding in findings)
