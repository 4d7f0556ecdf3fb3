"""What cannot be undone asks once: a button that deletes or looks dangerous is marked, or its page asks by itself."""

import json
import re
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
BUTTON = re.compile(
    r"<button\b[^<]*?(?:-danger|trash-2).*?</button>|post_button\((?:[^()]|\([^()]*\))*-danger(?:[^()]|\([^()]*\))*\)",
    re.S,
)
ASKS_ITSELF = json.loads(Path(__file__).with_name("asks_itself.json").read_text(encoding="utf-8"))


def test_what_cannot_be_undone_asks_once():
    buttons = [
        (path.relative_to(TEMPLATES).as_posix(), found)
        for path in sorted(TEMPLATES.rglob("*.html"))
        for found in BUTTON.findall(path.read_text())
    ]
    asking = {name for name, found in buttons if "data-ask" in found or "ask=True" in found}
    silent = {name for name, found in buttons if "data-ask" not in found and "ask=True" not in found}
    assert silent == set(ASKS_ITSELF)
    assert len(asking) > 12
