"""Sentences of made-up words with the frequencies of words in a natural language."""

from __future__ import annotations

import random

_PARTS = ("ka", "lo", "mi", "ren", "sta", "vor", "del", "pin", "gra", "tu", "ves", "nor", "bal", "qui", "zen", "fo")


def vocabulary(size: int = 9_000) -> list[str]:
    """Different words, always the same."""
    maker = random.Random(7)
    return list(dict.fromkeys("".join(maker.choices(_PARTS, k=maker.randint(2, 4))) for _ in range(size)))


def sentence(maker: random.Random, known: list[str], length: int) -> str:
    """Words; the n-th of the vocabulary occurs about 1/n as often as the first."""
    return " ".join(known[min(int(maker.paretovariate(0.6)), len(known)) - 1] for _ in range(length))
