"""What goes over the wire: compressed for those who can read it, and only what is safe to compress."""

import gzip
import re
from pathlib import Path

from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, write_transaction

CSS = Path(__file__).resolve().parents[2] / "static" / "css"
GZIP = {"Accept-Encoding": "gzip, br"}


def test_a_page_is_compressed_for_those_who_read_it_but_not_what_may_repeat_a_strangers_words(browser):
    plain, packed = browser.get("/memory"), browser.get("/memory", headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip" and "Accept-Encoding" in packed.headers["Vary"]
    assert b"<title>" in gzip.decompress(packed.data)
    assert len(packed.data) * 3 < len(plain.data)
    for path in ("/memory?q=guess", "/sidebar", "/api/conversations", "/healthz"):
        headers = {**GZIP, "HX-Request": "true"} if path == "/sidebar" else GZIP
        assert "Content-Encoding" not in browser.get(path, headers=headers).headers, path


def test_style_sheets_come_in_one_answer(app, browser):
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]*\+[^"]*)"', browser.get("/").text)
    assert len(sheets) == 1
    answer = browser.get(sheets[0], headers=GZIP)
    text = gzip.decompress(answer.data).decode()
    assert answer.mimetype == "text/css" and "immutable" in answer.headers["Cache-Control"]
    assert "--paper:" in text and ".composer-box" in text and "Every colour, size" not in text
    assert browser.get(sheets[0]).get_data(as_text=True) == text
    version = sheets[0].split("/css/")[0]
    for unknown in ("css/tokens+nothing.css", "css/tokens+..%2Fbase.css", "css/..%2F..%2Fpyproject.toml", "js/none.js"):
        assert browser.get(f"{version}/{unknown}").status_code == 404


def test_a_sheet_closes_what_it_opens():
    """They are sent one after the other: a brace left open in one would take the next ones with it."""
    assert (sheets := sorted(CSS.glob("*.css")))
    for sheet in sheets:
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
        assert "/*" not in text, sheet.name
        # Each word of a reply would have Chromium work out the style of everything like this anew, wherever it is.
        assert not re.search(r":has\([^{}]*\) (?:[>~+] )?(?:[a-z]|\.icon-|\.menu-)[^ {]* ?\{", text), sheet.name
        depth = 0
        for character in re.sub(r'"[^"\n]*"', "", text):
            depth += {"{": 1, "}": -1}.get(character, 0)
            assert depth >= 0, sheet.name
        assert depth == 0, sheet.name


def test_a_conversation_weighs_little(app, user, browser):
    """Page, style sheets, scripts, icons and the fonts that every page needs, as they are sent: well under 150 kB.

    Forty messages, in the language whose texts weigh most. The promise is 150 kB; what is near it is one feature away.
    """
    with app.app_context(), write_transaction():
        conversation = add_row(Conversation(user_id=user.user_id, title="Herons", message_count=40))
        parent_id = None
        for number in range(40):
            said = f"Point {number}: the **heron** stood in {number * 7} cm of water and `waited`. "
            row = add_row(
                Message(
                    conversation_id=conversation.conversation_id,
                    parent_id=parent_id,
                    role="assistant" if number % 2 else "user",
                    content=said * (12 if number % 2 else 2),
                    status="complete",
                )
            )
            parent_id = row.message_id
        place = f"/c/{conversation.conversation_id}"
    browser.set_cookie("language", "ar")
    page = browser.get(place, headers=GZIP)
    html = gzip.decompress(page.data).decode()
    total = len(page.data)
    links = set(re.findall(r'(?:href|src)="(/static/[^"#]+)', html))
    folder = next(link for link in links if link.endswith("/js/app.js")).removesuffix("app.js")
    waiting, modules = ["app.js"], set()
    while waiting:
        name = waiting.pop()
        if name in modules:
            continue
        modules.add(name)
        waiting += re.findall(r'(?:from|import) "\./([\w-]+\.js)"', browser.get(folder + name).text)
    root = folder.removesuffix("js/")
    for link in {*links, *(folder + name for name in modules), root + "vendor/fonts/literata-latin-500-normal.woff2"}:
        answer = browser.get(link, headers=GZIP)
        assert answer.status_code == 200, link
        total += len(answer.data)
        answer.close()
    assert "Point 39" in html
    assert total < 145_000, total
