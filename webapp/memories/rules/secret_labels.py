"""The labels that people write before a secret, as patterns; the words are data (`secret_labels.json`)."""

from __future__ import annotations

import json
import re
from pathlib import Path

_LABELS: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
# Labels in scripts without spaces stand within a run of letters.
_BEGIN = "(?<![^\\W_一-鿿぀-ヿ가-힯])"
_END = "(?![a-z\u00e0-\u024f\u0370-\u052f])"


def labels(*groups: str) -> str:
    """Return a pattern, for use without regard to case, of the labels of some groups as whole words."""
    return f"{_BEGIN}(?:{names(*groups)}){_END}"


def names(*groups: str) -> str:
    """Return the labels of some groups as alternatives, the longest first; a space may be a hyphen, or missing."""
    found = sorted({label for group in groups for label in _LABELS[group]}, key=lambda label: (-len(label), label))
    return "|".join(re.escape(label).replace("\\ ", r"[\s_-]?") for label in found)
