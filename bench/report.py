"""Tables for people, percentiles, and the description of the machine."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; NaN if there are no values."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share / 100 * len(ordered) + 0.5) - 1))]


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table that also reads well in a terminal."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max([len(head), *(len(row[at]) for row in cells)]) for at, head in enumerate(header)]
    print(f"\n### {title}\n")
    print("| " + " | ".join(head.ljust(width) for head, width in zip(header, widths, strict=True)) + " |")
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in cells:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |", flush=True)


def verdict(promise: str, holds: bool) -> bool:
    """Print whether a promise held in this run."""
    print(f"\n{'held' if holds else 'NOT HELD'}: {promise}", flush=True)
    return holds


def import_file(path: Path) -> ModuleType:
    """Return a module that comes with data. Raises FileNotFoundError."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def machine() -> str:
    """Cores, memory, kernel, Python, and how busy the machine was when the run began."""
    memory = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return (
        f"{os.cpu_count()} cores ({model}), {int(memory.split()[1]) // 2**20} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, load before the run {os.getloadavg()[0]:.2f}"
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
