"""What cannot be undone asks once: a button that deletes or looks dangerous is marked, or its page asks by itself."""

import re
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
BUTTON = re.compile(
    r"<button\b[^<]*?(?:-danger|trash-2).*?</button>|post_button\((?:[^()]|\([^()]*\))*-danger(?:[^()]|\([^()]*\))*\)",
    re.S,
)
ASKS_ITSELF = {
    "accounts/two_step.html": "the password",
    "admin/user.html": "the address, typed",
    "chat/_proposals.html": "a question that waits for its answer",
    "conversations/_archive_rows.html": "can be undone",
    "conversations/_header.html": "can be undone",
    "conversations/_sidebar_item.html": "can be undone",
    "memories/_delete.html": "a dialog",
    "memories/_forget.html": "a dialog",
    "memories/forget_many.html": "a page that says what goes",
    "providers/connection.html": "can be undone",
    "spaces/end.html": "a page that says what goes",
    "transfer/delete.html": "the password",
    "transfer/import.html": "a page that says what goes",
}


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
