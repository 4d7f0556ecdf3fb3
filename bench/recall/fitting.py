"""Curves of every weight of ranking, on all sets together."""

from __future__ import annotations

from bench.recall.store import Stored


def print_curves(stored: dict[str, list[Stored]], every: int, only: str) -> bool:
    """Print what each value of each weight gives."""
    raise NotImplementedError
