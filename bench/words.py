"""Sentences of made-up words that are as frequent as words of a language are."""

from __future__ import annotations

import random

_PARTS = ("ka", "lo", "mi", "ren", "sta", "vor", "del", "pin", "gra", "tu", "ves", "nor", "bal", "qui", "zen", "fo")


def vocabulary(size: int = 9_000) -> list[str]:
    """Different words, always the same."""
    maker = random.Random(7)
    return list(dict.fromkeys("".join(maker.choices(_PARTS, k=maker.randint(2, 4))) for _ in range(size)))


def sentence(maker: random.Random, known: list[str], length: int) -> str:
    """Words of which the n-th of the vocabulary comes about 1/n as often as the first."""
    return " ".join(known[min(int(maker.paretovariate(0.6)), len(known)) - 1] for _ in range(length))
