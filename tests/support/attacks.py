"""Texts that try to get a script, a frame or an address of their own into a page; each would show an alert."""

import json
from pathlib import Path

ATTACKS: list[str] = json.loads(Path(__file__).with_suffix(".json").read_text())
