"""From which cosine two texts are related: measured with questions and their answers, and with nonsense."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np

from bench.report import table
from webapp.llm.embeddings import Vector
from webapp.llm.packaged_models import floor_of, packaged_embedder

ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщыэюя", "あいうえおかきくけこさしすせそたちつてと")
NONSENSE = 40
"""How many made-up queries: one to three words of random letters."""


def print_floors(rows: Mapping[str, Mapping[str, str]], languages: Sequence[str]) -> bool:
    """Print for both packaged models the share above each cosine; `rows` are the facts and questions by key."""
    keys = [key for key in rows if not key.endswith("?")]
    for name in ("local", "multilingual"):
        embedder = packaged_embedder(name)
        assert embedder is not None
        told = {of: embedder.embed_passages([rows[key][of] for key in keys]) for of in languages}
        asked = {of: np.stack([embedder.embed_query(rows[f"{key}?"][of]) for key in keys]) for of in languages}
        nonsense = np.stack([embedder.embed_query(text) for text in _nonsense()])
        floor = floor_of(embedder.model)
        lines = []
        for value in sorted({*np.arange(0.16, 0.5, 0.04).round(2).tolist(), floor}):
            own = [_above(asked[of], told[of], value) for of in languages]
            across = [_above(asked["en"], told[of], value) for of in languages if of != "en"]
            found = float(np.mean([(nonsense @ rows.T).max(axis=1) >= value for rows in told.values()]))
            shares = (*(f"{share:.2f}" for share in (np.mean(own), min(own), np.mean(across), min(across), found)),)
            lines.append((f"{value:g}{', the floor' if value == floor else ''}", *shares))
        header = ("cosine", "own", "least", "asked in English", "least", "nonsense finds one of 60")
        table(f"{embedder.model}: share of answers at or above", header, lines)
    return True


def _above(asked: Vector, told: Vector, value: float) -> float:
    return float(np.mean((asked * told).sum(axis=1) >= value))


def _nonsense() -> list[str]:
    chance = random.Random(14)  # noqa: S311 - no secret
    return [
        " ".join("".join(chance.choices(letters, k=chance.randint(4, 10))) for _ in range(chance.randint(1, 3)))
        for letters in (chance.choice(ALPHABETS) for _ in range(NONSENSE))
    ]
